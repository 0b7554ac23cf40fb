"""The table of hints about memory: what the runs of each user's job names used on a node, and a size that is enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.recommend.control import Control
from adminkit.recommend.hints import LEVELS, Hint, Limits, hints
from adminkit.recommend.memory import MENU, RISK
from adminkit.recommend.menu import Offer
from adminkit.recommend.predict import Rule, at_limit, getter
from adminkit.stats.runs import Run

#: A hint says for how many of this many last runs its size would have been enough.
LAST: Final = 100
#: As hints about time limits, but a job with too little memory ends at once: the risk may be half as large.
LIMITS: Final = Limits(risk=0.10)


@dataclass(frozen=True, slots=True)
class MemoryHint:
    """`hint` has MiB where one about time has seconds. The hint's limit was enough for `enough` of the last `runs`, and
    none used more than `used` MiB."""

    hint: Hint
    used: int
    runs: int
    enough: int


def memory_hints(
    runs: Iterable[Run], now: int, limits: Limits = LIMITS, control: Control | None = None
) -> list[MemoryHint]:
    """Hints as those of hints.py, of the runs of stats/peaks.py, which come by submission."""
    last = _Last(Rule().groups * len(LEVELS))
    found = hints(last.passed(runs), now, Offer(MENU, RISK), limits, control)
    return [told for hint in found if (told := last.told(hint)) is not None]


class _Last:
    """The last LAST runs of each group that a hint may be about: of the newest `most` groups."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys = [getter(level) for level in LEVELS]
        # Needs in MiB, below 0 for a run that ran out of memory.
        self._needs: dict[tuple[object, ...], deque[int]] = {}

    def passed(self, runs: Iterable[Run]) -> Iterator[Run]:
        """The same runs."""
        for run in runs:
            need = -run.elapsed if at_limit(run) else run.elapsed
            for key_of in self._keys:
                key = self._key(key_of(run.kind))
                group = self._needs.pop(key, None) or deque(maxlen=LAST)
                group.append(need)
                self._needs[key] = group  # now the newest
            while len(self._needs) > self._most:
                del self._needs[next(iter(self._needs))]
            yield run

    def told(self, hint: Hint) -> MemoryHint | None:
        """The hint with what these runs show."""
        queue = (hint.queue,) if hint.queue else ()
        needs = self._needs.get(self._key((hint.cluster, hint.user, hint.job_name, *queue)))
        if needs is None:
            return None
        enough = sum(0 <= need <= hint.limit for need in needs)
        return MemoryHint(hint, max(map(abs, needs)), len(needs), enough)

    @staticmethod
    def _key(values: Sequence[object]) -> tuple[object, ...]:
        """No name and an empty one are one, as in hints.py."""
        return tuple(value or "" for value in values)
