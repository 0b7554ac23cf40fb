"""The steps of a change, and what is left where slurmctld, or we, are away between two of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Elastic
from adminkit.elastic.plan import Look
from adminkit.elastic.resize import order, revoke, settle
from adminkit.elastic.words import MARGIN
from adminkit.slurm.elastic_jobs import HELD, open_job, open_jobs
from tests.elastic.jobs import RECORD
from tests.fit.rooms import HOUR, NOW
from tests.support.fakes import Programs

FAKE = Path(__file__).with_name("fake_slurm.py")
ORDERED = f"{RECORD} el1:gpus=4,until={NOW + 900} mine"


class World:
    """What the fake slurmctld has; `log` are our acts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.log = folder / "world", folder / "acts.jsonl"
        programs = Programs(folder / "bin", monkeypatch)
        monkeypatch.setenv("FAKE_SLURM", str(self.place))
        for name in ("squeue", "scontrol"):
            programs.add(name, f'exec {sys.executable} {FAKE} {name} "$@"')
        self.jobs: dict[str, dict[str, Any]] = {}

    def put(self, number: int, comment: str = RECORD, state: str = "RUNNING", gpus: int = 1, **more: str) -> None:
        held = state == "PENDING"
        given = {"nodes": "" if held else "n1", "reason": HELD if held else "None", "name": "train", **more}
        self.jobs[str(number)] = {"state": state, "tres": f"gres:gpu:{gpus}", "comment": comment, **given}
        self.write(None)

    def write(self, fails: int | None) -> None:
        self.place.write_text(json.dumps({"jobs": self.jobs, "fails": fails, "calls": []}))

    def read(self) -> Any:
        world = json.loads(self.place.read_text())
        self.jobs = world["jobs"]
        return world

    def settle(self, now: int = NOW) -> list[tuple[str, int | None]]:
        return [(act.did, act.gpus) for act in settle(open_jobs(), now, HOUR, self.log)]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_an_order_is_a_word_behind_all_others(world: World) -> None:
    world.put(1, f"{RECORD} mine  two")
    job = open_job(1)
    assert job is not None
    act = order(Look(job, 4, "idle GPUs"), Elastic(), NOW, world.log)
    assert (act.did, act.gpus) == ("ordered", 4)
    assert world.read()["jobs"]["1"]["comment"] == f"{RECORD} mine  two el1:gpus=4,until={NOW + 900}"
    recorded = json.loads(world.log.read_text())
    assert (recorded["what"], recorded["did"], recorded["job"], recorded["had"]) == ("elastic", "ordered", 1, 1)


@pytest.mark.parametrize(
    ("comment", "state", "gpus", "to", "said"),
    [
        ("mine", "RUNNING", 1, 4, "did not opt in"),
        (RECORD, "RUNNING", 1, 16, "1 to 8"),
        (RECORD, "RUNNING", 4, 4, "as many"),
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
    act = order(Look(job, to, "it was so when the plan was made"), Elastic(), NOW, world.log)
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
]


@pytest.mark.parametrize(("comment", "state", "gpus", "now", "done", "calls", "why"), SETTLED)
def test_what_was_begun_is_carried_on(
    world: World, comment: str, state: str, gpus: int, now: int, done: list[Any], calls: int, why: str
) -> None:
    world.put(1, comment, state, gpus)
    assert world.settle(now) == done, why
    found = world.read()
    assert len(found["calls"]) == calls, why
    assert found["jobs"]["1"]["comment"] == (f"{RECORD} mine" if done else comment), why


@pytest.mark.parametrize("reason", ["JobHeldUser", "JobHeldAdmin"])
def test_who_holds_a_job_keeps_it_held(world: World, reason: str) -> None:
    world.put(1, ORDERED, "PENDING", reason=reason)
    assert world.settle() == [] and world.read()["calls"] == []


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
    assert (job["reason"], job["comment"]) == ("None", f"{RECORD} mine" if after < 2 or after == 3 else job["comment"])
    assert job["tres"] == "gres:gpu:4"


def test_what_cannot_be_recorded_is_not_done(world: World) -> None:
    world.put(1, ORDERED, "PENDING")
    world.log = world.log / "folder" / "acts.jsonl"
    world.log.parent.parent.write_text("a file")
    with pytest.raises(Exception, match="couldn't record acts"):
        world.settle()
    assert world.read()["calls"] == []


@pytest.mark.parametrize(
    ("state", "done", "comment"),
    [("RUNNING", ["revoked"], f"{RECORD} mine"), ("PENDING", ["released"], f"{RECORD} mine")],
)
def test_an_order_is_taken_back(world: World, state: str, done: list[str], comment: str) -> None:
    world.put(1, ORDERED, state)
    job = open_job(1)
    assert job is not None
    assert [act.did for act in revoke(job, world.log)] == done
    found = world.read()["jobs"]["1"]
    assert (found["comment"], found["tres"], found["reason"]) == (comment, "gres:gpu:1", "None")
