"""Whether a waiting job would start later: tables of what waits, and until when the running one may go on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adminkit.extend.rule import outlook
from adminkit.slurm.room import MOST_JOBS, Reserved, RoomJob, RoomNode, Vector
from tests.extend.jobs import run, wait
from tests.fit.rooms import HOUR, MIB, NOW, job, make, node, taken

MINE = run(1)  # 4 of n1's 8 CPUs, 5 minutes left
ENDS, UNTIL = NOW + 300, NOW + 300 + 900
OTHER = job(2, "n1", cpus=4, ends=NOW + 2 * HOUR)


def nodes(*jobs: RoomJob, **changes: Any) -> list[RoomNode]:
    on = {name: taken(*(one for one in jobs if name in one.nodes and one.runs)) for name in ("n1", "n2")}
    return [node("n1", on["n1"], **changes), node("n2", on["n2"])]


@pytest.mark.parametrize(
    ("jobs", "until", "why", "reason"),
    [
        ([], UNTIL, "free", "nobody waits"),
        ([wait(5, "n1", ENDS)], ENDS, "planned", "a job is planned for its end"),
        ([wait(5, "n1", ENDS - 30)], ENDS, "planned", "a plan is rounded to minutes"),
        ([wait(5, "n1", ENDS + 600)], ENDS + 600, "planned", "one is planned later: up to then"),
        ([wait(5, "n1", UNTIL)], UNTIL, "free", "one is planned for the new end"),
        ([wait(5, "n2", ENDS)], UNTIL, "free", "one is planned elsewhere"),
        ([wait(5, "n1", ENDS, cpus=4)], UNTIL, "free", "the node has room for both"),
        ([wait(5, "n1", ENDS, each=Vector(4, 0))], ENDS, "planned", "one that asks for no memory gets all"),
        ([wait(5, "n1", ENDS, cpus=4, exclusive=True)], ENDS, "planned", "one that takes the whole node"),
        ([wait(5, "n1", ENDS, cpus=2), wait(6, "n1", ENDS, cpus=3)], ENDS, "planned", "two that fit only without it"),
        ([OTHER, wait(5, "n1", NOW + 2 * HOUR, cpus=8)], UNTIL, "free", "one waits for another job's end"),
        ([wait(5, "n1", ENDS, cpus=1, even=False)], ENDS, "planned", "how much of the node it gets is not known"),
        ([wait(5, "n1 n2", ENDS)], ENDS, "planned", "one of several nodes"),
    ],
)
def test_planned_jobs(jobs: list[RoomJob], until: int, why: str, reason: str) -> None:
    said = outlook(make(nodes(MINE, *jobs), MINE, *jobs)).may_run(MINE, UNTIL)
    assert (said.until, said.why) == (until, why), reason
    assert said.until == UNTIL or said.behind in jobs, reason


@pytest.mark.parametrize(
    ("job", "why", "reason"),
    [
        (wait(5), "waiting", "it could use the node, and nobody knows when"),
        (wait(5, cpus=9), "free", "no node could hold it"),
        (wait(5, queue="other"), "free", "its queue has no such node"),
        (wait(5, queue="other,gq"), "waiting", "one of its queues has"),
        (wait(5, features="gold"), "free", "the node lacks what it asks for"),
        (wait(5, features="[gold*2]"), "waiting", "what it asks for cannot be read"),
        (wait(5, reason="JobHeldUser"), "free", "its user holds it"),
        (wait(5, reason="Dependency"), "free", "it waits for another job"),
        (wait(5, reason="QOSMaxCpuPerJobLimit"), "free", "it is too large for ever"),
        (wait(5, reason="PartitionTimeLimit"), "free", "it is too long for its queue"),
        (wait(5, reason="PartitionTimeLimit", queue="short,gq"), "waiting", "only for one of its queues"),
        (wait(5, reason="QOSMaxCpuPerJobLimit", queue="short,gq"), "waiting", "a limit of one queue's QOS"),
        (wait(5, reason="Cleaning"), "waiting", "it was put back, and waits when its nodes are clean"),
        (wait(5, reason="BeginTime", eligible_time=UNTIL), "free", "it begins after that"),
        (wait(5, reason="BeginTime", eligible_time=UNTIL - 1), "waiting", "it may begin before"),
        (wait(5, reason="Resources"), "waiting", "the first in line has no plan yet"),
        (wait(5, reason="QOSMaxJobsPerUserLimit", cpus=9), "waiting", "the end of its own user's job frees it"),
        (wait(5, reason="QOSGrpCpuLimit", cpus=9, uid=7, account="x", qos="y"), "free", "no limit of its own"),
        (wait(5, reason="QOSGrpCpuLimit", cpus=9, uid=7, account="x"), "waiting", "the same QOS"),
        (wait(5, reason="JobArrayTaskLimit", cpus=9, job_id_array=5), "free", "a task of another array"),
    ],
)  # fmt: skip
def test_jobs_without_a_plan(job: RoomJob, why: str, reason: str) -> None:
    said = outlook(make(nodes(MINE), MINE, job)).may_run(MINE, UNTIL)
    assert said.why == why, reason
    assert said.until == (UNTIL if why == "free" else ENDS), reason


WIDE = run(1, "n1 n2")


@pytest.mark.parametrize(
    ("mine", "jobs", "until", "why", "reason"),
    [
        (WIDE, [], UNTIL, "free", "nobody waits"),
        (WIDE, [wait(5, "n1", ENDS, cpus=4)], ENDS, "planned", "how the running one is spread is not known"),
        (MINE, [wait(5, "n1 n2", ENDS, cpus=4)], ENDS, "planned", "how the planned one will be spread is not known"),
        (MINE, [wait(5, "n1 n2", NOW, cpus=1), wait(6, "n1", ENDS, cpus=2)], ENDS, "planned", "nor one before it"),
        (run(1, "n1 n2", cpus=8), [wait(5, "n1 n2", ENDS + 600)], ENDS + 600, "planned", "both have whole nodes"),
        (replace(MINE, apart=True), [wait(5, "n1", ENDS, cpus=4)], ENDS, "planned", "only its user's jobs may be"),
        (MINE, [wait(5, "n1", ENDS, cpus=4, apart=True)], ENDS, "planned", "only the planned one's user's jobs"),
    ],
)
def test_jobs_of_several_nodes_or_apart(mine: RoomJob, jobs: list[RoomJob], until: int, why: str, reason: str) -> None:
    said = outlook(make(nodes(mine), mine, *jobs)).may_run(mine, UNTIL)
    assert (said.until, said.why) == (until, why), reason


def test_a_task_of_the_same_array_waits_for_its_end() -> None:
    mine = replace(MINE, job_id_array=1)
    next_one = wait(5, reason="JobArrayTaskLimit", cpus=9, job_id_array=1)
    assert outlook(make(nodes(mine), mine, next_one)).may_run(mine, UNTIL).why == "waiting"


@pytest.mark.parametrize(
    ("jobs", "why", "reason"),
    [
        ([wait(5, "n2", ENDS)], "free", "a job is planned elsewhere"),
        ([wait(5, "n2", ENDS, job_id_array=5)] * 2, "waiting", "a plan is of an array's first task only"),
        ([wait(5, reason="BeginTime", eligible_time=UNTIL, priority=200), wait(6)], "waiting",
         "one that begins later stands before one that waits"),
    ],
)  # fmt: skip
def test_several_that_wait(jobs: list[RoomJob], why: str, reason: str) -> None:
    assert outlook(make(nodes(MINE), MINE, *jobs)).may_run(MINE, UNTIL).why == why, reason


@pytest.mark.parametrize(
    ("queue_qos", "above", "why", "reason"),
    [
        (None, {}, "free", "they share nothing"),
        ("part", {}, "waiting", "the QOS of their queue"),
        (None, {"x": frozenset({"lab"}), "y": frozenset({"lab"})}, "waiting", "a limit of an account above both"),
        (None, {"x": frozenset({"lab"}), "y": frozenset({"dept"})}, "free", "of accounts above each"),
    ],
)
def test_limits_that_both_are_held_to(
    queue_qos: str | None, above: dict[str, frozenset[str]], why: str, reason: str
) -> None:
    mine = replace(MINE, account="x", qos="a")
    head = wait(5, reason="AssocGrpCpuLimit", cpus=9, uid=7, account="y", qos="b")
    assert outlook(make(nodes(mine), mine, head, qos=queue_qos), above).may_run(mine, UNTIL).why == why, reason


@pytest.mark.parametrize(
    ("changes", "reserved", "until", "why", "reason"),
    [
        ({}, [(ENDS + 600, "n1")], ENDS + 600, "reservation", "a reservation begins: up to then"),
        ({}, [(ENDS - 60, "n1")], ENDS, "reservation", "the job runs into one already"),
        ({}, [(ENDS, "n2")], UNTIL, "free", "on another node"),
        ({"state": "MIXED+DRAIN", "away": "drained"}, [], ENDS, "draining", "an operator waits for the node"),
        ({"state": "MIXED+REBOOT_REQUESTED"}, [], ENDS, "draining", "it is to be restarted"),
        ({"state": "DOWN*", "away": "down"}, [], ENDS, "draining", "it does not answer"),
    ],
)
def test_nodes(changes: dict[str, Any], reserved: list[tuple[int, str]], until: int, why: str, reason: str) -> None:
    kept = tuple(Reserved(f"r{at}", frozenset({name}), at, at + HOUR) for at, name in reserved)
    said = outlook(make(nodes(MINE, **changes), MINE, reserved=kept)).may_run(MINE, UNTIL)
    assert (said.until, said.why) == (until, why), reason


@pytest.mark.parametrize(
    ("mine", "other", "why", "reason"),
    [
        ("tool", "tool:2", "licences", "the same licence"),
        ("tool", "other", "free", "another one"),
        ("tool|other", "third", "licences", "what it holds cannot be read"),
        ("tool", "a|b", "licences", "what is asked for cannot be read"),
        (None, "tool", "free", "it holds none"),
    ],
)
def test_licences(mine: str | None, other: str, why: str, reason: str) -> None:
    job, waits = replace(MINE, licences=mine), wait(5, cpus=9, licences=other, reason="Licenses", uid=7, account="x")
    room = make(nodes(job), job, replace(waits, qos="y"))
    assert outlook(room).may_run(job, UNTIL).why == why, reason


def test_a_node_that_is_overbooked_for_no_known_reason_allows_nothing() -> None:
    """Nothing is reserved there, and nobody is planned."""
    more = job(2, "n1", cpus=5, ends=NOW + 2 * HOUR)
    said = outlook(make([node("n1", taken(MINE, more)), node("n2")], MINE, more)).may_run(MINE, UNTIL)
    assert (said.until, said.why, said.behind) == (ENDS, "unknown", None)


def test_what_is_hidden_or_cut_short_allows_nothing() -> None:
    room = make(nodes(MINE), MINE)
    assert outlook(replace(room, hidden=1)).may_run(MINE, UNTIL).why == "unknown"
    assert outlook(replace(room, jobs=(MINE,) * MOST_JOBS)).may_run(MINE, UNTIL).why == "unknown"
    assert outlook(make([node("n2")], MINE)).may_run(MINE, UNTIL).why == "unknown", "its node is not shown"


def test_what_was_given_counts_for_the_next() -> None:
    """Each alone would leave room for the planned job, both do not."""
    first, second = run(1, cpus=2), run(2, cpus=2)
    head = wait(5, "n1", ENDS, cpus=5)
    found = outlook(make(nodes(first, second), first, second, head))
    assert found.may_run(first, UNTIL).until == UNTIL
    found.book(first, UNTIL)
    assert (found.may_run(second, UNTIL).until, found.may_run(second, UNTIL).why) == (ENDS, "planned")


GPUS = {"has": Vector(8, 64_000 * MIB, {"a": 1, "b": 1})}


@pytest.mark.parametrize(
    ("mine", "head", "why", "reason"),
    [
        ({"a": 1}, {"a": 1}, "planned", "the same type"),
        ({"a": 1}, {"b": 1}, "free", "the other type"),
        ({"a": 1}, {"gpu": 1}, "free", "any type: one is left"),
        ({"a": 1}, {"gpu": 2}, "planned", "any type: one is too few"),
    ],
)
def test_gpus_of_types(mine: dict[str, int], head: dict[str, int], why: str, reason: str) -> None:
    job, waits = run(1, each=Vector(1, MIB, mine)), wait(5, "n1", ENDS, each=Vector(1, MIB, head))
    room = make([node("n1", Vector(1, MIB, mine), **GPUS)], job, waits)
    assert outlook(room).may_run(job, UNTIL).why == why, reason


@pytest.mark.parametrize(
    ("head", "floors", "expected", "reason"),
    [
        (wait(5, "n1", ENDS), {1: NOW + 120}, True, "it waits for this job alone"),
        (wait(5, "n1", ENDS), {1: ENDS - 30}, False, "less than a minute is no earlier start"),
        (wait(5, "n1 n2", ENDS), {1: NOW + 120}, False, "another node keeps it as long"),
        (wait(5, "n1 n2", ENDS), {1: NOW + 120, 2: NOW + 120}, True, "both would end"),
        (wait(5, "n1", ENDS, even=False), {1: NOW + 120}, False, "how much it needs is not known"),
    ],
)
def test_who_could_start_earlier(head: RoomJob, floors: dict[int, int], expected: bool, reason: str) -> None:
    other = run(2, "n2")
    found = outlook(make(nodes(MINE, other), MINE, other, head))
    assert found.could_start(head, floors) is expected, reason
