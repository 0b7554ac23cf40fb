"""Small reports, for tests of how they are shown and of what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from adminkit.job import Job
from adminkit.render.report import Report
from adminkit.reports.accuracy import accuracy_report
from adminkit.reports.parallelism import parallelism_report
from adminkit.reports.restarts import pieces_report, restarts_report
from adminkit.stats.accuracy import accuracy
from adminkit.stats.parallelism import parallelism
from adminkit.stats.restarts import pieces, restarts
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

#: A name that harms what does not watch out: markup of every kind, a terminal's escape, a mirror for text.
HOSTILE = "$x$<script>|\x1b[31m`x`\n*red*\u202e [bold]</script>"

QUEUES = [("aaic", "gq", 0, HOUR, 72 * HOUR), ("aaic", "gq-short", 0, HOUR, 3 * HOUR)]


def some_jobs() -> list[Job]:
    """Forty jobs of two queues, one of a third without known limits, and some that do not count."""
    gq = [
        job(n, elapsed=HOUR // 6 * n, time_limit=72 * HOUR if n % 3 else 24 * HOUR, limit_source="unknown", gpus=n % 5)
        for n in range(1, 31)
    ]
    short = [job(n, queue="gq-short", elapsed=300 * (n - 30), time_limit=3 * HOUR) for n in range(31, 40)]
    return [
        *gq,
        *short,
        job(40, queue="gq-short", state="TIMEOUT", elapsed=3 * HOUR + 30, time_limit=3 * HOUR),
        job(41, queue="debug", elapsed=90, time_limit=600, gpus=None, nodes=2),
        job(42, state="FAILED"),
        job(43, elapsed=10),
        job(44, time_limit=None, limit_kind="unlimited"),
        job(45, het_job=45, het_offset=0, nodes=2, gpus=16),
        job(46, het_job=45, het_offset=1, nodes=1, gpus=8),
        job(47, ckpt_at=MONDAY + HOUR, ckpt_heard=1, ckpt_requeues=0, ckpt_end="done"),
    ]


def some_chains() -> list[Job]:
    """A training in three pieces, one that is deaf, one preempted, an array whose task goes on, and a plain job."""
    limit, lead = 4 * HOUR, 300
    end = {"ckpt_heard": 1, "elapsed": limit - lead + 40}
    return [
        *chain(1, [
            {"state": "REQUEUED", "ckpt_at": limit - lead, "ckpt_requeues": 1, "ckpt_end": "more", **end},
            {"state": "REQUEUED", "ckpt_at": limit - lead, "ckpt_requeues": 1, **end, "elapsed": limit + 12},
            {"state": "COMPLETED", "elapsed": HOUR, "ckpt_requeues": 2},
        ]),
        *chain(2, [
            {"state": "TIMEOUT", "elapsed": limit + 9, "ckpt_at": limit - lead, "ckpt_heard": 0, "ckpt_requeues": 0},
        ], user="bob", queue="gq-short"),
        *chain(3, [
            {"state": "REQUEUED", "elapsed": 2 * HOUR},
            {"state": "FAILED", "ckpt_at": limit - lead, "ckpt_requeues": 0, "ckpt_end": "refused", **end},
        ], user="bob"),
        *chain(4, [
            {"state": "REQUEUED", "ckpt_at": limit - lead, "ckpt_requeues": 1, "ckpt_end": "more", **end},
            {"state": "PENDING", "elapsed": 0},
        ], job_id="9_4", array_job=9, array_task=4),
        job(5),
    ]  # fmt: skip


def chain(number: int, runs: list[dict[str, Any]], **common: Any) -> list[Job]:
    """The runs of one job, ten minutes between them. `ckpt_at` counts from the run's start."""
    found, submit = [], MONDAY + number * 60
    for run in runs:
        start = submit + 600
        given = {**common, **run, "submit_time": submit, "start_time": start, "end_time": start + run["elapsed"]}
        if "ckpt_at" in run:
            given["ckpt_at"] += start
        if run["state"] == "PENDING":
            given |= {"start_time": None, "end_time": None, "elapsed": None}
        found.append(job(number, **given))
        submit = start + run["elapsed"]
    return found


def accuracy_of(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Report:
    chosen = chosen or Filter(checkpoint_code=85)
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return accuracy_report(accuracy(db, chosen, MONDAY, curves=True), chosen, "/var/lib/adminkit/trace.db")


def parallelism_of(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Report:
    chosen = chosen or Filter(checkpoint_code=85)
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return parallelism_report(parallelism(db, chosen), chosen, "/var/lib/adminkit/trace.db")


def restarts_of(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Report:
    chosen = replace(chosen or Filter(checkpoint_code=85), states=(), min_elapsed=-1)
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return restarts_report(restarts(db, chosen), chosen, "queue", "/var/lib/adminkit/trace.db")


def pieces_of(path: Path, jobs: list[Job], job_id: str) -> Report:
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return pieces_report(pieces(db, job_id), job_id, "/var/lib/adminkit/trace.db")
