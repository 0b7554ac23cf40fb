"""The steps of a change, and what is left where slurmctld, or we, are away between two of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adminkit.elastic.plan import Look, keeps
from adminkit.elastic.resize import Act, Ruled, order, revoke, settle
from adminkit.elastic.words import MARGIN
from adminkit.sections import Elastic
from adminkit.slurm import elastic_jobs, squeue
from adminkit.slurm.elastic_jobs import HELD, OpenJob, open_job, open_jobs
from adminkit.slurm.process import TIMEOUT, ask
from adminkit.slurm.show_config import forget
from tests.elastic.fake_slurm import answer
from tests.elastic.jobs import RECORD
from tests.fit.rooms import HOUR, NOW
from tests.support.answered import answered

#: What the plugin notes where it puts a job back, 30 s after the order.
NOTE = f"ck1:at={NOW + 30},heard=1,rq=1,end=more"
ORDERED = f"{RECORD} {NOTE} el1:gpus=4,until={NOW + 900} mine"
LEFT = f"{RECORD} {NOTE} mine"


def free(job: OpenJob, gpus: int) -> str:
    return ""


def strict(job: OpenJob, gpus: int) -> str:
    """The rules: gq-short has two GPUs at most."""
    return "the rules refuse it: gq-short takes 2" if job.queue == "gq-short" and gpus > 2 else ""


class World:
    """What the fake slurmctld has; `log` are our acts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = folder / "acts.jsonl"
        answered(folder / "bin", ("squeue", "scontrol"), lambda asked: answer(self.world, asked))
        monkeypatch.setenv("PATH", str(folder / "bin"))
        forget()
        self.world: dict[str, Any] = {}
        self.jobs: dict[str, dict[str, Any]] = {}

    def put(self, number: int, comment: str = RECORD, state: str = "RUNNING", gpus: int = 1, **more: str) -> None:
        held = state == "PENDING"
        given = {
            "nodes": "" if held else "n1",
            "reason": HELD if held else "None",
            "name": "train",
            "queue": "gq",
            "limit": "2:00:00",
            **more,
        }
        self.jobs[str(number)] = {"state": state, "tres": f"gres:gpu:{gpus}", "comment": comment, **given}
        self.write(None)

    def write(self, fails: int | None, **faults: str) -> None:
        """`faults`: words of a call, with _ for a blank."""
        named = {part.replace("_", " "): fault for part, fault in faults.items()}
        self.world = deepcopy({"jobs": self.jobs, "fails": fails, "calls": [], "faults": named})

    def read(self) -> Any:
        world = deepcopy(self.world)
        self.jobs = world["jobs"]
        return world

    def settle(self, now: int = NOW, ruled: Ruled = free) -> list[tuple[str, int | None]]:
        return [(act.did, act.gpus) for act in self.acts(now, ruled)]

    def acts(self, now: int = NOW, ruled: Ruled = free) -> list[Act]:
        return settle(open_jobs(), now, Elastic(), self.log, ruled)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_an_order_is_a_word_behind_all_others(world: World) -> None:
    world.put(1, f"{RECORD} mine  two")
    job = open_job(1)
    assert job is not None
    act = order(Look(job, 4, "idle GPUs"), Elastic(), NOW, world.log, free)
    assert (act.did, act.gpus) == ("ordered", 4)
    assert world.read()["jobs"]["1"]["comment"] == f"{RECORD} mine  two el1:gpus=4,until={NOW + 900}"
    recorded = json.loads(world.log.read_text())
    assert (recorded["what"], recorded["did"], recorded["job"], recorded["had"]) == ("elastic", "ordered", 1, 1)


@pytest.mark.parametrize(
    ("comment", "state", "gpus", "to", "said"),
    [
        ("mine", "RUNNING", 1, 4, "did not opt in"),
        (RECORD, "RUNNING", 1, 16, "1 to 8"),
        (RECORD, "RUNNING", 4, 4, "that many"),
        (RECORD, "PENDING", 1, 4, "scontrol release 1"),
        (ORDERED, "RUNNING", 1, 2, "already"),
        (f"{RECORD} {'x' * 990}", "RUNNING", 1, 4, "full"),
    ],
)
def test_a_job_is_looked_at_again_before_it_is_ordered(
    world: World, comment: str, state: str, gpus: int, to: int, said: str
) -> None:
    world.put(1, comment, state, gpus)
    job = open_job(1)
    assert job is not None
    act = order(Look(job, to, "it was so when the plan was made"), Elastic(), NOW, world.log, free)
    assert act.did == "refused" and said in act.text and world.read()["calls"] == []


#: (the job's comment, state, GPUs, when, what is done, the changes, why)
SETTLED: list[tuple[str, str, int, int, list[tuple[str, int | None]], int, str]] = [
    (ORDERED, "PENDING", 1, NOW, [("changed", 4), ("released", 4)], 3, "GPUs, release, comment"),
    (ORDERED, "PENDING", 4, NOW, [("released", 4)], 2, "its GPUs were changed before"),
    (ORDERED, "PENDING", 1, NOW + 9 * HOUR, [("changed", 4), ("released", 4)], 3, "it was held for long"),
    (ORDERED, "RUNNING", 4, NOW, [("changed", 4)], 1, "only the word was left"),
    (ORDERED, "RUNNING", 1, NOW, [], 0, "it has not left yet"),
    (ORDERED, "RUNNING", 1, NOW + 900 + MARGIN + HOUR, [("void", 1)], 1, "it never did"),
    (RECORD, "PENDING", 1, NOW, [], 0, "held by somebody else"),
    ("el1:gpus=4,until=9999999999", "PENDING", 1, NOW, [], 0, "it did not opt in"),
    (ORDERED.replace("end=more", "end=limit"), "PENDING", 1, NOW, [("changed", 4), ("released", 4)], 3, "at its limit"),
]


@pytest.mark.parametrize(("comment", "state", "gpus", "now", "done", "calls", "why"), SETTLED)
def test_what_was_begun_is_carried_on(
    world: World, comment: str, state: str, gpus: int, now: int, done: list[Any], calls: int, why: str
) -> None:
    world.put(1, comment, state, gpus)
    assert world.settle(now) == done, why
    found = world.read()
    assert len(found["calls"]) == calls, why
    left = comment.replace(f" el1:gpus=4,until={NOW + 900}", "")
    assert found["jobs"]["1"]["comment"] == (left if done else comment), why


@pytest.mark.parametrize("reason", ["JobHeldUser", "JobHeldAdmin"])
def test_who_holds_a_job_keeps_it_held(world: World, reason: str) -> None:
    world.put(1, ORDERED, "PENDING", reason=reason)
    assert world.settle() == [] and world.read()["calls"] == []


#: (the plugin's word beside the order, why somebody else put the job back held)
OTHERS = [
    ("", "the plugin noted nothing"),
    (f"ck1:at={NOW + 30},heard=1,rq=1", "it was signalled, and did not leave by itself"),
    (f"ck1:at={NOW + 30},heard=1,rq=1,end=done", "it was done"),
    (f"ck1:at={NOW - HOUR},heard=1,rq=1,end=more", "the word is of a run before the order"),
    (f"ck1:at={NOW - MARGIN - 1},heard=1,rq=1,end=more", "so it is, whatever clocks do"),
    (f"x{NOTE}", "the word is no note"),
]


@pytest.mark.parametrize(("note", "why"), OTHERS, ids=[case[1] for case in OTHERS])
def test_a_job_that_its_order_did_not_put_back_stays_held(world: World, note: str, why: str) -> None:
    """As after an operator's `scontrol requeuehold`, which has the same reason."""
    world.put(1, ORDERED.replace(NOTE, note), "PENDING")
    world.put(2, ORDERED, "PENDING")
    first = world.acts()[0]
    assert (first.did, first.job.job_id) == ("held", 1), why
    found = world.read()
    assert found["jobs"]["1"]["reason"] == HELD and found["jobs"]["2"]["reason"] == "None"
    job = open_job(1)
    assert job is not None and "scontrol release 1" in keeps(job, Elastic(), NOW)
    assert [act.did for act in revoke(job, Elastic(), world.log)] == ["revoked"], "only its word goes"
    assert world.read()["jobs"]["1"]["reason"] == HELD


@pytest.mark.parametrize(
    ("tres", "said"),
    [
        ("gres:gpu:1,gpu:1", "no longer requested with --gres"),
        ("gres/gpu:1,gres/gpu:1", "no longer"),
        ("N/A", "no longer"),
    ],
)
def test_gpus_that_became_another_thing_keep_no_job_held(world: World, tres: str, said: str) -> None:
    """`scontrol update Gres=gpu:1,gpu:1` by its owner, while it waits held."""
    world.put(1, ORDERED, "PENDING")
    world.jobs["1"]["tres"] = tres
    world.put(2, ORDERED, "PENDING")
    acts = world.acts()
    assert [(act.did, act.job.job_id) for act in acts] == [
        ("refused", 1), ("released", 1), ("changed", 2), ("released", 2),
    ]  # fmt: skip
    assert said in acts[0].text
    found = world.read()["jobs"]
    assert (found["1"]["tres"], found["1"]["reason"], found["2"]["tres"]) == (tres, "None", "gres:gpu:4")


def test_the_rules_are_asked_again_of_the_job_as_it_is(world: World) -> None:
    """It was moved before the order; while it waits held; and at the moment at which its GPUs are changed."""
    world.put(1, RECORD, queue="gq-short")
    job = open_job(1)
    assert job is not None
    act = order(Look(replace(job, queue="gq"), 4, "idle GPUs"), Elastic(), NOW, world.log, strict)
    assert (act.did, act.text) == ("refused", "the rules refuse it: gq-short takes 2") and world.read()["calls"] == []

    world.put(1, ORDERED, "PENDING", queue="gq-short")
    world.put(2, ORDERED, "PENDING", moves="gq-short")
    world.put(3, ORDERED, "PENDING")
    assert world.settle(ruled=strict) == [
        ("refused", 1), ("released", 1), ("refused", 1), ("released", 1), ("changed", 4), ("released", 4),
    ]  # fmt: skip
    found = world.read()["jobs"]
    assert [found[one]["tres"] for one in "123"] == ["gres:gpu:1", "gres:gpu:1", "gres:gpu:4"]


FAULTS = ("fails", "garbage", "empty", "hangs")
#: (a call that is made for job 2 alone, as it is before, faults after which it is named)
CALLS: list[tuple[str, str, tuple[str, ...]]] = [
    ("squeue -a -h -j 2", "PENDING", FAULTS),
    ("squeue -a -h -j 2", "RUNNING", FAULTS),
    ("scontrol update JobId=2 Gres=gpu:4", "PENDING", FAULTS),
    ("scontrol release 2", "PENDING", FAULTS),
    ("scontrol update JobId=2", "RUNNING", FAULTS),
]


def asked(call: str, fault: str, words: Sequence[str], timeout: float = TIMEOUT, seal: str = "") -> str:
    """As ask(), which does not wait for a call that hangs; for others it does, however busy the machine is."""
    hangs = fault == "hangs" and f"{' '.join(words)} ".startswith(f"{call} ")
    return ask(words, 0.2 if hangs else timeout, seal)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("call", "state", "named"), CALLS, ids=[f"{call}, {state}" for call, state, _ in CALLS])
def test_one_job_never_stops_the_rest(
    world: World, monkeypatch: pytest.MonkeyPatch, call: str, state: str, named: tuple[str, ...], fault: str
) -> None:
    for module in (elastic_jobs, squeue):
        monkeypatch.setattr(module, "ask", partial(asked, call, fault))
    for number in (1, 2, 3):
        world.put(number, ORDERED, state, gpus=4 if state == "RUNNING" else 1)
    world.write(None, **{call.replace(" ", "_"): fault})
    acts = world.acts()
    found = world.read()["jobs"]
    assert [found[one]["comment"] for one in "13"] == [LEFT, LEFT] and {found[one]["reason"] for one in "13"} == {
        "None"
    }
    assert {act.job.job_id for act in acts if act.did == "refused"} == ({2} if fault in named else set())
    world.write(None)
    for module in (elastic_jobs, squeue):
        monkeypatch.setattr(module, "ask", ask)
    world.acts()
    assert world.read()["jobs"]["2"]["reason"] == "None", "the next run has it as the others"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", ["squeue -a -h -j 2", "scontrol update JobId=2"])
def test_one_order_never_stops_the_rest(world: World, monkeypatch: pytest.MonkeyPatch, call: str, fault: str) -> None:
    for module in (elastic_jobs, squeue):
        monkeypatch.setattr(module, "ask", partial(asked, call, fault))
    for number in (1, 2, 3):
        world.put(number)
    jobs = open_jobs()
    world.write(None, **{call.replace(" ", "_"): fault})
    acts = [order(Look(job, 4, "idle GPUs"), Elastic(), NOW, world.log, free) for job in jobs]
    assert [act.did for act in acts] == ["ordered", "refused", "ordered"]
    assert ["el1:gpus=4" in job["comment"] for job in world.read()["jobs"].values()] == [True, False, True]


def test_a_job_of_which_squeue_says_nonsense_is_named(world: World) -> None:
    world.put(1, ORDERED, "PENDING", limit="1:xx")
    world.put(2, ORDERED, "PENDING")
    acts = world.acts()
    assert [(act.did, act.job.job_id) for act in acts] == [("refused", 1), ("changed", 2), ("released", 2)]
    assert "1:xx" in acts[0].text and "1:xx" in keeps(acts[0].job, Elastic(), NOW)


@pytest.mark.parametrize("after", range(4))
def test_slurmctld_goes_away_after_each_step_and_the_next_run_ends_it(world: World, after: int) -> None:
    world.put(1, ORDERED, "PENDING")
    world.write(after)
    world.settle()
    taken = len(world.read()["calls"])
    assert taken == min(after, 3)
    world.write(None)
    world.settle()
    job = world.read()["jobs"]["1"]
    assert (job["reason"], job["comment"]) == ("None", LEFT if after < 2 or after == 3 else job["comment"])
    assert job["tres"] == "gres:gpu:4"


def test_what_cannot_be_recorded_is_not_done(world: World) -> None:
    world.put(1, ORDERED, "PENDING")
    world.log = world.log / "folder" / "acts.jsonl"
    world.log.parent.parent.write_text("a file")
    with pytest.raises(Exception, match="couldn't record actions"):
        world.settle()
    assert world.read()["calls"] == []


@pytest.mark.parametrize(
    ("state", "done", "comment"),
    [("RUNNING", ["revoked"], LEFT), ("PENDING", ["released"], LEFT)],
)
def test_an_order_is_taken_back(world: World, state: str, done: list[str], comment: str) -> None:
    world.put(1, ORDERED, state)
    job = open_job(1)
    assert job is not None
    assert [act.did for act in revoke(job, Elastic(), world.log)] == done
    found = world.read()["jobs"]["1"]
    assert (found["comment"], found["tres"], found["reason"]) == (comment, "gres:gpu:1", "None")
