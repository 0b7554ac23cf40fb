"""Rooms for tests: nodes of 8 CPUs, 64000 MiB and 8 GPUs in the queue gq."""

from __future__ import annotations

from typing import Any

from adminkit.slurm.room import Reserved, Room, RoomJob, RoomNode, RoomQueue, Vector

NOW, HOUR = 1_700_000_000, 3600
MIB = 1 << 20


def node(name: str, taken: Vector | None = None, **changes: Any) -> RoomNode:
    given: dict[str, Any] = {"has": Vector(8, 64_000 * MIB, {"gpu": 8}), "queues": frozenset({"gq"}), "state": "IDLE"}
    return RoomNode(name=name, taken=taken or Vector(), **{**given, **changes})


def queue(**changes: Any) -> RoomQueue:
    given: dict[str, Any] = {
        "default_limit": HOUR,
        "max_limit": 72 * HOUR,
        "is_default": True,
        "default_mem_cpu": 500 * MIB,
    }
    return RoomQueue(name="gq", **{**given, **changes})


def job(number: int, nodes: str = "", state: str = "RUNNING", gpus: int = 0, cpus: int = 1, **changes: Any) -> RoomJob:
    """One that runs on these nodes until in an hour; or one that waits."""
    where = tuple(nodes.split())
    runs = state == "RUNNING"
    given: dict[str, Any] = {
        "queue": "gq", "nodes": where, "each": Vector(cpus, 500 * MIB, {"gpu": gpus} if gpus else {}),
        "many": len(where) or 1, "time_limit": 2 * HOUR, "starts": NOW - HOUR if runs else None,
        "ends": NOW + HOUR if runs else None, "priority": 100, "reason": "None" if runs else "Priority", "uid": 1001,
    }  # fmt: skip
    return RoomJob(job_id=number, state=state, **{**given, **changes})


def make(nodes: list[RoomNode], *jobs: RoomJob, reserved: tuple[Reserved, ...] = (), **changes: Any) -> Room:
    return Room(NOW, tuple(nodes), (queue(**changes),), reserved, jobs)


def taken(*jobs: RoomJob) -> Vector:
    """What these have of a node."""
    gpus = sum(sum(one.each.gpus.values()) for one in jobs)
    return Vector(sum(one.each.cpus for one in jobs), sum(one.each.mem for one in jobs), {"gpu": gpus})
