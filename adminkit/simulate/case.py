"""Case: a workload on a site, with what the core need not know of its jobs; and how parts of it are replaced.

Everything here is pure: a change of a scenario takes a Case and gives another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from adminkit.simulate.core import NONE, Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.int64]
    Mask = NDArray[np.bool_]
else:
    Column = Mask = Any  # numpy is loaded when columns are made

#: Facts that every Case has, beside the columns of its request. `origin`: the place of the job among today's, NONE for
#: a job that only the scenario has. `piece`: 0, and more for what follows of the same job. `user`, `account`, `class`:
#: places in the names. `needs`: what the job would run without a limit, over all its pieces, seconds. `defaulted`: 1
#: where its limit is its queue's default, 0 where it was typed, NONE where that is unknown. `follows`: 1 where its user
#: does what the scenario is about, NONE where the scenario is not about users.
FACTS: Final = ("origin", "piece", "user", "account", "class", "needs", "defaulted", "follows")


@dataclass(frozen=True, slots=True)
class Case:
    """One run of the core. `names` has those of `users`, `accounts`, `classes` and `queues`, each in its order."""

    request: Request
    facts: Mapping[str, Column]
    names: Mapping[str, Sequence[str]]

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return self.request.count

    def column(self, name: str, usual: int = NONE) -> Column:
        """A column of the jobs; `usual` for each where the workload does not have it."""
        import numpy as np

        there = self.request.jobs.get(name)
        return np.full(self.count, usual, np.int64) if there is None else there

    def queue(self, name: str) -> int:
        """The place of a queue of this name."""
        return list(self.names["queues"]).index(name)

    def in_queue(self, place: int) -> Mask:
        """Which jobs name this queue."""
        found: Mask = self.column("queues", 1) >> place & 1 == 1
        return found


def with_columns(case: Case, **columns: Column) -> Case:
    """The same with these columns of jobs."""
    return replace(case, request=replace(case.request, jobs={**case.request.jobs, **columns}))


def with_facts(case: Case, **facts: Column) -> Case:
    """The same with these facts."""
    return replace(case, facts={**case.facts, **facts})


def with_site(case: Case, **parts: Any) -> Case:
    """The same with other settings, queues, nodes, qos, or another model."""
    return replace(case, request=replace(case.request, **parts))


def take(case: Case, places: Column) -> Case:
    """The jobs at these places, in their order; a place may come more than once.

    A job that another one follows (`after`) has to come before it, once for each time that the follower comes.
    """
    jobs = {name: column[places] for name, column in case.request.jobs.items()}
    facts = {name: column[places] for name, column in case.facts.items()}
    taken = replace(case, request=replace(case.request, jobs=jobs), facts=facts)
    return taken if "after" not in jobs else with_columns(taken, after=_followed(jobs["after"], places))


def _followed(after: Column, places: Column) -> Column:
    """`after` in the new order: the last copy of the job that is followed, before the follower."""
    import numpy as np

    where: dict[int, int] = {}
    moved = np.full(len(places), NONE, np.int64)
    for new, (old, before) in enumerate(zip(places.tolist(), after.tolist(), strict=True)):
        where[old] = new
        if before != NONE:
            moved[new] = where[before]
    return moved


def together(first: Case, second: Case) -> Case:
    """The jobs of both on the first one's site; of the second only, new ids, above all of the first."""
    import numpy as np

    names = list(dict.fromkeys([*first.request.jobs, *second.request.jobs]))
    jobs = {name: np.concatenate([first.column(name), second.column(name)]) for name in names}
    highest = int(jobs["id"].max(initial=0))
    jobs["id"][first.count :] = highest + 1 + np.arange(second.count)
    if "after" in jobs:
        later = jobs["after"][first.count :]
        jobs["after"][first.count :] = np.where(later == NONE, NONE, later + first.count)
    facts = {name: np.concatenate([column, second.facts[name]]) for name, column in first.facts.items()}
    return replace(first, request=replace(first.request, jobs=jobs), facts=facts)
