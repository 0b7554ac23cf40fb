"""The reports that the tests of this folder show."""

from __future__ import annotations

from pathlib import Path

from adminkit.job import Job
from adminkit.report.accuracy import accuracy_report
from adminkit.report.model import Report
from adminkit.report.parallelism import parallelism_report
from adminkit.stats.accuracy import accuracy
from adminkit.stats.parallelism import parallelism
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.builders import HOUR, MONDAY, job, make_trace

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
    ]


def accuracy_of(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Report:
    chosen = chosen or Filter()
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return accuracy_report(accuracy(db, chosen, MONDAY, curves=True), chosen, "/var/lib/adminkit/trace.db")


def parallelism_of(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Report:
    chosen = chosen or Filter()
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return parallelism_report(parallelism(db, chosen), chosen, "/var/lib/adminkit/trace.db")
