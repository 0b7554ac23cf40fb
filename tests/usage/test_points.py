"""Points of waiting jobs are held while a job of their user holds idle GPUs, and given back: tables, then rounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from adminkit.deploy.idle_points import Taken, holders, settle, without_hold
from adminkit.errors import AdminkitError
from adminkit.slurm import bonus, idle_acts
from adminkit.slurm.squeue import QueuedJob
from adminkit.usage.ladder import Past, plan
from tests.usage.jobs import HOUR, NOW, SETTINGS, use
from tests.usage.test_ladder import START, WARNED, of
from tests.usage.world import USED, World, did

ALICE, BOB = 1000, 1002
POINTS = replace(SETTINGS, acts=("points", "cancel"))


@dataclass
class Waiting:
    """slurmctld's waiting jobs: (uid, bonus) by id. `held`: sprio does not list these."""

    jobs: dict[int, tuple[int, int]]
    held: set[int] = field(default_factory=set)
    refuses: set[int] = field(default_factory=set)
    away: bool = False
    calls: list[tuple[int, int]] = field(default_factory=list)

    def bonuses(self, uid: int) -> dict[int, int]:
        if self.away:
            raise AdminkitError("slurmctld is away")
        return {job: points for job, (whose, points) in self.jobs.items() if whose == uid and job not in self.held}

    def set_bonus(self, job_id: int, points: int) -> None:
        if job_id in self.refuses:
            raise AdminkitError("Job update not available right now")
        self.calls.append((job_id, points))
        self.jobs[job_id] = self.jobs[job_id][0], points

    def now_of(self, job_ids: Collection[int]) -> dict[int, QueuedJob]:
        return {one: QueuedJob(submit_time=1, job_id=one, state="PENDING") for one in job_ids if one in self.jobs}


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Waiting:
    made = Waiting({21: (ALICE, 325), 22: (ALICE, 0), 23: (BOB, 100)})
    monkeypatch.setattr(bonus, "bonuses", made.bonuses)
    monkeypatch.setattr(bonus, "set_bonus", made.set_bonus)
    return made


@pytest.mark.parametrize(
    ("who", "taken", "changes", "calls", "left", "dids", "why"),
    [
        ({ALICE}, {}, {}, [(21, 0)], {21: Taken(ALICE, 325)}, ["taken"], "what has points loses them"),
        (set(), {}, {}, [], {}, [], "nobody's are held"),
        ({ALICE}, {21: Taken(ALICE, 325)}, {"jobs": {21: (ALICE, 0)}}, [], {21: Taken(ALICE, 325)}, [], "still held"),
        (set(), {21: Taken(ALICE, 325)}, {"jobs": {21: (ALICE, 0)}}, [(21, 325)], {}, ["back"], "given back"),
        (set(), {21: Taken(ALICE, 325)}, {"jobs": {21: (ALICE, 0)}, "held": {21}}, [(21, 325)], {}, ["back"],
         "also to a job that is held, which sprio does not list"),
        ({ALICE}, {21: Taken(ALICE, 325)}, {"jobs": {21: (ALICE, 0)}, "held": {21}}, [], {21: Taken(ALICE, 325)}, [],
         "and it is not forgotten"),
        (set(), {21: Taken(ALICE, 325)}, {"jobs": {21: (ALICE, 60)}}, [], {}, [], "somebody gave it points: they stay"),
        (set(), {21: Taken(ALICE, 325)}, {"jobs": {}}, [], {}, [], "it started, or is over"),
        ({ALICE}, {21: Taken(ALICE, 325)}, {"jobs": {21: (ALICE, 60)}}, [(21, 0)], {21: Taken(ALICE, 60)}, ["taken"],
         "points that came back are held, too"),
        ({ALICE}, {}, {"jobs": {21: (ALICE, -50)}}, [], {}, [], "less than none is not ours"),
        ({ALICE}, {}, {"refuses": {21}}, [], {}, ["taken"], "Slurm refused: nothing was taken"),
        (set(), {21: Taken(ALICE, 325)}, {"jobs": {21: (ALICE, 0)}, "refuses": {21}}, [], {21: Taken(ALICE, 325)},
         ["back"], "Slurm refused: the next round tries again"),
        (set(), {21: Taken(ALICE, 325)}, {"away": True}, [], {21: Taken(ALICE, 325)}, ["unknown"], "slurmctld is away"),
        ({ALICE}, {23: Taken(BOB, 100)}, {"jobs": {21: (ALICE, 5), 23: (BOB, 0)}}, [(21, 0), (23, 100)],
         {21: Taken(ALICE, 5)}, ["taken", "back"], "each user by their own"),
    ],
)  # fmt: skip
def test_points_are_taken_and_given_back(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch, who: set[int], taken: dict[int, Taken], changes: dict[str, Any],
    calls: list[tuple[int, int]], left: dict[int, Taken], dids: list[str], why: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(idle_acts, "now_of", waiting.now_of)
    for name, value in changes.items():
        setattr(waiting, name, value)
    kept: list[Mapping[int, Taken]] = [taken]
    recorded: list[tuple[str, int | None, bool | None]] = []

    set_bonus = waiting.set_bonus

    def careful(job_id: int, points: int) -> None:
        assert points or job_id in kept[-1], "what is taken is written down before"
        set_bonus(job_id, points)

    monkeypatch.setattr(bonus, "set_bonus", careful)

    lines = settle(
        who, taken, lambda now: kept.append(dict(now)),
        lambda line: recorded.append((line["did"], line["job"], line["held"])),
    )  # fmt: skip
    assert waiting.calls == calls, why
    assert kept[-1] == left, why
    assert [line["did"] for line in lines] == dids, why
    begun = [(line["did"], line["job"]) for line in lines if line["did"] != "unknown"]
    assert [one[:2] for one in recorded if one[2] is None] == begun, "each before it is done"


@pytest.mark.parametrize(
    ("past", "uids", "why"),
    [
        (WARNED.with_act("points", NOW), {ALICE}, "on that step"),
        (WARNED, set(), "only warned"),
        (replace(WARNED, start=START - 1).with_act("points", NOW), set(), "an earlier run"),
        (without_hold(WARNED.with_act("points", NOW)), set(), "it is over"),
    ],
)
def test_whose_points_are_held(past: Past, uids: set[int], why: str) -> None:
    assert holders([of(use(0), use(1))], {11: past}) == uids, why


@pytest.mark.parametrize(
    ("uses", "past", "did_", "why", "reason"),
    [
        ((use(0), use(1)), WARNED, "points", "idle", "the first step"),
        ((use(0, quiet=0), use(1)), WARNED, "points", "some", "also where only some are idle"),
        ((use(0), use(1)), WARNED.with_act("points", NOW - 100), "nothing", "acted", "it has its time to respond"),
        ((use(0), use(1)), WARNED.with_act("points", NOW - HOUR), "cancel", "idle", "then the next act"),
        ((use(0, quiet=0), use(1)), WARNED.with_act("points", NOW - HOUR), "nothing", "times", "no other fits"),
    ],
)
def test_points_are_a_step_of_the_ladder(uses: Any, past: Past, did_: str, why: str, reason: str) -> None:
    (act,) = plan([of(*uses)], {11: past}, replace(POINTS, times=9), NOW)
    assert (act.did, act.why) == (did_, why), reason


def test_a_round_holds_points_until_the_gpus_are_used(
    world: World,
    waiting: Waiting,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world.settings = replace(POINTS, acts=("points",))
    jobs = world.now_of
    monkeypatch.setattr(idle_acts, "now_of", lambda ids: {**jobs(list(ids)), **waiting.now_of(ids)})
    world.once()
    assert waiting.calls == [], "it is only warned"
    done = world.once(NOW + 1800)
    assert did(done)[0] == (11, "points", "idle") and done.ok
    assert waiting.calls == [(21, 0)] and world.state().taken == {21: Taken(ALICE, 325)}
    assert world.calls[-1][0] == "notify" and "waiting jobs have no priority points" in world.calls[-1][2]
    waiting.jobs[24] = (ALICE, 40)
    world.once(NOW + 2100)
    assert waiting.calls[1:] == [(24, 0)], "a job that was submitted since"
    world.away = True
    world.once(NOW + 2400)
    assert world.state().taken.keys() == {21, 24}, "nothing is known, so nothing changes"
    world.away, world.uses[11] = False, USED
    done = world.once(NOW + 2700)
    assert [line["did"] for line in done.settled] == ["back", "back"] and world.state().taken == {}
    assert waiting.jobs == {21: (ALICE, 325), 22: (ALICE, 0), 23: (BOB, 100), 24: (ALICE, 40)}


@pytest.mark.parametrize("end", ["the job is over", "the section is off", "the act is off", "the user is left out"])
def test_points_come_back_when(
    world: World,
    waiting: Waiting,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
) -> None:
    world.settings = replace(POINTS, acts=("points",))
    jobs = world.now_of
    monkeypatch.setattr(idle_acts, "now_of", lambda ids: {**jobs(list(ids)), **waiting.now_of(ids)})
    world.once()
    world.once(NOW + 1800)
    assert waiting.jobs[21] == (ALICE, 0)
    if end == "the job is over":
        del world.jobs[11]
    world.settings = {
        "the section is off": None,
        "the act is off": replace(POINTS, acts=()),
        "the user is left out": replace(POINTS, acts=("points",), users_off=frozenset({"alice"})),
    }.get(end, world.settings)
    world.once(NOW + 2100)
    assert (waiting.jobs[21], world.state().taken) == ((ALICE, 325), {}), end
