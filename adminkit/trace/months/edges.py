"""What a connection shows of all runs, as far as can be said without the files of archived months: from the trace's
tables, or from as few months as answer it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from adminkit.sqlite import sqlite3
from adminkit.trace.months import archived, manifest
from adminkit.trace.months.archived import RUNS, STEPS
from adminkit.trace.months.asked import EVER
from adminkit.trace.months.manifest import Month, begin_of, next_month
from adminkit.trace.months.reading import main_only, read_files
from adminkit.trace.months.rest import others
from adminkit.trace.months.shown import Connection


def span(db: sqlite3.Connection) -> tuple[int | None, int | None]:
    """When the first run ended that this connection shows, and when the last one; epoch seconds, None without any."""
    if not _knows_ends(db) or archived.back(db):
        return first_end(db), last_end(db)
    one = "SELECT {how}(at) FROM (SELECT {how}(end_time) AS at FROM main.job UNION ALL SELECT {at} FROM main.archived)"
    first, last = (
        main_only(db, one.format(how=how, at=at)).fetchone()[0]
        for how, at in (("min", "first_end"), ("max", "last_end"))
    )
    return first, last


def first_end(db: sqlite3.Connection, where: str = "TRUE", given: Mapping[str, Any] | None = None) -> int | None:
    """When the first of the runs ended of which `where` holds: SQL over the view run, with the parameters `given`."""
    return _end(db, _parts(db), where, given or {}, "ASC")


def last_end(db: sqlite3.Connection, where: str = "TRUE", given: Mapping[str, Any] | None = None) -> int | None:
    """When the last of these runs ended."""
    return _end(db, _parts(db)[::-1], where, given or {}, "DESC")


def _end(
    db: sqlite3.Connection, parts: Sequence[tuple[int, int]], where: str, given: Mapping[str, Any], order: str
) -> int | None:
    for since, until in parts:
        # By the index of ends, until the first that is one: min() and max() would read all.
        sql = f"""SELECT end_time FROM run WHERE end_time >= :_since AND end_time < :_until AND ({where})
            ORDER BY end_time {order} LIMIT 1"""
        found = db.execute(sql, {**given, "_since": since, "_until": until}).fetchone()
        if found is not None:
            return int(found[0])
    return None


def is_there(db: sqlite3.Connection, where: str, given: Mapping[str, Any] | None = None) -> bool:
    """Whether there is such a run, open ones too."""
    values, parts = given or {}, _parts(db)
    if len(parts) == 1:
        return db.execute(f"SELECT 1 FROM run WHERE {where} LIMIT 1", values).fetchone() is not None
    if db.execute(f"SELECT 1 FROM run WHERE end_time IS NULL AND ({where}) LIMIT 1", values).fetchone() is not None:
        return True
    sql = f"SELECT 1 FROM run WHERE end_time >= :_since AND end_time < :_until AND ({where}) LIMIT 1"
    return any(
        db.execute(sql, {**values, "_since": since, "_until": until}).fetchone() for since, until in reversed(parts)
    )


def _parts(db: sqlite3.Connection) -> list[tuple[int, int]]:
    """All time in parts, [since, until), the earliest first: each has one archived month, but for the last one, which
    has none. To ask part by part, until one answers, reads as few as can be.
    """
    months = sorted({one.month for one in archived.months(db)})
    return [*pairwise((EVER[0], *(begin_of(next_month(month)) for month in months), EVER[1]))]


def count(db: sqlite3.Connection) -> int:
    """How many runs this connection shows. No file is read."""
    if not _is_plain(db) or main_only(db, archived.LATE).fetchone():
        return int(db.execute("SELECT count(*) FROM run").fetchone()[0])
    copies = manifest.files(db)
    which, given = others([Month(*one[:2]) for one in copies], manifest.clusters(db))
    archive = "SELECT (SELECT coalesce(sum(rows), 0) FROM main.archived WHERE name = ?)"
    return (
        sum(one.rows for one in copies)
        + int(main_only(db, f"SELECT count(*) FROM main.job WHERE {which}", given).fetchone()[0])
        + int(main_only(db, f"{archive} - (SELECT count(*) FROM main.archive_back)", (RUNS,)).fetchone()[0])
    )


def has_steps(db: sqlite3.Connection) -> bool:
    """Whether this connection shows any step. No file is read where it shows everybody's."""
    if _is_plain(db):
        archive = "EXISTS (SELECT 1 FROM main.archived WHERE name = ? AND rows > 0)"
        return bool(main_only(db, f"SELECT EXISTS (SELECT 1 FROM main.step) OR {archive}", (STEPS,)).fetchone()[0])
    return db.execute("SELECT 1 FROM step LIMIT 1").fetchone() is not None


def archive_has(db: sqlite3.Connection, where: str) -> bool:
    """Whether an archived run may be one of which `where` holds, SQL for DuckDB over the columns of `run`. Their files
    are asked, which takes less than to copy them. AdminkitError where one cannot be read.
    """
    archive = db.archive if isinstance(db, Connection) else None
    if archive is None or not archive.is_plain:
        return True
    files = archived.files(db)
    if not files:
        return False
    with read_files(archive.trace, files) as read:
        return any(read(one, f"SELECT 1 FROM {{}} AS run WHERE {where} LIMIT 1").fetchone() for one in files)


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters of the runs that this connection shows, by name: one look into the key's index for each."""
    if _knows_ends(db):  # what went back to SQLite kept its cluster
        there = {name for (name,) in main_only(db, "SELECT DISTINCT cluster FROM main.archived WHERE rows > 0")}
        return sorted({*manifest.clusters(db), *there}, key=str.encode)
    found: list[str] = []
    (name,) = db.execute("SELECT min(cluster) FROM run").fetchone()
    while name is not None:
        found.append(name)
        (name,) = db.execute("SELECT min(cluster) FROM run WHERE cluster > ?", (name,)).fetchone()
    return found


def _is_plain(db: sqlite3.Connection) -> bool:
    """Whether this connection shows everybody's runs as they are now."""
    archive = db.archive if isinstance(db, Connection) else None
    return archive is not None and archive.is_plain


def _knows_ends(db: sqlite3.Connection) -> bool:
    """Whether the trace's tables say of the archive what this connection shows of it."""
    return _is_plain(db) and archived.are_there(db)
