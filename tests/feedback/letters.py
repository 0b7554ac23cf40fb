"""A trace to write letters about, and the letters: ada asks for too much, bob waits, eve does well."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any, Final

from adminkit.config import Config
from adminkit.feedback.compose import Composer
from adminkit.feedback.letter import DigestLetter, Due, JobLetter, Letter, OperatorLetter
from adminkit.job import Job
from adminkit.recommend.menu import Offer
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace

DAY: Final = 86_400
WEEK: Final = 7 * DAY
NEXT_MONDAY: Final = MONDAY + WEEK
NOW: Final = NEXT_MONDAY + 8 * HOUR
GIB: Final = 2**30


def run(number: int, end: int, elapsed: int, **changes: Any) -> Job:
    """A run of ada that ended then, as synced."""
    given: dict[str, Any] = {
        "uid": 1001,
        "user": "ada",
        "job_name": "train_resnet",
        "time_limit": 72 * HOUR,
        "start_time": end - elapsed,
        "end_time": end,
        "submit_time": end - elapsed - 600,
        "eligible_time": end - elapsed - 600,
        "elapsed": elapsed,
        "source": "slurmdbd",
    }
    return job(number, **{**given, **changes})


def resnet(number: int, end: int, **changes: Any) -> Job:
    """One of the runs that take some three hours of 72."""
    return run(number, end, 3 * HOUR + (number * 617) % 1800, **changes)


#: What the letter about one job is about.
LAST: Final = resnet(
    60, NEXT_MONDAY - 6 * HOUR, cpu_time=10_000.0, max_rss=3 * GIB + GIB // 10, mem=64 * GIB, queue="gq"
)
JOBS: Final = [
    *(resnet(number, NEXT_MONDAY - (61 - number) * 20 * HOUR) for number in range(20, 60)),
    LAST,
    *(run(100 + n, MONDAY + n * DAY, 50 * 60, job_name="eval", time_limit=HOUR) for n in range(5)),
    run(110, MONDAY + 3 * DAY, 4 * HOUR, job_name="sweep_up", time_limit=4 * HOUR, state="TIMEOUT"),
    *(
        run(
            200 + n, MONDAY + 2 * DAY + 3600 + 60 * n, HOUR + 60 * n, array_job=200, array_task=n, job_name="sweep",
            job_id=f"200_{n}", submit_time=MONDAY + DAY, time_limit=24 * HOUR,
            state="FAILED" if n == 7 else "COMPLETED",
        )
        for n in range(40)
    ),
    # bob waits through the second half of the week, carl asks for an hour and uses it
    run(300, NEXT_MONDAY - HOUR, HOUR, user="bob", uid=1002, job_name="fit", eligible_time=MONDAY + 3 * DAY + DAY // 2),
    *(
        run(400 + n, MONDAY + n * DAY, 55 * 60, user="eve", uid=1003, job_name="post", time_limit=HOUR, gpus=0,
            eligible_time=None)
        for n in range(6)
    ),
]  # fmt: skip
QUEUES: Final = [("aaic", "gq", 0, HOUR, 72 * HOUR)]


def due(kind: str, language: str = "en", **changes: Any) -> Due:
    """A letter to ada, or to the operators."""
    given: dict[str, Any] = {
        "cluster": "aaic", "language": language, "address": "ada@example.org", "until": NEXT_MONDAY,
    }  # fmt: skip
    week = {"week": "2026-W02", "since": MONDAY}
    user = {"user": "ada", "uid": 1001}
    if kind == "operator":
        return OperatorLetter(**{**given, **week, "notes": ("eve has no address: set domain",), **changes})
    if kind == "digest":
        return DigestLetter(**{**given, **week, **user, **changes})
    job = {"job_id_raw": 1, "submit_time": MONDAY, "is_array": False, "job_name": None}
    return JobLetter(**{**given, **user, **job, **changes})


def end(one: Job = LAST, language: str = "en") -> Due:
    """The letter about a run."""
    return due(
        "end", language, job_id_raw=one.job_id_raw, submit_time=one.submit_time, until=one.end_time,
        user=one.user, uid=one.uid,
    )  # fmt: skip


def array(language: str = "en") -> Due:
    """The letter about the array."""
    return due(
        "end", language, job_id_raw=200, submit_time=MONDAY + DAY, until=MONDAY + 2 * DAY + 2 * HOUR, is_array=True
    )


DUES: Final = {
    "end": lambda language="en": end(LAST, language),
    "array": array,
    "digest": lambda language="en": due("digest", language),
    "praise": lambda language="en": due("digest", language, user="eve", uid=1003),
    "operator": lambda language="en": due("operator", language),
}


def trace(path: Path, jobs: list[Job] = JOBS) -> Path:
    """The trace with an outbox in which one letter went out, one was refused, one was too late."""
    make_trace(path, jobs, QUEUES)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "INSERT INTO step (cluster, job_id_raw, submit_time, source, step, nodes, tasks, max_rss)"
            " SELECT cluster, job_id_raw, submit_time, source, 'batch', 1, 1, max_rss FROM job WHERE max_rss > 0"
        )
    other = JOBS[39]
    late = {"job_id_raw": 59, "submit_time": other.submit_time, "until": other.end_time, "job_name": "train_resnet"}
    return add_letters(
        path,
        [
            letter(run="60@1", job_name="train_resnet", sent_at=MONDAY + 5 * DAY),
            letter(run="2026-W01/1001", kind="digest", week="2026-W01", sent_at=MONDAY + DAY),
            letter(run="300@1", state="refused", sent_at=None, said="550 5.1.1 no such user <bob@example.org>"),
            letter(run="59@1", state="expired", sent_at=None, said="too old", **late),
        ],
    )


def write(path: Path, *dues: Due, settings: Config | None = None, offer: Offer | None = None) -> list[Letter]:
    """The letters, read from the trace at `path`."""
    from adminkit.trace.connect import reader

    with reader(path) as db:
        composer = Composer(db, settings or Config(), offer or Offer(), NOW, dues, UTC)
        return [composer.letter(one) for one in dues]
