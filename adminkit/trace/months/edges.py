"""What a connection shows of all runs, where the trace's tables say it of archived months: no file is read."""

from __future__ import annotations

from adminkit.sqlite import sqlite3
from adminkit.trace.months import archived, manifest
from adminkit.trace.months.archived import RUNS
from adminkit.trace.months.reading import main_only
from adminkit.trace.months.shown import Connection


def span(db: sqlite3.Connection) -> tuple[int | None, int | None]:
    """When the first run ended that this connection shows, and when the last one; epoch seconds, None without any. No
    file is read.
    """
    if not _knows_ends(db):
        first = db.execute("SELECT min(end_time) FROM run").fetchone()[0]
        return first, db.execute("SELECT max(end_time) FROM run").fetchone()[0]
    one = "SELECT {how}(at) FROM (SELECT {how}(end_time) AS at FROM main.job UNION ALL SELECT {at} FROM main.archived)"
    first, last = (
        main_only(db, one.format(how=how, at=at)).fetchone()[0]
        for how, at in (("min", "first_end"), ("max", "last_end"))
    )
    return first, last


def count(db: sqlite3.Connection) -> int:
    """How many runs this connection shows. No file is read."""
    if not _knows_ends(db):
        return int(db.execute("SELECT count(*) FROM run").fetchone()[0])
    sql = "SELECT (SELECT count(*) FROM main.job) + (SELECT coalesce(sum(rows), 0) FROM main.archived WHERE name = ?)"
    return int(main_only(db, sql, (RUNS,)).fetchone()[0])


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters of the runs that this connection shows, by name: one look into the key's index for each."""
    if _knows_ends(db):
        there = {name for (name,) in main_only(db, "SELECT DISTINCT cluster FROM main.archived WHERE rows > 0")}
        return sorted({*manifest.clusters(db), *there}, key=str.encode)
    found: list[str] = []
    (name,) = db.execute("SELECT min(cluster) FROM run").fetchone()
    while name is not None:
        found.append(name)
        (name,) = db.execute("SELECT min(cluster) FROM run WHERE cluster > ?", (name,)).fetchone()
    return found


def _knows_ends(db: sqlite3.Connection) -> bool:
    """Whether the trace's tables say of the archive what this connection shows of it."""
    archive = db.archive if isinstance(db, Connection) else None
    return archive is not None and archive.is_all and not archived.back(db)
