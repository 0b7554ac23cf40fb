"""The parts of today's jobs for which an answer is given: all, by queue, class, size, length, and account or user.

A search also asks for deciles of users, and for sums by the day of submission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from adminkit.simulate.case import Case, Column, Mask
from adminkit.simulate.core import NONE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Accounts, or users where no account is known, that have rows of their own; the others share one.
ACCOUNTS: Final = 10
LENGTHS: Final = ("up to 1 h", "1 to 4 h", "4 to 24 h", "above 24 h")
_LENGTHS: Final = (3600, 4 * 3600, 24 * 3600)
SIZES: Final = ("1", "2 to 8", "9 to 64", "above 64")
SIZE_EDGES: Final = (1, 8, 64)
#: The names of a part that tells jobs whose users follow from others.
FOLLOWS: Final = ("others", "who follow")
#: Those of a part that tells jobs that were given more time from others.
GIVEN: Final = ("not given", "given more")
UNKNOWN: Final = "(unknown)"
#: The part of users by the unit-hours of their jobs, and how many groups it has at most.
DECILE: Final = "decile"
DECILES: Final = 10


@dataclass(frozen=True, slots=True)
class Days:
    """Asks for sums by day. `of`: the day of each of today's jobs, 0 to `count` - 1; `parts`: summed by group, too.

    `tail`: whether waits are counted by day as well, for the interval of a quantile.
    """

    of: Column
    count: int
    parts: tuple[str, ...] = ()
    tail: bool = False


@dataclass(frozen=True, slots=True)
class Groups:
    """Each part's group of each of today's jobs, a place in the part's names. `unit`: what sizes count.

    `which`: the jobs that are summarised; None: all. `days`: what is summed by day; None: nothing.
    """

    parts: Mapping[str, tuple[Column, Sequence[str]]]
    unit: str
    which: Mask | None = None
    days: Days | None = None

    def to_bytes(self) -> bytes:
        """The same bytes for the same groups."""
        words = [f"{part}\n{chr(10).join(names)}".encode("utf-8", "surrogateescape") + codes.tobytes()
                 for part, (codes, names) in self.parts.items()]  # fmt: skip
        if self.which is not None:
            words.append(b"which\n" + self.which.tobytes())
        if self.days is not None:
            words.append(f"{self.days.count} {self.days.parts} {self.days.tail}\n".encode() + self.days.of.tobytes())
        return b"\0".join([self.unit.encode(), *words])


def groups_of(case: Case) -> Groups:
    """The groups of today's jobs, which are in no pieces."""
    import numpy as np

    parts: dict[str, tuple[Column, Sequence[str]]] = {"all": (np.zeros(case.count, np.int64), ("(all)",))}
    parts["queue"] = _named(_queue(case), case.names["queues"])
    parts["class"] = _named(case.facts["class"], case.names["classes"])
    unit = unit_of(case)
    parts["size"] = (np.searchsorted(SIZE_EDGES, sizes(case, unit), side="left"), size_names(unit))
    parts["length"] = (np.searchsorted(_LENGTHS, case.facts["needs"], side="left"), LENGTHS)
    whose = "account" if len(case.names["accounts"]) > 1 else "user"
    parts[whose] = _largest(case.facts[whose], case.names[f"{whose}s"])
    several = {part: found for part, found in parts.items() if len(set(found[0].tolist())) > 1}
    return Groups({"all": parts["all"], **several}, unit)


def with_deciles(groups: Groups, case: Case) -> Groups:
    """The same with users by the unit-hours of their jobs: ten groups of as many users each, the fewest hours first.

    A job whose user is not known is in none.
    """
    import numpy as np

    user = case.facts["user"]
    known = user != NONE
    hours = np.bincount(user[known], (case.facts["needs"] * sizes(case, groups.unit))[known])
    there = np.unique(user[known])
    if len(there) < 2:
        return groups
    many = min(DECILES, len(there))
    ranked = there[np.argsort(hours[there], kind="stable")]
    decile = np.full(len(hours) + 1, NONE, np.int64)  # the last is that of NONE
    decile[ranked] = np.arange(len(ranked)) * many // len(ranked)
    names = [f"{place + 1} of {many}" for place in range(many)]
    return replace(groups, parts={**groups.parts, DECILE: (decile[user], names)})


def size_names(unit: str) -> list[str]:
    """1 GPU, 2 to 8 GPUs, …"""
    return [f"{size} {unit}{'' if size == '1' else 's'}" for size in SIZES]


def unit_of(case: Case) -> str:
    """What the size of a job is counted in: GPUs where most jobs have some."""
    if case.request.model != "slurm":
        return "processor"
    return "GPU" if case.count and 2 * int((case.column("gpus", 0) > 0).sum()) > case.count else "CPU"


def sizes(case: Case, unit: str) -> Column:
    """How many GPUs, CPUs or processors each job takes."""
    return case.column({"GPU": "gpus", "CPU": "cpus"}.get(unit, "procs"), 1)


def _queue(case: Case) -> Column:
    """The place of the first queue that each job names; NONE for none."""
    import numpy as np

    mask = case.column("queues", 1)
    place = np.full(case.count, NONE, np.int64)
    for number in reversed(range(len(case.names["queues"]))):
        place[mask >> number & 1 == 1] = number
    return place


def _named(codes: Column, names: Sequence[str]) -> tuple[Column, Sequence[str]]:
    import numpy as np

    return np.where(codes == NONE, len(names), codes), [*names, UNKNOWN]


def _largest(codes: Column, names: Sequence[str]) -> tuple[Column, Sequence[str]]:
    """The accounts with the most jobs by name, the others together."""
    import numpy as np

    known, all_names = _named(codes, names)
    jobs: NDArray[np.int64] = np.bincount(known, minlength=len(all_names))
    kept = np.argsort(-jobs, kind="stable")[:ACCOUNTS]
    kept = kept[jobs[kept] > 0]
    new = np.full(len(all_names), len(kept), np.int64)
    new[kept] = np.arange(len(kept))
    return new[known], [*(all_names[one] for one in kept.tolist()), "(all others)"]
