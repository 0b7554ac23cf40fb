"""What a round does to which job: who is given how much, who is refused and why, what is taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.extend.plan import Act, Open, chosen, plan
from adminkit.extend.rule import outlook
from adminkit.extend.settings import Settings, settings_of
from adminkit.extend.words import Given
from adminkit.slurm.room import RoomJob
from tests.extend.jobs import RECORD, SETTINGS, listed, opened, run, wait
from tests.fit.rooms import HOUR, NOW, make, node, taken

MINE = run(1)
GIVEN = f"{RECORD} xt1:asked=3600,lim=5400,n=2"
LONG = run(1, left=1500, limit=5400)  # extended twice, 25 minutes left


@dataclass
class Bounds:
    """What everything but the nodes allows."""

    bound: tuple[int | None, str, str] = (None, "", "")
    against: str = ""
    kept: int | None = 0
    has_earned: bool | None = True

    def most(self, job: Open) -> tuple[int | None, str, str]:
        return self.bound

    def refused(self, job: Open, limit: int) -> str:
        return self.against

    def left(self, uid: int, budget: int) -> int | None:
        return None if self.kept is None else budget - self.kept

    def earned(self, uid: int) -> bool | None:
        return self.has_earned


def acts(
    *jobs: Open, settings: Settings = SETTINGS, bounds: Bounds | None = None, waits: tuple[RoomJob, ...] = ()
) -> list[Act]:
    rooms = [job.room for job in jobs]
    names = sorted({name for job in rooms for name in job.nodes} | {"n1"})
    there = [node(name, taken(*(job for job in rooms if name in job.nodes and job.runs))) for name in names]
    return plan(jobs, settings, outlook(make(there, *rooms, *waits)), bounds or Bounds(), NOW)


@pytest.mark.parametrize(
    ("changes", "becomes", "reason"),
    [
        ({}, HOUR + 900, "a quarter of what was asked for"),
        ({"share": 0.1}, HOUR + 600, "never less than the lead"),
        ({"share": None, "step": 1200}, HOUR + 1200, "a fixed step"),
        ({"share": 0.2501}, HOUR + 960, "in whole minutes upward"),
        ({"most": 1.2}, HOUR + 720, "as much of a step as the most allows"),
        ({"budget": 800}, HOUR + 780, "and the budget, in whole minutes"),
    ],
)
def test_how_much_is_given(changes: dict[str, Any], becomes: int, reason: str) -> None:
    (act,) = acts(opened(MINE), settings=replace(SETTINGS, **changes))
    assert (act.did, act.was, act.becomes, act.why) == ("given", HOUR, becomes, "free"), reason
    assert act.given == Given(HOUR, becomes, 1), reason


@pytest.mark.parametrize(
    ("left", "limit", "settings", "looked_at", "reason"),
    [
        (600, HOUR, SETTINGS, True, "within the lead"),
        (601, HOUR, SETTINGS, False, "not yet"),
        (0, HOUR, SETTINGS, False, "its time is over"),
        (200, 300, SETTINGS, False, "a short job is not looked at in its first half"),
        (150, 300, SETTINGS, True, "but in the second"),
        (120, 120, SETTINGS, True, "a very short one in its last two minutes"),
    ],
)
def test_when_a_job_is_looked_at(left: int, limit: int, settings: Settings, looked_at: bool, reason: str) -> None:
    assert bool(acts(opened(run(1, left=left, limit=limit)), settings=settings)) is looked_at, reason


@pytest.mark.parametrize(
    ("job", "settings", "bounds", "why", "reason"),
    [
        (opened(MINE), {"most": 1.0}, Bounds(), "most", "no more than was asked for"),
        (opened(MINE), {"most": 1.08}, Bounds(), "most", "less than five minutes are not worth it"),
        (opened(MINE), {"budget": 3600}, Bounds(kept=3600), "budget", "all was given this month"),
        (opened(MINE), {"budget": 3600}, Bounds(kept=None), "budget", "how much was given is not known"),
        (opened(MINE), {"earned": True}, Bounds(has_earned=False), "earned", "the limits are not right"),
        (opened(MINE), {"earned": True}, Bounds(has_earned=None), "earned", "nobody knows"),
        (opened(MINE), {}, Bounds((HOUR, "limit", "x")), "limit", "the queue has no more"),
        (opened(MINE), {}, Bounds((HOUR + 240, "deadline", "x")), "deadline", "its deadline is near"),
        (opened(MINE), {}, Bounds((0, "minutes", "x")), "minutes", "minutes are limited"),
        (opened(MINE), {}, Bounds(against="no"), "rules", "a rule of the policy"),
        (opened(MINE), {"queues": frozenset({"other"})}, Bounds(), "kind", "it was moved to another queue"),
        (opened(MINE), {"users_off": frozenset({1001})}, Bounds(), "kind", "its user by number"),
        (opened(MINE), {"users_off": frozenset({"games"})}, Bounds(), "kind", "its user by name"),
        (opened(MINE), {"accounts_off": frozenset({"physics"})}, Bounds(), "kind", "its account"),
        (opened(MINE), {"qos_off": frozenset({"normal"})}, Bounds(), "kind", "its QOS"),
        (opened(MINE), {"qos": frozenset({"low"})}, Bounds(), "kind", "it was moved to another QOS"),
        (opened(MINE, qos=None), {"qos": frozenset({"normal"})}, Bounds(), "kind", "a QOS that nobody knows"),
        (opened(MINE, het_id=3), {}, Bounds(), "kind", "a part of a heterogeneous job"),
        (opened(MINE, odd_limit="?"), {}, Bounds(), "unread", "its limit cannot be read"),
        (opened(MINE, uid=None), {}, Bounds(), "unknown", "whose it is is not known"),
        (opened(MINE, GIVEN), {}, Bounds(), "changed", "somebody lowered it from what was given"),
        (opened(run(1, limit=5400), GIVEN), {"times": 2}, Bounds(), "times", "it was raised twice"),
        (opened(run(1, limit=7200), f"{RECORD} xt1:asked=3600,lim=7200,n=3"), {}, Bounds(), "most", "all was given"),
    ],
)
def test_who_is_refused(job: Open, settings: dict[str, Any], bounds: Bounds, why: str, reason: str) -> None:
    (act,) = acts(job, settings=replace(SETTINGS, **settings), bounds=bounds)
    assert (act.did, act.why, act.becomes) == ("refused", why, None), reason


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (
            opened(replace(MINE, state="SUSPENDED"), state="SUSPENDED"),
            "a suspended job comes no nearer to its end",
        ),
        (opened(replace(MINE, ends=None)), "when it ends is not known"),
    ],
)
def test_who_is_not_looked_at(job: Open, reason: str) -> None:
    assert acts(job) == [], reason


def test_a_planned_job_leaves_what_comes_before_it() -> None:
    (act,) = acts(opened(MINE), waits=(wait(5, "n1", NOW + 300 + 400),))
    assert (act.did, act.becomes) == ("given", HOUR + 360)
    (act,) = acts(opened(MINE), waits=(wait(5, "n1", NOW + 300 + 200),))
    assert (act.did, act.why) == ("refused", "planned")
    assert act.behind is not None and str(act.text) == "job 5 is planned on its nodes"


def test_a_user_spends_a_budget_once_in_a_round() -> None:
    two = [opened(run(number, f"n{number}")) for number in (1, 2)]
    found = acts(*two, settings=replace(SETTINGS, budget=1200))
    assert [(act.did, act.becomes, act.why) for act in found] == [
        ("given", HOUR + 900, "free"),
        ("given", HOUR + 300, "free"),
    ]


def test_whose_end_is_nearest_comes_first() -> None:
    two = [opened(run(1, "n1", left=500)), opened(run(2, "n1", left=100))]
    head = wait(5, "n1", NOW + 900, cpus=4)
    assert [(act.job.room.job_id, act.did) for act in acts(*two, waits=(head,))] == [(2, "given"), (1, "given")]
    assert [act.becomes for act in acts(*two, waits=(head,))] == [HOUR + 900, HOUR + 360]


@pytest.mark.parametrize(
    ("job", "waits", "becomes", "word", "reason"),
    [
        (opened(LONG, GIVEN), [wait(5, "n1", NOW + 1500)], 4500, Given(3600, 4500, 2), "down to the lead"),
        (opened(LONG, GIVEN), [wait(5, "n1", NOW + 1500, cpus=4)], None, None, "the job that waits fits beside it"),
        (opened(LONG, GIVEN), [wait(5, "n1", NOW + 900)], None, None, "one that is planned before its end"),
        (opened(LONG, GIVEN), [wait(5)], None, None, "one without a plan waits for one"),
        (opened(LONG, GIVEN), [], None, None, "nobody waits"),
        (opened(run(1, left=1200, limit=5400), f"{RECORD} xt1:asked=4800,lim=5400,n=1"), [wait(5, "n1", NOW + 1200)],
         4800, Given(4800, 4800, 0), "never below what was asked for"),
        (opened(run(1, left=650, limit=5400), GIVEN), [wait(5, "n1", NOW + 650)], None, None, "less than a minute"),
        (opened(LONG, f"{RECORD} xt1:asked=3600,lim=4500,n=1"), [wait(5, "n1", NOW + 1500)], None, None,
         "somebody else gave it that limit"),
        (opened(LONG, RECORD), [wait(5, "n1", NOW + 1500)], None, None, "it asked for that"),
    ],
)  # fmt: skip
def test_what_is_taken_back(
    job: Open, waits: list[RoomJob], becomes: int | None, word: Given | None, reason: str
) -> None:
    found = [act for act in acts(job, waits=tuple(waits)) if act.did == "taken back"]
    wanted = [(becomes, word, "planned")] if word else []
    assert [(act.becomes, act.given, act.why) for act in found] == wanted, reason


def test_only_those_in_the_way_give_way() -> None:
    small, large = run(1, left=1500, limit=5400, cpus=1), run(2, left=1500, limit=5400, cpus=4)
    found = acts(opened(small, GIVEN), opened(large, GIVEN), waits=(wait(5, "n1", NOW + 1500, cpus=7),))
    assert [act.job.room.job_id for act in found] == [2]


def test_all_that_hold_a_wide_job_back_give_way_or_none() -> None:
    first, second = opened(LONG, GIVEN), opened(run(2, "n2", left=1500, limit=5400), GIVEN)
    wide = wait(5, "n1 n2", NOW + 1500)
    assert [act.job.room.job_id for act in acts(first, second, waits=(wide,))] == [1, 2]
    own = opened(run(2, "n2", left=1500, limit=5400))  # which asked for that much
    assert acts(first, own, waits=(wide,)) == []


@pytest.mark.parametrize(
    ("comment", "limit", "becomes", "reason"),
    [
        (GIVEN, 5400, 3600, "it waits again, with what it asked for"),
        (GIVEN, 5340, 3600, "its owner lowered it by a minute before it waited again"),
        (GIVEN, 5460, None, "an operator raised it"),
        (GIVEN, 3000, None, "somebody lowered it below what was asked for"),
        (f"{RECORD} xt1:asked=3600,lim=3600,n=0", 3600, None, "it has it already"),
        (RECORD, 3600, None, "it never was extended"),
    ],
)
def test_a_job_that_was_put_back(comment: str, limit: int, becomes: int | None, reason: str) -> None:
    waits = wait(1, time_limit=limit)
    found = acts(Open(waits, listed(waits, comment), opened(waits, comment).given))
    assert [(act.did, act.why, act.becomes) for act in found] == (
        [("taken back", "requeued", becomes)] if becomes else []
    ), reason


@pytest.mark.parametrize(
    ("left", "becomes", "reason"),
    [
        (5400, 3600, "a new run has just begun with the limit of the one before"),
        (5400 - (3600 - 600 - 61), 3600, "it cannot have been given time yet"),
        (5400 - (3600 - 600 - 60), None, "it may have been"),
        (1500, None, "it was given time in this run"),
    ],
)
@pytest.mark.parametrize("limit", [5400, 5340])
def test_a_job_that_was_put_back_and_started_before_anybody_saw_it(
    left: int, becomes: int | None, reason: str, limit: int
) -> None:
    """With the limit that it was given, or one that its owner lowered."""
    found = acts(opened(run(1, left=left - (5400 - limit), limit=limit), GIVEN))
    assert [(act.did, act.why, act.becomes) for act in found] == (
        [("taken back", "requeued", becomes)] if becomes else []
    ), reason


def test_only_jobs_that_opted_in_are_chosen() -> None:
    rooms = [run(1), run(2), run(3)]
    found = chosen(rooms, [listed(rooms[0]), listed(rooms[1], "ak1:lim=3600,src=e"), listed(rooms[2], "x ext=auto")])
    assert [job.room.job_id for job in found] == [1]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({}, "nothing"),
        ({"step": {"share": 0.25}, "most": 2, "lead": 600}, "a number is missing"),
        ({"step": 3, "most": 2, "lead": 600, "times": 8}, "a step of another kind"),
        ({"step": {"seconds": "x"}, "most": 2, "lead": 600, "times": 8}, "no number"),
    ],
)
def test_a_damaged_table_gives_nothing(table: dict[str, Any], reason: str) -> None:
    with pytest.raises(AdminkitError, match=r"\[extend\]"):
        settings_of(table)


def test_a_table_as_the_policy_compiles_it() -> None:
    table = {"step": {"share": 0.25}, "most": 2.0, "lead": 600, "times": 8, "earned": True, "users_off": {"a", 5}}
    assert settings_of(table) == replace(SETTINGS, earned=True, users_off=frozenset({"a", 5}))
