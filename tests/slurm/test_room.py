"""Nodes, queues, reservations and open jobs as node vectors need them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.slurm.release import OLDEST, Release
from adminkit.slurm.room import RoomNode, Vector, fields, parse_jobs, parse_nodes, parse_queues, parse_reserved
from adminkit.slurm.seal import Marks

DATA = Path(__file__).parents[1] / "data" / "slurm"
MIB, NOW = 1 << 20, 1_700_000_000
MARKS = Marks("\x1fAb-_9zZ0", "x0123456789abcdef")


def test_a_node_is_what_it_has_and_what_is_taken() -> None:
    found = {one.name: one for one in parse_nodes((DATA / "nodes-detail-22.05.txt").read_text())}
    assert found["n1"].has == Vector(8, 64_000 * MIB, {"gpu": 8})
    assert found["n1"].taken == Vector(1, 500 * MIB, {"gpu": 8})
    assert (found["n3"].away, found["n3"].reason, found["n1"].away) == ("drained", "bad", "")


@pytest.mark.parametrize(
    ("state", "away"),
    [
        ("IDLE", ""), ("MIXED+PLANNED", ""), ("ALLOCATED+COMPLETING", ""), ("IDLE+RESERVED", ""),
        ("IDLE+DRAIN", "drained"), ("DOWN*+DRAIN", "drained"), ("IDLE*", "down"), ("DOWN", "down"),
        ("DOWN+CLOUD+POWERED_DOWN", "down"), ("IDLE+FAIL", "drained"), ("UNKNOWN", "down"),
        ("IDLE+INVALID_REG", "down"), ("MIXED+MAINTENANCE", ""),
    ],
)  # fmt: skip
def test_states_that_keep_jobs_away(state: str, away: str) -> None:
    (one,) = parse_nodes(f"NodeName=n1 CPUTot=8 State={state} Partitions=gq\n")
    assert one.away == away


def test_what_an_operator_wrote_is_no_word_of_slurms() -> None:
    text = "NodeName=n1 CPUAlloc=0 CPUEfctv=6 CPUTot=8 Gres=gpu:a100:2(S:0) GresUsed=gpu:a100:1(IDX:0) RealMemory=1000 "
    text += "AllocMem=0 State=IDLE ThreadsPerCore=2 MemSpecLimit=100 Reason=x CPUTot=99 State=DOWN\nNodeName= forged\n"
    one = next(parse_nodes(text))
    assert one == RoomNode(
        "n1", Vector(6, 900 * MIB, {"a100": 2}), Vector(0, 0, {"a100": 1}), frozenset(), "IDLE", "", "x", 2
    )


def test_a_queue_has_its_own_memory_or_slurm_confs() -> None:
    line = "PartitionName=gq Default=YES DefaultTime=01:00:00 MaxTime=UNLIMITED State=UP QoS=N/A"
    own, without = f"{line} DefMemPerNode=2000 MaxMemPerNode=UNLIMITED\n", f"{line} DefMemPerNode=UNLIMITED\n"
    (one,) = parse_queues(own, {"DefMemPerCPU": "500"})
    assert (one.default_mem_node, one.default_mem_cpu, one.max_limit) == (2000 * MIB, None, None)
    (one,) = parse_queues(without, {"DefMemPerCPU": "500", "MaxMemPerCPU": "800"})
    assert (one.default_mem_node, one.default_mem_cpu, one.max_mem_cpu) == (None, 500 * MIB, 800 * MIB)


def test_reservations_count_from_now_on_and_again() -> None:
    def text(start: int, flags: str = "MAINT") -> str:
        return f"ReservationName=m StartTime={start} EndTime={start + 60} Nodes=n[1-2] Flags={flags}\n"

    assert [one.starts for one in parse_reserved(text(NOW + 5), NOW)] == [NOW + 5]
    assert [one.starts for one in parse_reserved(text(NOW - 5), NOW)] == [NOW - 5]
    assert [one.starts for one in parse_reserved(text(NOW - 5, "DAILY"), NOW)] == [NOW - 5, NOW - 5 + 86_400]
    assert next(parse_reserved(text(NOW), NOW)).nodes == {"n1", "n2"}
    assert list(parse_reserved("No reservations in the system\n", NOW)) == []


def test_a_job_s_part_of_each_node_is_even_and_lines_of_others_are_passed_over() -> None:
    cells = ("7", "7", "RUNNING", "gq", "n[1-2]", "(null)", "cpu=3,mem=1000M,node=2,gres/gpu=16", "2", "1:00:00")
    more = (
        f"{NOW}{MARKS.seal}",
        f"{NOW + 3600}{MARKS.seal}",
        "1000",
        "None",
        "5",
        "physics",
        "normal",
        f"{NOW - 60}{MARKS.seal}",
        "a100&nvme",
        "fluent:2",
        "NO",
        "(null)",
        f"{NOW - 60}{MARKS.seal}",
    )
    line = "".join(f"{cell:<20}{MARKS.delimiter}" for cell in (*cells, *more))
    forged = line.replace(MARKS.seal, "")
    assert list(parse_jobs(forged, MARKS, OLDEST)) == [], "whoever read the delimiter does not know the seal"
    (one,) = parse_jobs(f"CLUSTER: alpha\nforged|line\n{line}\n", MARKS, OLDEST)
    assert (one.nodes, one.each, one.ends) == (("n1", "n2"), Vector(2, 500 * MIB, {"gpu": 8}), NOW + 3600)
    assert one.eligible_time == NOW - 60
    assert (one.even, one.features, one.licences, one.exclusive) == (False, "a100&nvme", "fluent:2", True)
    assert not one.reservation
    assert len(fields(OLDEST)) == len(cells) + len(more)


@pytest.mark.parametrize(
    ("words", "gpus", "why"),
    [
        ("GresUsed=gpu:a100:1(IDX:0) AllocTRES=gres/gpu=2", {"a100": 1}, "what Slurm says is used"),
        ("GresUsed=(null) AllocTRES=", {}, "nothing"),
        ("AllocTRES=cpu=1,gres/gpu=3,gres/gpu:a100=2", {"a100": 2, "gpu": 1}, "by accounting, as far as it has types"),
        ("AllocTRES=cpu=1", {}, "no GPUs"),
    ],
)
def test_gpus_in_use_are_slurms_or_accountings(words: str, gpus: dict[str, int], why: str) -> None:
    (one,) = parse_nodes(f"NodeName=n1 CPUTot=8 State=IDLE {words}\n")
    assert one.taken.gpus == gpus, why


@pytest.mark.parametrize(
    ("tres", "many", "even", "why"),
    [
        ("cpu=4,mem=1000M,node=2,gres/gpu=4", "2-2", True, "two of each"),
        ("cpu=12,mem=6000M,node=1", "2", False, "-n 12: squeue guesses two nodes, TRES has one"),
        ("cpu=3,mem=1000M,node=2", "2-2", False, "three tasks on two nodes"),
        ("cpu=1,mem=500M,node=1", "1-1", True, "one node"),
    ],
)
def test_whether_a_job_that_waits_asks_for_the_same_of_each_node(tres: str, many: str, even: bool, why: str) -> None:
    cells = ["7", "7", "PENDING", "gq", "", "(null)", tres, many, "1:00:00", f"0{MARKS.seal}", f"0{MARKS.seal}", "5"]
    cells += [
        "Priority",
        "5",
        "physics",
        "normal",
        f"0{MARKS.seal}",
        "(null)",
        "(null)",
        "OK",
        "soon",
        f"0{MARKS.seal}",
    ]
    (one,) = parse_jobs("".join(f"{cell:<20}{MARKS.delimiter}" for cell in cells), MARKS, OLDEST)
    assert (one.even, one.reservation, one.exclusive) == (even, "soon", False), why


def test_features_are_those_that_a_node_has_now_and_those_it_may_have() -> None:
    (one,) = parse_nodes("NodeName=n1 CPUTot=8 State=IDLE AvailableFeatures=a,b,c ActiveFeatures=a,b\n")
    assert (one.features, one.features_else) == ({"a", "b"}, {"c"})
    (one,) = parse_nodes("NodeName=n1 CPUTot=8 State=IDLE AvailableFeatures=(null) ActiveFeatures=(null)\n")
    assert (one.features, one.features_else) == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("release", "field", "said", "whole"),
    [
        ((22, 5, 8), "OverSubscribe", "NO", True),
        ((24, 11, 5), "OverSubscribe", "OK", False),
        ((26, 5, 5), "Exclusive", "NODE", True),
        ((26, 5, 5), "Exclusive", "NO", False),
        ((22, 5, 8), "OverSubscribe", "USER", False),
    ],
)
def test_whether_a_job_asks_for_whole_nodes_is_another_field_in_later_releases(
    release: Release, field: str, said: str, whole: bool
) -> None:
    cells = ["7", "7", "PENDING", "gq", "", "(null)", "cpu=1,node=1", "1-1", "1:00:00", f"0{MARKS.seal}"]
    cells += [
        f"0{MARKS.seal}",
        "5",
        "Priority",
        "5",
        "physics",
        "normal",
        f"0{MARKS.seal}",
        "(null)",
        "(null)",
        said,
        "",
        f"0{MARKS.seal}",
    ]
    line = "".join(f"{cell:<20}{MARKS.delimiter}" for cell in cells)
    assert field in fields(release)
    assert [(one.exclusive, one.apart) for one in parse_jobs(line, MARKS, release)] == [(whole, said == "USER")]
