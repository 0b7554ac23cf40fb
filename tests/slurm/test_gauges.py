"""What a cluster has and what its jobs ask for, added up."""

from __future__ import annotations

import pytest

from adminkit.slurm.gauges import AccountShare, Load, Stock, loads, parse_shares, states_of, stocks
from adminkit.slurm.room import RoomNode, Vector
from adminkit.slurm.squeue import QueuedJob

GIB = 1 << 30


def queued(listed: str, state: str = "PENDING", **more: object) -> QueuedJob:
    given = {"queue": "gq", "account": "physics", "tres": "cpu=4,mem=8G,node=1,gres/gpu=2", "reason": "(Priority)"}
    return QueuedJob(submit_time=1, listed_id=listed, state=state, **{**given, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("jobs", "expected", "why"),
    [
        ([], [], "no job"),
        ([queued("1", "RUNNING")], [("gq", "physics", "running", 1, 4, 8 * GIB, 2, 0)], "one that runs"),
        ([queued("1_[0-799]")], [("gq", "physics", "waiting", 800, 3200, 6400 * GIB, 1600, 0)], "800 tasks that wait"),
        ([queued("1_[0-9%2]")], [("gq", "physics", "waiting", 10, 40, 80 * GIB, 20, 0)], "with a limit of the array's"),
        ([queued("1_[0-4,...]")], [("gq", "physics", "waiting", 1, 4, 8 * GIB, 2, 1)], "a list that Slurm cut short"),
        ([queued("1", reason="(JobHeldUser)"), queued("2", reason="Dependency")],
         [("gq", "physics", "held", 2, 8, 16 * GIB, 4, 0)], "they wait for no node"),
        ([queued("1", queue="gq,short")], [("gq", "physics", "waiting", 1, 4, 8 * GIB, 2, 0)], "its first queue"),
        ([queued("1"), queued("2", account="art")],
         [("gq", "physics", "waiting", 1, 4, 8 * GIB, 2, 0), ("gq", "art", "waiting", 1, 4, 8 * GIB, 2, 0)],
         "two accounts"),
        ([queued("1", tres="cpu=4,node=1")], [("gq", "physics", "waiting", 1, 4, None, 0, 0)],
         "memory that it did not ask for is not known"),
        ([queued("1"), queued("2", tres=None)], [("gq", "physics", "waiting", 2, 4, None, None, 0)],
         "what is not known of one is not known of all"),
        ([queued("1", "COMPLETED")], [], "it has ended"),
    ],
)  # fmt: skip
def test_jobs_are_added_up(jobs: list[QueuedJob], expected: list[tuple[object, ...]], why: str) -> None:
    assert loads(jobs, tracked=True) == [Load(*one) for one in expected], why  # type: ignore[arg-type]


def test_gpus_that_accounting_does_not_track_are_not_known() -> None:
    (one,) = loads([queued("1", tres="cpu=4,mem=8G,node=1")], tracked=False)
    assert (one.cpus, one.gpus) == (4, None)


def node(taken: int = 0, **more: object) -> RoomNode:
    has, used = Vector(8, 64 * GIB, {"a100": 4}), Vector(taken, taken * GIB, {"a100": taken // 2})
    return RoomNode("n1", has, used, frozenset({"gq"}), "IDLE", **more)  # type: ignore[arg-type]


def test_nodes_are_counted_by_what_they_can_do() -> None:
    nodes = [node(), node(4), node(8), node(away="drained"), node(8, away="drained"), node(power="asleep")]
    assert states_of(nodes) == {"idle": 1, "mixed": 1, "allocated": 1, "drained": 2, "asleep": 1}


def test_what_a_drained_node_still_gives_to_jobs_is_in_use() -> None:
    cpus, mem, gpus = stocks([node(4), node(2, away="drained"), node()])
    assert (cpus, mem) == (Stock(6, 12, 6), Stock(6 * GIB, 124 * GIB, 62 * GIB))
    assert gpus == {"a100": Stock(3, 6, 3)}


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("root||0.000000|0.000000|\n physics||0.5|0.25|2.0\n  physics|ann|1|1|1\n",
         [AccountShare("root", 0.0, 0.0, None), AccountShare("physics", 0.5, 0.25, 2.0)], "users have a name"),
        ("physics||0.5|0.25|inf\n", [AccountShare("physics", 0.5, 0.25, None)], "inf cannot be drawn"),
        ("physics||0.5\n\nx\n", [], "no line of sshare's"),
    ],
)  # fmt: skip
def test_accounts_have_shares(text: str, expected: list[AccountShare], why: str) -> None:
    assert list(parse_shares(text)) == expected, why
