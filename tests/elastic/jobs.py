"""Elastic jobs for tests: on n1 of tests/fit/rooms.py, for an hour now, with an hour to go."""

from __future__ import annotations

from typing import Any

from adminkit.slurm.elastic_jobs import OpenJob
from tests.fit.rooms import HOUR, NOW

RECORD = "ak1:lim=7200,src=e,el=1-8"


def open_job(number: int, gpus: int = 1, comment: str = RECORD, **changes: Any) -> OpenJob:
    given: dict[str, Any] = {
        "state": "RUNNING", "queue": "gq", "nodes": ("n1",), "many": 1,
        "tres": f"gres:gpu:{gpus}", "submit_time": NOW - 2 * HOUR, "starts": NOW - HOUR, "ends": NOW + HOUR,
        "time_limit": 2 * HOUR, "reason": "None", "user": "games", "account": "physics", "qos": "normal",
        "job_name": "train",
    }  # fmt: skip
    return OpenJob(job_id=number, comment=comment, **{**given, **changes})
