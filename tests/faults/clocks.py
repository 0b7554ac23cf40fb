"""Clocks set forward and back, on hosts that keep local time."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from tests.cluster.harness.operator import rows
from tests.cluster.harness.sacct_rows import sacct_rows
from tests.faults.results import Outcome, count
from tests.faults.work import Work, must

#: Zone and the moment its clocks were changed (UTC): twice forward, twice back.
CHANGES: Final = (
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
)
#: Minutes from the change at which sync runs, with its clock there.
RUNS: Final = (-100, -50, -10, 0, 5, 50, 70, 130, 240)
#: The copies' ids begin here.
_FIRST: Final = 700_000
_COPY: Final = """
create temporary table copied select * from aaic_job_table where id_job = {job} limit 1;
update copied set id_job = {id}, job_db_inx = {index}, time_submit = {at} - 300, time_eligible = {at} - 300,
 time_start = {at} - 250, time_end = {at};
insert into aaic_job_table select * from copied;
drop temporary table copied;
"""


def changed(work: Work) -> Outcome:
    """Runs end every five minutes across four clock changes.

    Around each change, sync runs nine times with a matching clock.
    """
    job = work.jobs(1, "sleep 1")[0]
    work.ended([job])
    work.site.settle()
    made = _spread(work, job)
    found = [_around(work, zone, int(moment.timestamp())) for zone, moment in CHANGES]
    shown = ("sacct", "-n", "-X", "-j", str(made[0]), "-o", "End", "-S", "2026-01-01")
    local = work.site.run(*shown, env={"TZ": CHANGES[0][0]})
    hosts = work.site.shell("slurmdbd", "date +%Z")
    work.sync("--since", "2026-02-01", env={"TZ": CHANGES[0][0]})
    everything = count(sacct_rows(work.site), rows(work.copy(), work.site.name))
    must(everything.whole, f"one sync over all of the year: {everything}")
    _forget(work)
    notes = (
        "the runs are copies of a single real run, put into slurmdbd's table with different times",
        f"slurmdbd's and slurmctld's hosts are in {hosts}; a user's sacct there prints {local.text}",
    )
    whole = Outcome(*(sum(getattr(one, name) for one in found) for name in ("runs", "lost", "doubled", "different")))
    return replace(whole, notes=notes, line=work.sync().text.splitlines()[0], where="sync")


def _around(work: Work, zone: str, at: int) -> Outcome:
    """A trace of its own, synced while the clock passes `at`; what ended until a minute before the last sync."""
    trace = Work(work.site, f"{work.name}-{at}")
    for minutes in RUNS:
        offset = at + 60 * minutes - int(time.time())
        trace.sync("--no-steps", "--since", str(at - 4 * 3600), env=trace.clock(offset, zone))
    last = at + 60 * RUNS[-1] - 60
    theirs, ours = (
        {key: row for key, row in found.items() if at - 4 * 3600 <= _end(row) <= last}
        for found in (sacct_rows(work.site), rows(trace.copy(), work.site.name))
    )
    one = count(theirs, ours)
    must(one.runs > 60, f"only {one.runs} runs around {at}")
    return one


def _spread(work: Work, job: int) -> list[int]:
    highest = max(int(row[0]) for row in work.site.sql("select max(job_db_inx) from aaic_job_table"))
    script, made = [], []
    for _, moment in CHANGES:
        for minutes in range(-230, 231, 5):
            made.append(_FIRST + len(made))
            at = int(moment.timestamp()) + 60 * minutes
            script.append(_COPY.format(job=job, id=made[-1], index=highest + len(made), at=at))
    work.site.sql("".join(script))
    return made


def _forget(work: Work) -> None:
    """The next faults judge by runs that were run."""
    work.site.sql(f"delete from aaic_job_table where id_job >= {_FIRST}")


def _end(row: dict[str, object]) -> int:
    return int(str(row["end_time"]))
