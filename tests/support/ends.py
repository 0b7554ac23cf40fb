"""Runs that end in every way, and runs that fail because of a node."""

from __future__ import annotations

from typing import Any

from adminkit.job import Job
from tests.support.builders import HOUR, MONDAY, job


def some_ends() -> list[Job]:
    """A run of every way to end and of every place in the study's selection; two that are open."""
    waited: dict[str, Any] = {"start_time": None, "elapsed": 0, "uid": 7}
    return [
        *(job(n, elapsed=HOUR // 4 * n) for n in range(1, 9)),
        job(9, elapsed=45),
        job(10, state="TIMEOUT", elapsed=4 * HOUR + 30),
        job(11, state="CANCELLED", uid=7, cancelled_by=7, user="bob"),
        job(12, state="CANCELLED", cancelled_by=0, reason="PartitionTimeLimit", **waited),
        job(13, state="CANCELLED"),
        job(14, state="FAILED", exit_code=127, elapsed=2, queue="gq-short"),
        job(15, state="FAILED", exit_code=1, queue="gq-short"),
        job(16, state="NODE_FAIL", nodes=4, gpus=32, queue="gq-short"),
        *(job(17 + n, state=one) for n, one in enumerate(("OUT_OF_MEMORY", "PREEMPTED", "REQUEUED", "DEADLINE"))),
        job(21, state="REVOKED", gpus=None),
        job(22, derived_exit_code=1, queue="gq-short"),
        job(23, state="RUNNING", end_time=None),
        job(24, state="PENDING", start_time=None, end_time=None, elapsed=None),
    ]


def some_bad_nodes() -> list[Job]:
    """Six users on eight nodes, of which n3 fails every run; two nodes fail together, and never have a run alone."""

    def one(number: int, user: int, day: int, nth: int, **changes: Any) -> Job:
        start = MONDAY + (24 * day + 3 * user) * HOUR + nth * 60
        given = {"user": f"u{user}", "job_name": "fit", "start_time": start, "end_time": start + 600, "elapsed": 600,
                 "nodes": 1}  # fmt: skip
        return job(number, **{**given, **changes})

    places = [(user, day, nth) for user in range(6) for day in range(4) for nth in range(16)]
    return [
        *(
            one(1 + place, user, day, nth, node_list=f"n{nth % 8}", state="FAILED" if nth % 8 == 3 else "COMPLETED")
            for place, (user, day, nth) in enumerate(places)
        ),
        *(
            one(1001 + place, user, day, nth, nodes=2, job_name="wide", node_list="n[0-1]" if nth % 2 else "p[1-2]",
                state="COMPLETED" if nth % 2 else "FAILED")
            for place, (user, day, nth) in enumerate(places)
            if nth < 4
        ),
    ]  # fmt: skip
