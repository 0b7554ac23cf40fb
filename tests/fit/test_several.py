"""Requests of several nodes, of features and of whole nodes, case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.errors import UsageError
from adminkit.fit.needs import parts_of
from adminkit.fit.place import board, by_vectors, free_for, take
from adminkit.fit.request import Request, request
from adminkit.slurm.room import Room, Vector
from tests.fit.rooms import HOUR, MIB, NOW, job, make, node, queue, taken

SIX, FOUR = job(1, "n1", gpus=6, cpus=6), job(2, "n2", gpus=4, cpus=2, ends=NOW + 2 * HOUR)
THREE = [node("n1", taken(SIX)), node("n2", taken(FOUR)), node("n3")]
FEATURED = [
    node("n1", features=frozenset({"a100", "big"})),
    node("n2", features=frozenset({"a100"}), features_else=frozenset({"big"})),
    node("n3", away="drained", features=frozenset({"v100"})),
]


def busy(**changes: Any) -> Room:
    return make(THREE, SIX, FOUR, **changes)


@pytest.mark.parametrize(
    ("room", "asked", "word", "at", "why", "explained"),
    [
        (busy(), {"nodes": "2", "gpus_per_node": "4"}, "now", NOW, "", "n2 and n3"),
        (busy(), {"nodes": "3", "gpus_per_node": "2"}, "now", NOW, "", "all three"),
        (busy(), {"nodes": "3", "gpus_per_node": "4"}, "later", NOW + HOUR, "busy", "when n1 is free"),
        (busy(), {"nodes": "3", "gpus_per_node": "8"}, "later", NOW + 2 * HOUR, "busy", "when all are free"),
        (busy(), {"nodes": "4"}, "never", None, "size", "there are three"),
        (busy(), {"nodes": "2", "gpus_per_node": "9"}, "never", None, "size", "no node has nine"),
        (busy(), {"nodes": "3", "cpus": 2}, "now", NOW, "", "n1 has two left"),
        (busy(), {"nodes": "3", "cpus": 3}, "later", NOW + HOUR, "busy", "three of each"),
        (busy(), {"nodes": "3", "ntasks_per_node": 3}, "later", NOW + HOUR, "busy", "the same by tasks"),
        (busy(), {"nodes": "2", "ntasks_per_node": 2, "cpus": 3}, "now", NOW, "", "six of n2 and n3"),
        (busy(), {"nodes": "2", "ntasks_per_node": 9}, "never", None, "size", "nine CPUs"),
        (busy(), {"ntasks": 16}, "now", NOW, "", "2 + 6 + 8 CPUs, as many nodes as it takes"),
        (busy(), {"ntasks": 17}, "later", NOW + HOUR, "busy", "one more"),
        (busy(), {"ntasks": 25}, "never", None, "size", "24 CPUs in all"),
        (busy(), {"ntasks": 4, "cpus": 3}, "now", NOW, "", "two tasks of three CPUs on n2, two on n3"),
        (busy(), {"ntasks": 5, "cpus": 3}, "unknown", None, "size", "15 of 16 CPUs, and no five tasks"),
        (busy(), {"ntasks": 6, "cpus": 3}, "later", NOW + HOUR, "busy", "by tasks and by CPUs"),
        (busy(), {"ntasks": 7, "cpus": 3}, "unknown", None, "size", "21 of 24 CPUs, and no seven tasks"),
        (busy(), {"ntasks": 9, "cpus": 3}, "never", None, "size", "27 CPUs"),
        (busy(), {"nodes": "2", "ntasks": 14}, "now", NOW, "", "6 + 8 on the two best"),
        (busy(), {"nodes": "2", "ntasks": 15}, "later", NOW + HOUR, "busy", "and no third"),
        (busy(), {"nodes": "3", "mem": "63500M"}, "now", NOW, "", "memory is of each node"),
        (busy(), {"nodes": "3", "mem": "63501M"}, "later", NOW + 2 * HOUR, "busy", "one MiB more"),
        (busy(), {"nodes": "2", "cpus": 4, "mem_per_cpu": "16000M"}, "later", NOW + HOUR, "busy", "all memory of two"),
        (busy(), {"nodes": "2", "cpus": 4, "mem_per_cpu": "15875M"}, "now", NOW, "", "to the last MiB"),
        (busy(max_mem_cpu=1000 * MIB), {"cpus": 1, "mem_per_cpu": "9000M"}, "never", None, "size", "nine CPUs"),
        (busy(), {"exclusive": True}, "now", NOW, "", "n3"),
        (busy(), {"nodes": "2", "exclusive": True}, "later", NOW + HOUR, "busy", "n1 is free then"),
        (busy(), {"exclusive": True, "cpus": 9}, "never", None, "size", "a whole node has eight"),
        (busy(), {"exclusive": True, "mem_per_cpu": "8001M"}, "never", None, "size", "memory for all its CPUs"),
        (busy(), {"exclusive": True, "mem_per_cpu": "8000M"}, "now", NOW, "", "n3 has that"),
        (busy(), {"exclusive": True, "ntasks": 8, "cpus": 3}, "unknown", None, "limit", "three tasks on eight CPUs"),
        (busy(whole=True), {"cpus": 9}, "never", None, "size", "the same in a queue of whole nodes"),
        (busy(max_nodes=1), {"nodes": "2"}, "never", None, "limit", "MaxNodes"),
        (busy(max_nodes=2), {"ntasks": 2}, "unknown", None, "limit", "it may take three"),
        (busy(min_nodes=2), {"nodes": "1"}, "never", None, "limit", "MinNodes"),
        (busy(max_cpus_node=4), {"nodes": "2", "cpus": 5}, "never", None, "limit", "MaxCPUsPerNode"),
        (busy(max_cpus_node=4), {"ntasks": 13}, "never", None, "size", "four of each of three"),
        (make([*THREE[:2], replace(THREE[2], away="drained")], SIX, FOUR), {"nodes": "3"}, "later", None, "drained",
         "no third is up"),
        (make(FEATURED), {"features": "a100"}, "now", NOW, "", "n1"),
        (make(FEATURED), {"features": "a100", "nodes": "2"}, "now", NOW, "", "both"),
        (make(FEATURED), {"features": "a100|v100", "nodes": "3"}, "later", None, "drained", "one is drained"),
        (make(FEATURED), {"features": "a100&v100"}, "never", None, "feature", "no node has both"),
        (make(FEATURED), {"features": "none"}, "never", None, "feature", "there is none of the name"),
        (make(FEATURED), {"features": "a100&big"}, "unknown", None, "feature", "n2 may after a reboot"),
        (make(FEATURED), {"features": "a100&big|v100"}, "unknown", None, "feature", "Slurm's order of & and |"),
        (make(FEATURED), {"features": "[a100|v100]"}, "unknown", None, "feature", "all of one"),
        (make(FEATURED), {"features": "a100*2"}, "unknown", None, "feature", "a count"),
    ],
)  # fmt: skip
def test_a_request_of_several_nodes_is_now_later_or_never(
    room: Room, asked: dict[str, Any], word: str, at: int | None, why: str, explained: str
) -> None:
    said = by_vectors(board(room), request(**{"time": "60", **asked}))
    assert (said.word, said.at, said.why) == (word, at, why), (explained, said)


def test_nodes_that_are_free_one_after_the_other_are_not_free_together() -> None:
    """n1 is free for an hour, then kept for another job; n2 is free from then on."""
    first, later = job(1, "n2", gpus=8), job(2, "n1", "PENDING", gpus=8, starts=NOW + HOUR, reason="Resources")
    now = board(make([node("n1"), node("n2", taken(first))], first, later))
    assert by_vectors(now, request(nodes="2", gpus_per_node="1", time="60")).at == NOW + 3 * HOUR
    assert by_vectors(now, request(gpus="1", time="60")).at == NOW


def test_jobs_that_wait_with_features_are_placed_on_nodes_that_have_them() -> None:
    nodes = [node("n1", features=frozenset({"a100"})), node("n2")]
    waits = job(3, "", "PENDING", gpus=8, features="a100")
    now = board(make(nodes, waits))
    assert by_vectors(now, Request(gpus=8, nodes=1)).nodes == ("n2",)
    assert by_vectors(now, request(gpus="1", features="a100")).at == NOW + 2 * HOUR


def test_a_waiting_job_of_whole_nodes_keeps_them_whole() -> None:
    waits = job(3, "", "PENDING", cpus=1, exclusive=True)
    assert by_vectors(board(make([node("n1")], waits)), Request()).at == NOW + 2 * HOUR


def test_a_job_of_several_nodes_has_what_the_others_leave_of_what_is_taken() -> None:
    """Twelve CPUs on two nodes: eight on n1, four on n2."""
    odd, more = job(1, "n1 n2", cpus=6), job(2, "n2", cpus=2)
    nodes = [node("n1", Vector(8, 500 * MIB)), node("n2", Vector(6, 1000 * MIB))]
    now = board(make(nodes, odd, more))
    assert by_vectors(now, Request(cpus=2)).nodes == ("n2",)
    assert by_vectors(now, Request(nodes=2, cpus=2)).at == NOW + HOUR, "nothing is left for good"
    hidden = board(replace(make(nodes, odd, more), hidden=1))
    assert by_vectors(hidden, Request(cpus=2)).word == "later", "what others hide may be there"


def test_how_long_the_room_of_several_nodes_lasts() -> None:
    later = job(3, "n3", "PENDING", gpus=8, starts=NOW + HOUR, reason="Resources")
    now = board(make([node("n1"), node("n2"), node("n3")], later))
    assert free_for(now, request(nodes="3", gpus_per_node="1")) == HOUR
    assert free_for(now, request(nodes="2", gpus_per_node="1")) == 72 * HOUR
    assert free_for(now, request(ntasks=17, gpus_per_node="1")) == HOUR
    assert free_for(now, request(ntasks=16, gpus_per_node="1")) == 72 * HOUR
    assert free_for(now, request(nodes="4")) == 0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"nodes": "2-4"}, "a range"),
    ({"nodes": "0"}, "none"),
    ({"nodes": "٢"}, "a digit of another script"),
    ({"nodes": "2", "gpus": "4"}, "whose they are is Slurm's choice"),
    ({"ntasks": 2, "gpus": "4"}, "the same"),
    ({"gpus": "1", "gpus_per_node": "1"}, "twice"),
    ({"mem": "1G", "mem_per_cpu": "1G"}, "twice"),
    ({"nodes": "3", "ntasks": 2}, "a node without a task"),
    ({"ntasks": 8, "ntasks_per_node": 4}, "how many nodes is Slurm's choice"),
    ({"nodes": "2", "ntasks": 7, "ntasks_per_node": 4}, "at most four, says sbatch"),
    ({"ntasks": 0}, "none"),
    ({"features": "a b"}, "a blank"),
    ({"features": "a;b"}, "no word of sbatch's"),
    ({"licences": "$(x)"}, "no word of sbatch's"),
]


@pytest.mark.parametrize(("asked", "why"), REFUSED, ids=[str(case[0]) for case in REFUSED])
def test_what_is_not_judged_is_refused(asked: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError):
        request(**asked)


@pytest.mark.parametrize(
    ("asked", "words", "line"),
    [
        ({"nodes": "2", "gpus_per_node": "a100:4"},
         ["--nodes=2", "--ntasks=2", "--cpus-per-task=1", "--gpus-per-node=a100:4"],
         "-N 2 --gpus-per-node a100:4 -c 1"),
        ({"nodes": "1", "gpus_per_node": "4"}, ["--nodes=1", "--ntasks=1", "--cpus-per-task=1", "--gpus=4"],
         "--gpus 4 -c 1"),
        ({"nodes": "2", "ntasks": 8, "ntasks_per_node": 4},
         ["--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--cpus-per-task=1"], "-N 2 --ntasks-per-node 4 -c 1"),
        ({"ntasks": 8}, ["--ntasks=8", "--cpus-per-task=1"], "-n 8 -c 1"),
        ({"nodes": "2", "ntasks": 7, "mem_per_cpu": "2G"},
         ["--nodes=2", "--ntasks=7", "--cpus-per-task=1", "--mem-per-cpu=2048M"], "-N 2 -n 7 -c 1 --mem-per-cpu 2G"),
        ({"exclusive": True, "features": "a|b", "licences": "tool:2"},
         ["--nodes=1", "--ntasks=1", "--cpus-per-task=1", "--exclusive", "--constraint=a|b", "--licenses=tool:2"],
         "-c 1 --exclusive -C 'a|b' -L tool:2"),
    ],
)  # fmt: skip
def test_the_words_of_several_nodes(asked: dict[str, Any], words: list[str], line: str) -> None:
    one = request(**asked)
    assert (one.words(), one.line()) == (words, line)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 3)), min_size=1, max_size=5),
    st.integers(1, 4), st.sampled_from([None, 1, 2, 3]), st.integers(1, 9), st.integers(1, 4), st.integers(0, 4),
)  # fmt: skip
def test_the_first_moment_with_room_is_the_one_that_a_search_finds(
    runs: list[tuple[int, int, int]], nodes: int, per: int | None, tasks: int, cpus: int, gpus: int
) -> None:
    """Against every minute in turn, and every node by itself; what is taken fits."""
    jobs = [
        job(n, f"n{n}", cpus=used, gpus=many, ends=NOW + hours * HOUR) for n, (used, many, hours) in enumerate(runs)
    ]
    room = make([node(f"n{n}", taken(one)) for n, one in enumerate(jobs)], *jobs)
    asked = Request(
        nodes=nodes if per or tasks >= nodes else None, ntasks=None if per else tasks, per_node=per, cpus=cpus,
        gpus=gpus, time_limit=HOUR,
    )  # fmt: skip
    said = by_vectors(board(room), asked)

    def fits(at: int) -> bool:
        here = [
            (8 - (one.each.cpus if at < (one.ends or 0) else 0), 8 - (runs[n][1] if at < (one.ends or 0) else 0))
            for n, one in enumerate(jobs)
        ]
        most = sorted((free // cpus if left >= gpus else 0 for free, left in here), reverse=True)
        if per:
            return sum(one >= per for one in most) >= nodes
        if asked.nodes is None:
            return sum(most) >= tasks
        return len(most) >= nodes and most[nodes - 1] > 0 and sum(most[:nodes]) >= tasks

    if said.word == "unknown" or (asked.per_node is None and cpus > 1 and said.at is None):
        return  # it hangs on whether a node's CPUs have to be whole tasks
    found = next((at for at in (NOW, NOW + HOUR, NOW + 2 * HOUR, NOW + 3 * HOUR) if fits(at)), None)
    assert (said.at, said.word == "never") == (found, found is None), (said, asked)
    after = take(board(room), asked)
    assert (after is not None) == (said.word == "now")
    if after is not None:
        free = [line.steps()[0][1] for line in after.full.values()]
        assert all(one.cpus >= 0 and sum(one.gpus.values()) >= 0 for one in free), free
        assert sum(8 - one.cpus for one in free) == sum(used for used, _, _ in runs) + asked.tasks * cpus


def test_memory_of_a_cpu_above_the_queues_most_takes_more_cpus() -> None:
    parts = parts_of(request(mem_per_cpu="2500M", cpus=2), queue(max_mem_cpu=1000 * MIB), True)
    need = parts.one
    assert (need.cpus, need.mem) == (6, 6 * (-(-2500 * MIB // 3)))


def test_of_two_jobs_that_are_not_even_the_later_end_counts() -> None:
    one = job(1, "n1 n2", cpus=2)
    nodes = [node("n1", Vector(3, 1000 * MIB)), node("n2", Vector(3, 1000 * MIB))]
    now = board(make(nodes, one, replace(one, job_id=2, ends=NOW + 2 * HOUR)))
    assert by_vectors(now, Request(nodes=2, cpus=8)).at == NOW + 2 * HOUR
