"""Jobs that opted in, for tests: on the nodes of tests/fit/rooms.py, with an hour asked for and five minutes left."""

from __future__ import annotations

from typing import Any

from adminkit.extend.plan import Open
from adminkit.extend.settings import Settings
from adminkit.extend.words import given_of
from adminkit.fit.timeline import NEVER
from adminkit.slurm.room import RoomJob
from adminkit.slurm.squeue import QueuedJob
from tests.fit.rooms import HOUR, NOW, job

RECORD = "ak1:lim=3600,src=e,ext=auto"
LEFT = 300
SETTINGS = Settings(lead=600, most=2.0, times=8, share=0.25)


def run(number: int, nodes: str = "n1", left: int = LEFT, limit: int = HOUR, **changes: Any) -> RoomJob:
    """One that runs with this limit, of which so many seconds are left."""
    given = {"starts": NOW + left - limit, "ends": NOW + left, "time_limit": limit, "cpus": 4, **changes}
    return job(number, nodes, **given)


def wait(number: int, nodes: str = "", starts: int | None = None, **changes: Any) -> RoomJob:
    """One that waits; with nodes and a start it is planned."""
    given = {"starts": starts, "ends": None if starts is None else NEVER, "reason": "Priority", "cpus": 8, **changes}
    return job(number, nodes, "PENDING", **given)


def listed(of: RoomJob, comment: str = RECORD, **changes: Any) -> QueuedJob:
    """The same job as squeue lists it."""
    given: dict[str, Any] = {
        "submit_time": NOW - HOUR, "job_id": of.job_id, "array_id": of.job_id, "state": of.state, "queue": of.queue,
        "nodes": of.nodes, "many": of.many, "time_limit": of.time_limit, "start_time": of.starts, "end_time": of.ends,
        "uid": of.uid, "user": "games", "account": "physics", "qos": "normal", "admin_comment": comment,
        "tres": "cpu=4,mem=500M,node=1", "batch": True,
    }  # fmt: skip
    return QueuedJob(**{**given, **changes})


def opened(of: RoomJob, comment: str = RECORD, **changes: Any) -> Open:
    return Open(of, listed(of, comment, **changes), given_of(comment))
