"""What node vectors say, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.fit.place import board, by_vectors, free_for, take
from adminkit.fit.request import Request, request
from adminkit.fit.running import running
from adminkit.slurm.room import Reserved, Room, RoomJob, Vector
from tests.fit.rooms import HOUR, MIB, NOW, job, make, node, taken

SIX, FOUR = job(1, "n1", gpus=6), job(2, "n2", gpus=4)
HALF = [node("n1", taken(SIX)), node("n2", taken(FOUR))]
HEAD = job(3, "n2", "PENDING", gpus=8, starts=NOW + HOUR, reason="Resources")


@pytest.mark.parametrize(
    ("room", "asked", "word", "at", "why", "explained"),
    [
        (make(HALF, SIX, FOUR), {"gpus": "4"}, "now", NOW, "", "one node has it"),
        (make(HALF, SIX, FOUR), {"gpus": "6"}, "later", NOW + HOUR, "busy", "six are free, on two nodes"),
        (make(HALF, SIX, FOUR), {"gpus": "9"}, "never", None, "size", "no node has nine"),
        (make(HALF, SIX, FOUR), {"gpus": "a100:1"}, "never", None, "size", "no such type"),
        (make(HALF, SIX, FOUR), {"cpus": 8}, "later", NOW + HOUR, "busy", "a CPU of each is taken"),
        (make(HALF, SIX, FOUR), {"mem": "63500M"}, "now", NOW, "", "to the last MiB"),
        (make(HALF, SIX, FOUR), {"mem": "63501M"}, "later", NOW + HOUR, "busy", "one MiB more"),
        (make(HALF, SIX, FOUR), {"time": "4321"}, "never", None, "limit", "above MaxTime"),
        (make(HALF, SIX, FOUR), {"queue": "gx"}, "never", None, "queue", "no such queue"),
        (make(HALF, SIX, FOUR, up=False), {}, "later", None, "queue", "the queue is down"),
        (make(HALF, SIX, FOUR, whole=True), {}, "later", NOW + HOUR, "busy", "jobs take whole nodes"),
        (make(HALF, SIX, FOUR, max_mem_cpu=1000 * MIB), {"mem": "8000M"}, "later", NOW + HOUR, "busy", "CPUs"),
        (make(HALF, SIX, FOUR, default_mem_cpu=None), {}, "later", NOW + HOUR, "busy", "no default: all of the memory"),
        (make(HALF, replace(SIX, ends=None), replace(FOUR, ends=None)), {"gpus": "8"}, "later", None, "hidden", "-"),
        (make(HALF), {"gpus": "8"}, "later", None, "hidden", "jobs that are hidden"),
        (make(HALF, SIX, FOUR, HEAD), {"gpus": "4", "time": "60"}, "now", NOW, "", "ends before the head starts"),
        (make(HALF, SIX, FOUR, HEAD), {"gpus": "4", "time": "61"}, "later", NOW + HOUR, "priority", "n1 is free then"),
        (make([node("n1", away="drained"), node("n2", away="down")]), {}, "later", None, "drained", "no node is up"),
        (make([node("n1")], reserved=(Reserved("m", frozenset({"n1"}), NOW + HOUR, NOW + 2 * HOUR),)),
         {"time": "61"}, "later", NOW + 2 * HOUR, "reserved", "a maintenance comes"),
        (make([node("n1")], reserved=(Reserved("m", frozenset({"n1"}), NOW + HOUR, NOW + 2 * HOUR),)),
         {"time": "60"}, "now", NOW, "", "ends before it"),
        (make([node("n1", has=Vector(8, 64_000 * MIB, {"a100": 4, "v100": 4}), taken=Vector(1, 0, {"a100": 4}))]),
         {"gpus": "a100:1"}, "later", None, "hidden", "four are free, of the other type"),
        (make([node("n1", has=Vector(8, 64_000 * MIB, {"a100": 4, "v100": 4}), taken=Vector(1, 0, {"a100": 4}))]),
         {"gpus": "4"}, "now", NOW, "", "of any type"),
        (make([node("n1", threads=2, taken=Vector(2, 0))]), {"cpus": 7}, "later", None, "hidden", "whole cores"),
    ],
)  # fmt: skip
def test_a_request_is_now_later_or_never(
    room: Room, asked: dict[str, object], word: str, at: int | None, why: str, explained: str
) -> None:
    said = by_vectors(board(room), request(**asked))  # type: ignore[arg-type]
    assert (said.word, said.at, said.why) == (word, at, why), (explained, said)


def test_a_waiting_job_that_nobody_planned_is_placed_first() -> None:
    waiting = job(3, "", "PENDING", gpus=8)
    room = make([node("n1")], waiting)
    assert by_vectors(board(room), Request(gpus=8)).at == NOW + 2 * HOUR
    assert by_vectors(board(room), Request(gpus=8), waiting=False).word == "now"
    for reason in ("Dependency", "JobHeldUser", "QOSMaxGRESPerUser", "BeginTime"):
        held = make([node("n1")], replace(waiting, reason=reason))
        assert by_vectors(board(held), Request(gpus=8)).word == "now", reason


def test_a_job_of_two_nodes_that_waits_keeps_both_from_when_both_are_free() -> None:
    one, two = job(1, "n1", gpus=8), job(3, "", "PENDING", gpus=8, many=2)
    room = make([node("n1", taken(one)), node("n2")], one, two)
    full = board(room)
    assert by_vectors(full, Request(gpus=8, time_limit=HOUR)).word == "now", "before both"
    assert by_vectors(full, Request(gpus=8, time_limit=HOUR + 60)).at == NOW + 3 * HOUR


def test_how_long_the_room_lasts_is_the_longest_limit() -> None:
    full = board(make(HALF, SIX, FOUR, HEAD))
    assert free_for(full, Request(gpus=4)) == HOUR
    assert free_for(full, Request(gpus=2)) == 72 * HOUR, "n1 until the queue's maximum"
    assert free_for(full, Request(gpus=5)) == 0


def test_what_is_taken_is_taken_on_one_node_and_the_first_board_stays() -> None:
    first = board(make(HALF, SIX, FOUR))
    second = take(first, Request(gpus=4, time_limit=HOUR))
    assert second is not None
    assert (by_vectors(first, Request(gpus=4)).word, by_vectors(second, Request(gpus=4)).word) == ("now", "later")
    assert by_vectors(second, Request(gpus=2)).word == "now", "on the other node"
    assert take(second, Request(gpus=4)) is None


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 8), st.integers(1, 60)), max_size=12),
    st.integers(0, 9),
    st.integers(1, 9),
)
def test_what_is_now_fits_beside_all_that_runs_and_waits(
    jobs: list[tuple[int, int, int]], gpus: int, cpus: int
) -> None:
    """Jobs that were taken one by one leave no node below zero, and the request that is now fits beside them."""
    full, here = board(make([node("n1"), node("n2")])), {"n1": [0, 0], "n2": [0, 0]}
    for many, each, minutes in (*jobs, (gpus, cpus, 30)):
        asked = Request(gpus=many, cpus=each, time_limit=minutes * 60)
        said, after = by_vectors(full, asked), take(full, asked)
        assert (after is None) == (said.word != "now")
        fits = [name for name, used in here.items() if used[0] + many <= 8 and used[1] + each <= 8]
        assert bool(fits) == (said.word == "now"), (here, asked, said)
        if after is not None:
            full = after
            here[said.nodes[0]][0] += many
            here[said.nodes[0]][1] += each


ONE = job(3, "n1", gpus=1, ends=NOW + 3 * HOUR)
PAIR = (job(1, "n1 n2", gpus=3, cpus=3), job(2, "n1 n2", gpus=2, cpus=2, ends=NOW + 2 * HOUR))


@pytest.mark.parametrize(
    ("jobs", "cpus", "gpus", "free", "why"),
    [
        ([*PAIR, ONE], 6, 6, [2, 5, 7, 8], "each until its own end"),
        ([*PAIR, ONE], 7, 7, [1, 7, 8], "of two that are not even, the one that ends last has the rest"),
        ([ONE], 1, 1, [7, 8], "one job"),
        ([ONE], 1, 7, [1, 2], "nobody shows the others"),
    ],
)
def test_gpus_of_a_typed_node_count_once_where_jobs_have_them_without_a_type(
    jobs: list[RoomJob], cpus: int, gpus: int, free: list[int], why: str
) -> None:
    """AccountingStorageTRES=gres/gpu says no type, Gres=gpu:p100:8 does."""
    has, used = Vector(8, 64_000 * MIB, {"p100": 8}), Vector(cpus, len(jobs) * 500 * MIB, {"p100": gpus})
    typed = node("n1", used, has=has)
    found = running(typed, make([typed, node("n2")], *jobs), jobs).steps()
    assert list(dict.fromkeys(sum(vector.gpus.values()) for _, vector in found)) == free, why
