"""Why a job waits, and what change would start it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.fit.place import Said
from adminkit.fit.request import Request
from adminkit.fit.waiting import explain, request_of
from adminkit.slurm.room import Reserved, Room, RoomJob, Vector
from tests.fit.rooms import HOUR, MIB, NOW, job, make, node, taken

FREE = Said("now")
SIX = job(1, "n1", gpus=6)
SOON = Reserved("m", frozenset({"n1"}), NOW + HOUR, NOW + 2 * HOUR)


def wait(gpus: int = 4, **changes: object) -> RoomJob:
    return replace(job(9, "", "PENDING", gpus=gpus), **changes)  # type: ignore[arg-type]


def of(*others: RoomJob, taken_by: RoomJob | None = SIX, waits: RoomJob, reserved: tuple[Reserved, ...] = ()) -> Room:
    jobs = (*([taken_by] if taken_by else []), *others, waits)
    return make([node("n1", taken(taken_by) if taken_by else None)], *jobs, reserved=reserved)


@pytest.mark.parametrize(
    ("room", "verdict", "why", "at", "instead", "change", "explained"),
    [
        (of(waits=wait()), "later", "busy", NOW + HOUR, 2, None, "GPUs are in use: fewer of them"),
        (of(waits=wait(starts=NOW + 2 * HOUR)), "later", "busy", NOW + 2 * HOUR, 2, None, "Slurm's plan is later"),
        (of(taken_by=None, waits=wait(), reserved=(SOON,)), "later", "reserved", NOW + 2 * HOUR, 2,
         "scontrol update JobId=9 TimeLimit=58", "a maintenance comes: shorter"),
        (of(taken_by=None, waits=wait()), "room", "", NOW, 0, None, "the scheduler has not looked yet"),
        (of(waits=wait(reason="Dependency"), taken_by=None), "later", "Dependency", None, 0, None, "it depends"),
        (of(waits=wait(reason="BeginTime", starts=NOW + 60)), "later", "BeginTime", NOW + 60, 0, None, "-"),
        (of(waits=wait(9)), "never", "size", None, 2, None, "no node has nine"),
        (of(wait(8, job_id=8, priority=200), taken_by=None, waits=wait()), "later", "priority", NOW + 2 * HOUR, 0, None,
         "a job of higher priority"),
        (of(wait(8, job_id=8, priority=50), taken_by=None, waits=wait()), "room", "", NOW, 0, None, "one of lower"),
        (of(wait(8, job_id=10), taken_by=None, waits=wait()), "room", "", NOW, 0, None, "of the same, and younger"),
    ],
)  # fmt: skip
def test_a_job_waits_for_a_reason_and_starts_with_a_change(
    room: Room, verdict: str, why: str, at: int | None, instead: int, change: str | None, explained: str
) -> None:
    found = explain(room, room.jobs[-1], lambda _: FREE)
    start = found.answer.start
    assert (start.verdict, start.why, start.at) == (verdict, why, at), (explained, start)
    assert (len(found.answer.instead or ()), found.change) == (instead, change), (explained, found.answer.instead)


def test_what_a_limit_holds_is_not_offered() -> None:
    """A QOS that gives two GPUs at once."""

    def limits(request: Request) -> Said:
        return FREE if request.gpus <= 2 else Said("later", None, "qos", "two at most")

    room = of(waits=wait(reason="QOSMaxGRESPerUser"), taken_by=None)
    found = explain(room, room.jobs[-1], limits)
    assert (found.answer.start.why, found.answer.start.at) == ("qos", None)
    assert found.answer.instead is not None and [one.gpus for one in found.answer.instead] == [2, 1]


def test_a_job_of_several_nodes_is_judged_by_the_nodes() -> None:
    two = job(1, "n1 n2", gpus=6)
    nodes = [node("n1", taken(two)), node("n2", taken(two)), node("n3")]
    waits = wait(many=2, starts=None)
    found = explain(make(nodes, two, waits), waits, lambda _: FREE).answer
    assert (found.start.verdict, found.start.why, found.start.at) == ("later", "busy", NOW + HOUR)
    assert next(one.line() for one in found.instead or ()) == "-p gq --gpus 4 -c 1 --mem 500M -t 120", "on one node"
    never = wait(many=4)
    found = explain(make(nodes, two, never), never, lambda _: FREE).answer
    assert (found.start.verdict, found.start.why) == ("never", "size")


@pytest.mark.parametrize(
    ("changes", "explained"),
    [
        ({"even": False}, "its parts of the nodes are not known"),
        ({"reservation": "soon"}, "it may use what others may not"),
    ],
)
def test_a_job_whose_nodes_cannot_be_told_has_slurms_word_alone(changes: dict[str, object], explained: str) -> None:
    waits = wait(many=2, starts=NOW + HOUR, **changes)
    found = explain(make([node("n1"), node("n2")], waits), waits, lambda _: FREE).answer
    assert (found.start.verdict, found.start.at, found.instead) == ("later", NOW + HOUR, None), explained


def test_its_request_is_its_own() -> None:
    one = wait(each=Vector(2, 1000 * MIB, {"a100": 3}), account="physics", qos="high")
    assert request_of(one) == Request("gq", 2, 1000 * MIB, 3, "a100", 2 * HOUR, "physics", "high")
    more = replace(one, many=3, exclusive=True, features="big", licences="tool:2")
    size = Request(nodes=3, exclusive=True, features="big", licences="tool:2")
    assert request_of(more) == replace(
        request_of(one), nodes=size.nodes, exclusive=True, features=size.features, licences=size.licences
    )


@pytest.mark.parametrize("named", ["gq,spare", "spare,gq"])
def test_of_several_queues_the_soonest_counts_in_whatever_order_they_are_named(named: str) -> None:
    """From 26.11 on Slurm names those of a job that waits by their tiers, and no longer as its owner did."""
    busy = job(1, "n1", gpus=8)
    nodes = [node("n1", taken(busy)), node("n2", queues=frozenset({"spare"}))]
    waits = wait(queue=named)
    room = make(nodes, busy, waits)
    room = replace(room, queues=(*room.queues, replace(room.queues[0], name="spare", is_default=False)))
    found = explain(room, waits, lambda _: FREE).answer
    assert (found.request.queue, found.start.verdict, found.start.at) == ("spare", "room", NOW)
    full = replace(nodes[1], taken=Vector(8, 0, {"gpu": 8}), state="DOWN")
    found = explain(replace(room, nodes=(nodes[0], full)), waits, lambda _: FREE).answer
    assert (found.request.queue, found.start.at) == ("gq", NOW + HOUR)
