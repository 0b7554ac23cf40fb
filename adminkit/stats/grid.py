"""Runs put together by when they began and ended, in steps between which no part of a window begins or ends.

Within a step, use grows evenly with the seconds: so for the use in each part it is enough to know of all runs that
began in a step how large they are together, and how far from the beginning of the step they began, times their size.
The same holds for ends. Both are whole numbers, and so is what they add up to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from adminkit.stats.clip import Runs
from adminkit.stats.taken import total
from adminkit.stats.whole import GPU_PARTS
from adminkit.stats.window import END, OPEN

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Resource -> its parts, in which sizes are counted.
UNITS: Final = {"gpu": GPU_PARTS, "cpu": 1, "node": 1}
#: Sizes of more parts than this are nonsense, and unknown: sums stay within 63 bits.
_MOST: Final = 1 << 45
#: Seconds of a step, the longest that fits.
_STEPS: Final = (3600, 1800, 900, 300, 60, 1)
#: Instead of the run time: it is the time from start to end.
EVEN: Final = -1


def _positive(sql: str) -> str:
    """SQL: 0 for what is below; NULL for NULL."""
    return f"CASE WHEN {sql} < 0 THEN 0 ELSE {sql} END"


#: SQL: the run time without suspension. An open run's elapsed is that of the snapshot; what is suspended has not run
#: since.
ELAPSED: Final = f"""CASE WHEN end_time IS NOT NULL THEN elapsed
    WHEN elapsed IS NULL OR elapsed < 0 THEN {_positive(f"{OPEN} - start_time - coalesce(suspended, 0)")}
    WHEN state = 'SUSPENDED' THEN elapsed ELSE elapsed + {_positive(f"{OPEN} - seen_open")} END"""
#: SQL: never suspended, and the window has all of it.
_EVEN: Final = (
    "(start_time >= :first AND end_time <= :last AND end_time > start_time AND elapsed = end_time - start_time)"
)
_LAST: Final = "(end_time - 1)"  # second


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps for a window whose parts lie between `times`, epoch seconds; without any, all is one."""

    times: Sequence[int]
    step: int

    @classmethod
    def of(cls, times: Sequence[int]) -> Grid:
        return cls(times, next(one for one in _STEPS if all(at % one == 0 for at in times[1:-1])))

    @property
    def given(self) -> dict[str, int]:
        """Parameters of the SQL."""
        first, last = (self.times[0], self.times[-1]) if self.times else (0, 0)
        return {"first": first, "last": last, "step": self.step}

    @property
    def numbers(self) -> tuple[str, str, str]:
        """SQL over the view run: of an even one the beginnings of the steps of its first and last second, and EVEN; of
        any other one its start, end and run time.
        """
        pairs = (
            ("start_time - start_time % :step", "start_time"),
            (f"{_LAST} - {_LAST} % :step", END),
            (str(EVEN), ELAPSED),
        )
        start, end, ran = (f"CASE WHEN {_EVEN} THEN {step} ELSE {own} END" for step, own in pairs)
        return start, end, ran

    def sums(self, name: str) -> tuple[str, str, str, str]:
        """SQL of whole numbers that add up: whether the size is known; the size in parts; and of even runs it times
        the seconds from the beginning of the step to the first second, and to the last.
        """
        most = _MOST // UNITS[name]
        known = f"size_{name}s BETWEEN -{most} AND {most}"
        size = f"CAST(round(size_{name}s * {UNITS[name]}) AS BIGINT)" if UNITS[name] > 1 else f"size_{name}s"
        return (
            f"CASE WHEN {known} THEN 1 ELSE 0 END",
            f"CASE WHEN {known} THEN {size} ELSE 0 END",
            *(f"CASE WHEN {known} AND {_EVEN} THEN {size} * ({at} % :step) ELSE 0 END" for at in ("start_time", _LAST)),
        )  # type: ignore[return-value]

    def used(
        self, start: NDArray[Any], last: NDArray[Any], size: NDArray[Any], begun: NDArray[Any], until: NDArray[Any]
    ) -> NDArray[Any]:
        """The use of even runs in each part, in seconds times parts: Python's whole numbers. Arguments: see `numbers`,
        sums().
        """
        import numpy as np

        first, size = self.times[0], size.astype(np.int64)  # the window may begin within a step; columns are narrow
        began, over = (
            _Upto.of(np.maximum(at, first), size, away + size * (at - np.maximum(at, first)))
            for at, away in ((start, begun), (last, until + size))
        )
        upto = np.array([began.before(edge) - over.before(edge) for edge in self.times], object)
        found: NDArray[Any] = upto[1:] - upto[:-1]
        return found

    def odd(self, start: NDArray[Any], end: NDArray[Any], elapsed: NDArray[Any], size: NDArray[Any]) -> Runs:
        """Runs that are not even, in an order of their own; the size is in parts."""
        import numpy as np

        runs, place = np.unique(np.stack([start, end, elapsed], axis=1), axis=0, return_inverse=True)
        sizes = total(place.reshape(-1), len(runs), size)
        return Runs(*(column.astype(np.float64) for column in (*runs.T, sizes)))

    def ran(self, start: NDArray[Any], last: NDArray[Any], many: NDArray[Any]) -> NDArray[Any]:
        """How many runs ran in each part: began before its end, and had a second after its beginning."""
        import numpy as np

        counts = []
        for at, edges in ((start, self.times[1:]), (last, self.times[:-1])):
            order = np.argsort(at)
            upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(many[order])])
            counts.append(upto[np.searchsorted(at[order], edges, "left")])
        began, ended = counts
        found: NDArray[Any] = began - ended
        return found


@dataclass(frozen=True, slots=True)
class _Upto:
    """Sums over what happened before a moment: the sizes, and these times the moment."""

    moments: NDArray[Any]
    sizes: Sequence[int]
    products: Sequence[int]

    @classmethod
    def of(cls, at: NDArray[Any], size: NDArray[Any], away: NDArray[Any]) -> _Upto:
        """`away`: how far after `at` things happened, times their size."""
        import numpy as np

        moments, place = np.unique(at, return_inverse=True)
        sizes, off = (total(place, len(moments), one).astype(object) for one in (size, away))
        sums = (np.cumsum(one).tolist() for one in (sizes, sizes * moments.astype(object) + off))
        return cls(moments, *([0, *one] for one in sums))

    def before(self, edge: int) -> int:
        """Size times the seconds since it happened, of all before `edge`."""
        import numpy as np

        place = int(np.searchsorted(self.moments, edge, "left"))
        return edge * self.sizes[place] - self.products[place]
