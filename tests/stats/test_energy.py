"""The energy of runs: what counts, what is impossible, who shared, what idle GPUs drew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job, Step
from adminkit.stats.energy import Group, energy
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, job
from tests.support.energies import NODES, make_metered
from tests.support.uses import jobstats, make_used, step_of

KWH = 3_600_000
ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


def measured(path: Path, jobs: list[Job], steps: list[Step] | None = None, part: str = "queue") -> Group:
    with reader(make_used(path / "t.db", jobs, steps or [], NODES)) as db:
        return energy(db, ALL, part, 20_000.0).overall


@pytest.mark.parametrize(
    ("changes", "expected", "why"),
    [
        ({"energy": KWH}, {"measured": 1, "joules": KWH, "node_seconds": HOUR}, "an hour at a kilowatt"),
        ({"energy": 0}, {"measured": 0, "joules": 0}, "0 is what slurmdbd keeps where nothing measures"),
        ({"energy": None}, {"measured": 0, "joules": 0, "capped": 0}, "unknown is not zero"),
        ({"energy": 20_000 * HOUR}, {"measured": 1, "capped": 0}, "just what a node can draw"),
        ({"energy": 20_000 * HOUR + 1}, {"measured": 0, "capped": 1, "joules": 0}, "a joule more is impossible"),
        ({"energy": 40_000 * HOUR, "nodes": 2}, {"measured": 1, "capped": 0}, "two nodes draw twice as much"),
        ({"energy": 1 << 62}, {"capped": 1, "joules": 0}, "the sentinel of a counter that overflowed"),
        ({"energy": KWH, "elapsed": 0}, {"jobs": 0, "measured": 0}, "what never ran used nothing"),
        ({"energy": KWH, "state": "FAILED"}, {"measured": 1}, "energy is used however a job ends"),
        ({"energy": KWH, "nodes": None, "req_nodes": None}, {"measured": 1, "node_seconds": HOUR}, "one node at least"),
    ],
)
def test_which_joules_count(tmp_path: Path, changes: dict[str, Any], expected: dict[str, float], why: str) -> None:
    given = {"elapsed": HOUR, "cpus": 64, "node_list": "gn1", **changes}
    found = measured(tmp_path, [job(1, **given)])
    assert {name: getattr(found, name) for name in expected} == expected, why


@pytest.mark.parametrize(
    ("changes", "shared", "unsure", "why"),
    [
        ({"cpus": 64, "node_list": "gn1"}, 0, 0, "all CPUs of its node"),
        ({"cpus": 63, "node_list": "gn1"}, 1, 0, "a CPU was left for others"),
        ({"cpus": 128, "node_list": "gn[1-2]", "nodes": 2}, 0, 0, "all CPUs of both"),
        ({"cpus": 64, "node_list": "gn[1-2]", "nodes": 2}, 1, 0, "half of both"),
        ({"cpus": 64, "node_list": "gn[1-3]", "nodes": 3}, 0, 1, "a node of which nothing is known"),
        ({"cpus": 64, "node_list": None}, 0, 1, "the nodes are not known"),
        ({"cpus": None, "req_cpus": None, "node_list": "gn1"}, 0, 1, "the CPUs are not known"),
        ({"cpus": 64, "node_list": "gn["}, 0, 1, "no list of hosts"),
    ],
)
def test_who_shared_a_node(tmp_path: Path, changes: dict[str, Any], shared: int, unsure: int, why: str) -> None:
    found = measured(tmp_path, [job(1, **{"elapsed": HOUR, "energy": KWH, **changes})])
    assert (found.shared, found.unsure) == (shared, unsure), why
    assert found.shared_joules == (KWH if shared else 0), why


def told(percent: float) -> str:
    return jobstats({"n1": {"gpu_utilization": {"0": percent}}})


@pytest.mark.parametrize(
    ("gpus", "busy", "comment", "idle", "why"),
    [
        (1, 0.0, None, 1, "Slurm saw it idle"),
        (1, 0.0099, None, 1, "just below a hundredth"),
        (1, 0.01, None, 0, "a hundredth is not idle"),
        (4, 0.02, None, 1, "of four GPUs that is half a per cent"),
        (1, None, None, 0, "nobody looked"),
        (1, 1.0, told(0), 1, "what Jobstats says counts before"),
        (0, 0.0, None, 0, "there is no GPU to be idle"),
    ],
)
def test_what_idle_gpus_drew(
    tmp_path: Path, gpus: int, busy: float | None, comment: str | None, idle: int, why: str
) -> None:
    one = job(1, elapsed=HOUR, energy=KWH, gpus=gpus, admin_comment=comment)
    found = measured(tmp_path, [one], [step_of(one, gpus_used=busy)])
    assert (found.idle, found.idle_joules) == (idle, KWH * idle), why
    assert found.gpu_seconds == gpus * HOUR, why


def test_groups_add_up_and_the_hungriest_comes_first(tmp_path: Path) -> None:
    with reader(make_metered(tmp_path / "t.db")) as db:
        by = {part: energy(db, ALL, part, 20_000.0) for part in ("queue", "user", "account", "class", "name")}
    for found in by.values():
        assert found.overall.joules == 20 * KWH == sum(group.joules for group in found.groups)
        assert (found.overall.jobs, found.overall.measured, found.overall.capped) == (9, 6, 1)
    assert [(group.value, group.joules / KWH) for group in by["queue"].groups] == [
        ("gq", 16), ("cpu", 4), ("gq-short", 0),
    ]  # fmt: skip
