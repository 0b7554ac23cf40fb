"""The eighty sites of the proof: on forty a better setting is planted, on forty nothing is better.

Who changes a site has to make the page again. `better` of a family was found by trying every combination of some of its
sites on fresh draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adminkit.tune.candidates import Choice
from adminkit.tune.race import Goal
from tests.tune_proof.levers import Space, space
from tests.tune_proof.workloads import DAY, HOUR, Law, longer

#: Sites of each family.
EACH: Final = 5
#: The seed of the trace that is searched. It was chosen when laws and method were finished: nothing was fitted to it.
TRACE: Final = 2026
#: Seeds of the fresh draws by which the truth is known.
FRESH: Final = range(1001, 1009)
_NODES: Final = (4, 6, 8, 10, 12)
#: Where waits of few months tell more.
_FEW_NODES: Final = (4, 6, 8, 6, 8)
_ALL: Final = Goal()
_USERS: Final = Goal(parts=("decile",), keeps=("utilization", "lost_hours"))
_SIZES: Final = Goal(parts=("size",), keeps=("utilization", "lost_hours"))


@dataclass(frozen=True)
class Site:
    """One question: a law, levers, what is wanted and what may not become worse."""

    family: str
    number: int
    law: Law
    space: Space
    goal: Goal = _ALL

    @property
    def name(self) -> str:
        """The family with its number."""
        return f"{self.family} {self.number + 1}"


@dataclass(frozen=True)
class Family:
    """Sites of one kind. `what`: what is better, or why nothing is."""

    name: str
    planted: bool
    what: str
    make: Callable[[int], tuple[Law, Space, Goal]]
    better: Sequence[Choice] = ()  # combinations that are better by construction

    def site(self, number: int) -> Site:
        """The site of this number, from 0."""
        return Site(self.name, number, *self.make(number))

    @property
    def sites(self) -> Sequence[Site]:
        """All of them."""
        return [self.site(number) for number in range(EACH)]


def _shallow(number: int) -> tuple[Law, Space, Goal]:
    law = Law(100 + number, nodes=_FEW_NODES[number], load=0.58, settings={"bf_max_job_test": 2})
    levers = space(
        ("scheduler.bf_max_job_test", (20, 500)), ("scheduler.bf_window", (DAY,)),
        ("scheduler.priority_weight_job_size", (1000,)),
    )  # fmt: skip
    return law, levers, _USERS


def _user(number: int) -> tuple[Law, Space, Goal]:
    law = Law(200 + number, nodes=_FEW_NODES[number], load=0.6, users=6, settings={"bf_max_job_user": 1})
    return law, space(("scheduler.bf_max_job_user", (5, 100)), ("scheduler.bf_interval", (120, 600))), _SIZES


def _window(number: int) -> tuple[Law, Space, Goal]:
    settings = {"bf_window": 7 * DAY}
    law = Law(300 + number, nodes=16, load=0.64 + 0.02 * number, over=8, most=7 * DAY, settings=settings)
    return (
        law,
        space(("scheduler.bf_window", (4 * HOUR, DAY, 14 * DAY)), ("scheduler.bf_interval", (30, 600))),
        _USERS,
    )


def _together(number: int) -> tuple[Law, Space, Goal]:
    settings = {"bf_window": 7 * DAY}
    law = Law(400 + number, nodes=8, load=0.68 + 0.02 * number, over=8, most=7 * DAY, settings=settings)
    levers = space(
        ("scheduler.bf_window", (4 * HOUR, 12 * HOUR)), ("scheduler.priority_weight_job_size", (50, 100, 300))
    )
    return law, levers, _SIZES


def _split(seed: int, number: int) -> Law:
    """Short jobs that ask for the most, in a queue of their own; the others know well what they need."""
    return Law(seed, nodes=_FEW_NODES[number], load=0.6, short=0.7, lazy=0, over=1.5, factors=(1, 1), most=2 * DAY)


def _maximum(number: int) -> tuple[Law, Space, Goal]:
    levers = space(("queue.max_limit", ("02:00:00", "12:00:00")), ("scheduler.priority_weight_job_size", (100, 1000)))
    return _split(500 + number, number), levers, _SIZES


def _soft(number: int) -> tuple[Law, Space, Goal]:
    levers = space(("soft-limits.quantile", (50, 75, 90)), ("scheduler.priority_weight_job_size", (100,)))
    return _split(600 + number, number), levers, _SIZES


def _soft_wide_first(number: int) -> tuple[Law, Space, Goal]:
    law = replace(_split(700 + number, number), settings={"priority_weight_job_size": 2000})
    return law, space(("soft-limits.quantile", (50, 90)), ("queue.max_limit", ("02:00:00", "12:00:00"))), _SIZES


def _easy(number: int) -> tuple[Law, Space, Goal]:
    law = replace(_split(800 + number, number), nodes=4, load=0.68, model="easy")
    return law, space(("soft-limits.quantile", (50, 75, 90)), ("queue.max_limit", ("02:00:00", "12:00:00"))), _SIZES


def _exchangeable(number: int) -> Law:
    """Every job has a whole node, and its queue and user follow from nothing: no order is better on average."""
    return Law(900 + number, nodes=_NODES[number], load=0.75, whole=True, factors=(1, 5))


def _order(number: int) -> tuple[Law, Space, Goal]:
    levers = space(("scheduler.priority_weight_partition", (500, 5000)), ("scheduler.priority_weight_age", (0, 10_000)))
    return _exchangeable(number), levers, Goal(parts=(), keeps=())


def _order_of_groups(number: int) -> tuple[Law, Space, Goal]:
    law, levers, _ = _order(number)
    return replace(law, seed=1000 + number), levers, _ALL


def _idle(number: int) -> tuple[Law, Space, Goal]:
    law, levers, goal = _shallow(number)
    return replace(law, seed=1100 + number, nodes=16, load=0.1, wide=0.05, settings={}), levers, goal


def _best_already(number: int) -> tuple[Law, Space, Goal]:
    law = Law(1200 + number, nodes=_NODES[number], load=0.58, settings={"bf_window": DAY})
    levers = space(("scheduler.bf_max_job_test", (2, 5)), ("scheduler.bf_interval", (300, 900)))
    return law, levers, _ALL


def _trade(number: int) -> tuple[Law, Space, Goal]:
    law = Law(1300 + number, nodes=_NODES[number], load=0.65, settings={"priority_favor_small": 1})
    levers = space(("scheduler.priority_weight_job_size", (1000, 10_000)), ("scheduler.bf_interval", (120, 300)))
    return law, levers, _ALL


def _inert(number: int) -> tuple[Law, Space, Goal]:
    law = Law(1400 + number, nodes=_NODES[number], load=0.65)
    levers = space(("scheduler.bf_max_job_test", (2000, 5000)), ("scheduler.bf_max_job_user", (2000,)))
    return law, levers, _ALL


def _jitter(number: int) -> tuple[Law, Space, Goal]:
    law = Law(1500 + number, nodes=_NODES[number], load=0.7)
    levers = space(("scheduler.bf_interval", (55, 65)), ("scheduler.bf_resolution", (290, 310)))
    return law, levers, _ALL


def _passing(number: int) -> tuple[Law, Space, Goal]:
    law, levers, goal = _shallow(number)
    law = replace(law, seed=1600 + number)
    return longer(law, replace(law, whole=True)), levers, goal


# fmt: off
FAMILIES: Final = (
    Family("shallow backfill", True, "bf_max_job_test is 2: more is better", _shallow, [(500, DAY, None)]),
    Family("few jobs of a user", True, "bf_max_job_user is 1: more is better", _user, [(100, None)]),
    Family("far window", True, "bf_window is 7 days: less is better on 16 nodes", _window, [(4 * HOUR, None)]),
    Family(
        "window and weight", True, "a shorter bf_window is better, with a weight of size for the widest", _together,
        [(4 * HOUR, None), (4 * HOUR, 50)],
    ),
    Family(
        "long maximum", True, "short jobs ask for the maximum of their queue: a lower one is better", _maximum,
        [("02:00:00", None)],
    ),
    Family(
        "soft limits", True, "short jobs ask for the maximum: to plan with their need is better", _soft,
        [(50, None), (90, None)],
    ),
    Family(
        "soft limits, wide first", True, "the same where wide jobs go first", _soft_wide_first,
        [(50, None), (None, "02:00:00")],
    ),
    Family(
        "easy", True, "the same in the model easy", _easy,
        [(50, None), (None, "02:00:00")],
    ),
    Family("any order", False, "jobs are alike, so no order is better on average; no group is judged", _order),
    Family("any order, groups", False, "the same; groups are judged", _order_of_groups),
    Family("idle", False, "hardly any job waits", _idle),
    Family("best already", False, "every other setting is worse", _best_already),
    Family("trade", False, "a shorter mean wait costs the wide jobs theirs", _trade),
    Family("inert", False, "no setting changes a start", _inert),
    Family("jitter", False, "settings change some starts, and no mean", _jitter),
    Family("passing", False, "better in the first two months, and without effect in the third", _passing),
)
