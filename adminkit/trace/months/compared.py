"""Sums over the archived runs of a window: with those of SQLite (runs.py), what a source's are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from adminkit.sqlite import sqlite3
from adminkit.trace.months import archived
from adminkit.trace.months.archived import RUNS, STEPS
from adminkit.trace.months.manifest import Month, MonthFile
from adminkit.trace.months.reading import Read, read_files

_WHERE: Final = "WHERE end_time >= {since} AND end_time < {until}{back}"


def archived_sums(db: sqlite3.Connection, trace: Path, sums: str, cluster: str, since: int, until: int) -> list[int]:
    """What "SELECT sums FROM job" answers for the archived runs of slurmdbd's that ended in [since, until); [] where no
    month of that time is archived. AdminkitError where a file cannot be read.
    """
    found: list[int] = []
    with _months(db, trace, cluster, since, until) as (read, files, where):
        for one in files:
            row = read(one, f"SELECT {sums} FROM {{}} AS job {where} AND source = 'slurmdbd'").fetchone()
            found = [a + int(b) for a, b in zip(found or [0] * len(row), row, strict=True)]
    return found


def archived_steps(db: sqlite3.Connection, trace: Path, cluster: str, since: int, until: int) -> tuple[int, int]:
    """How many steps the archived runs have that ended in [since, until), and the sum of the steps' ends. As above."""
    steps = {one[:2]: one for one in archived.files(db, STEPS, cluster)}
    many = ends = 0
    with _months(db, trace, cluster, since, until) as (read, files, where):
        for one in files:
            read(one, f"CREATE OR REPLACE TEMP TABLE ended AS SELECT job_id_raw, submit_time FROM {{}} AS job {where}")
            its = "{} AS s SEMI JOIN ended USING (job_id_raw, submit_time)"
            row = read(steps[one[:2]], f"SELECT count(*), coalesce(sum(end_time), 0) FROM {its}").fetchone()
            many, ends = many + int(row[0]), ends + int(row[1])
    return many, ends


@contextmanager
def _months(
    db: sqlite3.Connection, trace: Path, cluster: str, since: int, until: int
) -> Iterator[tuple[Read, list[MonthFile], str]]:
    """What reads the files of these months, the files, and SQL: a run counts, and ended in the window."""
    files = [one for one in archived.files(db, RUNS, cluster) if _overlaps(Month(*one[:2]), since, until)]
    if not files:
        yield _nothing, [], ""
        return
    months = {one[:2] for one in files}
    steps = [one for one in archived.files(db, STEPS, cluster) if one[:2] in months]
    gone = ", ".join(f"({number}, {submit})" for of, number, submit in archived.back(db) if of == cluster)
    back = f" AND (job_id_raw, submit_time) NOT IN ({gone})" if gone else ""
    with read_files(trace, [*files, *steps]) as read:
        yield read, files, _WHERE.format(since=since, until=until, back=back)


def _overlaps(month: Month, since: int, until: int) -> bool:
    return month.since < until and month.until > since


def _nothing(*_: Any) -> Any:
    raise AssertionError("there is no file")
