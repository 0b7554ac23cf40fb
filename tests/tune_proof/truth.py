"""The truth of a made site: what every combination does to the third month, by fresh draws of the same law."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

from adminkit.recommend.menu import Offer
from adminkit.simulate.case import Case, with_site
from adminkit.simulate.change import Sources
from adminkit.simulate.core import Schedule, simulate
from adminkit.simulate.groups import groups_of, with_deciles
from adminkit.simulate.luck import Luck
from adminkit.simulate.outcome import late_jobs
from adminkit.simulate.scenario import prepare
from adminkit.stats.student import difference, holm
from adminkit.trace.connect import reader
from adminkit.tune.candidates import Choice
from adminkit.tune.measured import LATE
from tests.support.builders import make_trace
from tests.tune_proof.levers import Space
from tests.tune_proof.sites import FRESH, Site
from tests.tune_proof.workloads import BEGIN, CLUSTER, DAY, drawn, records

#: A change is more than noise where its mean over months is so many standard deviations of one month.
NOISE: Final = 4.0
#: Groups with fewer jobs in a month are not judged.
_LEAST_JOBS: Final = 20
_LEVEL: Final = 0.05
#: Where the third month begins, which is what a search holds out.
_CUT: Final = BEGIN + 60 * DAY

Group = tuple[str, str]


@dataclass(frozen=True)
class Effect:
    """The change of a mean wait in each fresh month, seconds, and today's mean wait."""

    changes: tuple[float, ...]
    today: float

    @property
    def mean(self) -> float:
        """Over the months."""
        return float(np.mean(self.changes))

    @property
    def spread(self) -> float:
        """The standard deviation of one month."""
        return float(np.std(self.changes, ddof=1))

    @property
    def p(self) -> float:
        """Two-sided, of no change."""
        found = difference(self.changes)
        return 1.0 if found is None else found.p

    @property
    def relative(self) -> float:
        """As a share of today's."""
        return self.mean / self.today if self.today else 0.0

    @property
    def is_less(self) -> bool:
        """Whether it is less by more than noise."""
        return self.mean + NOISE * self.spread < 0

    @property
    def is_more(self) -> bool:
        """Whether it is more by more than noise."""
        return self.mean - NOISE * self.spread > 0


@dataclass(frozen=True)
class True_:
    """What one combination does: to all jobs, and to each group that is judged."""

    choice: Choice
    all: Effect
    groups: Mapping[Group, Effect]

    @property
    def harmless(self) -> bool:
        """Whether no group waits longer, all of them judged together."""
        several = list(self.groups.values())
        adjusted = holm([one.p for one in several])
        return not any(p < _LEVEL and one.mean > 0 for one, p in zip(several, adjusted, strict=True))

    @property
    def planted(self) -> bool:
        """Whether it is better by more than noise, and harms nobody."""
        return self.all.is_less and self.harmless

    @property
    def right(self) -> bool:
        """Whether it is right to recommend it: it is better, and no group waits longer by more than noise."""
        better = self.all.p < _LEVEL and self.all.mean < 0
        return better and not any(one.is_more for one in self.groups.values())


@contextmanager
def sources_of(case: Case, space: Space, folder: Path) -> Iterator[Sources]:
    """What scenarios may look at; the history of a trace where a lever needs it."""
    if not space.uses_history:
        yield Sources(case, folder, Offer())
        return
    path = make_trace(folder / "trace.db", records(case, simulate(case.request)))
    keys = {"job_id_raw": case.column("id"), "submit_time": case.column("submit")}
    with reader(path) as db:
        yield Sources(case, folder, Offer(), db, CLUSTER, None, 0, keys)


def every(space: Space) -> Sequence[Choice]:
    """All combinations but that of today."""
    return list(product(*((None, *lever.values) for lever in space.levers)))[1:]


def truth(site: Site, folder: Path, choices: Sequence[Choice], seeds: Sequence[int] = FRESH) -> Sequence[True_]:
    """What these combinations of the site's levers do."""
    if not choices:
        return []
    changes: dict[Choice, dict[Group, list[float]]] = {choice: {} for choice in choices}
    todays: dict[Group, list[float]] = {}
    for seed in seeds:
        case = drawn(site.law, seed)
        if LATE in site.goal.keeps:
            case = with_site(case, settings={**case.request.settings, "promises": 1})
        before = case, simulate(case.request)
        today = _means(site, before, before)
        for group, wait in today.items():
            todays.setdefault(group, []).append(wait)
        with sources_of(case, site.space, folder) as sources:
            for choice, found in changes.items():
                then = _means(site, before, _ran(site.space, choice, sources))
                for group, wait in then.items():
                    found.setdefault(group, []).append(wait - today[group])
    return [_true(choice, found, todays, len(seeds)) for choice, found in changes.items()]


def _true(
    choice: Choice, found: Mapping[Group, Sequence[float]], todays: Mapping[Group, Sequence[float]], months: int
) -> True_:
    effects = {group: Effect(tuple(several), float(np.mean(todays[group])))
               for group, several in found.items() if len(several) == months}  # fmt: skip
    return True_(choice, effects.pop(("all", "")), effects)


def _ran(space: Space, choice: Choice, sources: Sources) -> tuple[Case, Schedule]:
    scenario = space.scenario(choice)
    case = scenario.apply(sources.case, prepare([scenario], sources)[0], Luck(0))
    return case, simulate(case.request)


def _means(site: Site, today: tuple[Case, Schedule], then: tuple[Case, Schedule]) -> dict[Group, float]:
    """The mean wait of the jobs of the third month, and of each group of these that is large enough.

    Where promises are to be kept, how many jobs start later than today's backfill promised them, too.
    """
    case, schedule = then
    assert (schedule.start >= 0).all()
    wait = schedule.start - case.column("submit")
    held = today[0].column("submit") >= _CUT
    found = {("all", ""): float(wait[held].mean())}
    groups = with_deciles(groups_of(today[0]), today[0])
    for part in site.goal.parts:
        codes, names = groups.parts.get(part, (np.zeros(0), ()))
        for place, value in enumerate(names):
            which = held & (codes == place)
            if which.sum() >= _LEAST_JOBS:
                found[part, value] = float(wait[which].mean())
    late = late_jobs(today, then, held) if LATE in site.goal.keeps else None
    return found if late is None else {**found, ("all", LATE): float(late[1].sum())}
