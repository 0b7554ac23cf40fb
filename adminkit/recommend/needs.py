"""How long jobs like it needed, for backfill to plan with: quantiles of the same curves from which hints are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.recommend.curve import Curve
from adminkit.recommend.predict import needed, was_cut
from adminkit.stats.runs import Run

#: Percent of similar runs that needed no more, in the order of a row.
QUANTILES: Final = (50, 75, 90)
#: What makes runs alike here, exact first. A rough need of every job is worth more than the exact one of some.
LEVELS: Final = (("cluster", "user", "job_name", "queue"), ("cluster", "user", "job_name"), ("cluster", "user"))
#: Stands for all runs of a user, where those of a name are too few. A job of this name is one of these.
ANY_NAME: Final = "*"
#: A user's last runs count most: a run with this number of later ones counts half.
_HALF_LIFE: Final = 50
#: Runs that keep the promise of a quantile, of each user from the beginning.
_PRIOR: Final = 10.0


@dataclass(frozen=True, slots=True)
class Need:
    """`job_name` "" stands for runs without a name, ANY_NAME for all; `queue` "" for every queue.

    `seconds`: one for each of QUANTILES.

    `last` is the submission of the newest run, epoch seconds. `outlived`: for each of QUANTILES the share of the user's
    last runs that needed more.
    """

    cluster: str
    uid: int
    user: str
    job_name: str
    queue: str
    seconds: tuple[int, ...]
    last: int
    outlived: tuple[float, ...] = tuple((100 - percent) / 100 for percent in QUANTILES)


def quantiles(curve: Curve) -> tuple[int, ...] | None:
    """Seconds for each of QUANTILES; None where the curve shows not even the first: too few runs ended by themselves.

    A quantile that no run shows is the longest need that one does, stretched as a safe limit would be: a soft limit may
    be too long, which costs a start that could have been sooner, rather than too short, which delays others.
    """
    if curve.limit(_risk(QUANTILES[0])) is None:
        return None
    found = []
    for percent in QUANTILES:
        need = curve.limit(_risk(percent))
        found.append(round(curve.beyond(_risk(percent))) if need is None else need)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Cautions:
    """Which needs backfill may plan with. docs/soft-limits.md has what was measured of each."""

    quantile: int = 90  # of QUANTILES
    longest: int | None = None  # seconds; where one of ten similar runs needs more, there is none
    outlived: float | None = None  # of a user whose runs need more than a quantile more often, a higher one is taken

    def row(self, seconds: Sequence[int], outlived: Sequence[float]) -> tuple[int, ...] | None:
        """What may be planned with, for each of QUANTILES; None where that of `quantile` may not."""
        if self.longest is not None and seconds[-1] > self.longest:
            return None
        kept = [self.outlived is None or share <= self.outlived for share in outlived]
        if not any(kept[QUANTILES.index(self.quantile) :]):
            return None
        return tuple(
            next((seconds[higher] for higher in range(place, len(seconds)) if kept[higher]), seconds[-1])
            for place in range(len(seconds))
        )


@dataclass(slots=True)
class _Counts:
    """One user's runs, and how many of them needed more than each of QUANTILES said; both fade."""

    runs: float = 0.0
    over: list[float] = field(default_factory=lambda: [0.0] * len(QUANTILES))


class Outcomes:
    """How often a user's runs need more than was expected. Call `submitted` and `ended` in the order of `online`."""

    def __init__(self) -> None:
        self._fade = 2.0 ** (-1 / _HALF_LIFE)
        self._counts: dict[tuple[str | None, str | None], _Counts] = {}
        # By id: the caller holds a run until it has ended.
        self._given: dict[int, tuple[int, ...]] = {}

    def submitted(self, run: Run, seconds: tuple[int, ...] | None) -> None:
        """A run of which `seconds` were expected, for each of QUANTILES."""
        limit = run.kind.req_limit
        if seconds is not None and (limit is None or seconds[0] < limit):
            self._given[id(run)] = seconds

    def ended(self, run: Run) -> None:
        """Learn from it. One that was cut off before it needed more says nothing."""
        seconds, need = self._given.pop(id(run), None), needed(run)
        if seconds is None or (was_cut(run) and need <= seconds[-1]):
            return
        counts = self._counts.setdefault(run.kind[:2], _Counts())
        counts.runs = counts.runs * self._fade + 1
        counts.over = [over * self._fade + (need > most) for over, most in zip(counts.over, seconds, strict=True)]

    def shares(self, cluster: str | None, user: str | None) -> tuple[float, ...]:
        """The share, for each of QUANTILES, of the user's runs that needed more."""
        counts = self._counts.get((cluster, user), _Counts())
        return tuple(
            (over + _PRIOR * _risk(percent)) / (counts.runs + _PRIOR)
            for over, percent in zip(counts.over, QUANTILES, strict=True)
        )


def newest(needs: Iterable[Need], most: int) -> Sequence[Need]:
    """The `most` entries of which a run was submitted last."""
    return sorted(needs, key=lambda one: (-one.last, one.uid, one.job_name, one.queue))[:most]


def _risk(percent: int) -> float:
    return (100 - percent) / 100
