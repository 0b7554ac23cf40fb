"""Moves months from SQLite into Parquet and back, one month a transaction: a run is on one side or on the other.

A month's files are made, put into their place and read back, row by row, before SQLite gives the rows up; whatever
changes one of them meanwhile stops it. What stays in SQLite: runs of which other runs say something, or may (requeued
and resized ones, open ones, and all runs of such numbers), whose GPU words are not known, whose times contradict each
other, and whose texts Parquet would not give back as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError, cause
from adminkit.sections import Months
from adminkit.sqlite import sqlite3
from adminkit.trace.continued_runs import IN_PIECES, PUT_BACK
from adminkit.trace.months import archived, duck, late, manifest, place
from adminkit.trace.months.archived import RUNS, STEPS
from adminkit.trace.months.manifest import IN_MONTH, Month, MonthFile
from adminkit.trace.months.reading import CHUNK, columns_of, insert, read_files
from adminkit.trace.months.shown import FILES
from adminkit.trace.months.write import WAIT, alone, fill, put
from adminkit.trace.transaction import transaction

_KEY: Final = "(cluster, job_id_raw, submit_time)"
_LEAVING: Final = f"{_KEY} IN (SELECT cluster, job_id_raw, submit_time FROM temp.leaving)"
_KNOWN: Final = " AND ".join(
    f"({column} IS NULL OR EXISTS (SELECT 1 FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = {column}))"
    for column in ("gpu_parts", "req_gpu_parts")
)
#: SQL over main.job: the run may leave.
MOVES: Final = f"""{IN_PIECES} IS NOT TRUE AND submit_time <= coalesce(start_time, submit_time)
    AND coalesce(start_time, submit_time) <= end_time AND {_KNOWN} AND NOT EXISTS (
    SELECT 1 FROM main.job AS other WHERE other.cluster = job.cluster AND other.job_id_raw = job.job_id_raw
        AND (other.end_time IS NULL OR other.state IN {PUT_BACK} OR other.restarts > 0))"""
_THERE: Final = f"{IN_MONTH} AND {MOVES}"
_SOURCES: Final = {
    RUNS: f"FROM run {IN_MONTH} AND {_LEAVING}",
    STEPS: "FROM (SELECT step.* FROM job JOIN step USING (cluster, job_id_raw, submit_time)"
    " WHERE job.end_time >= :since AND job.end_time < :until AND +job.cluster = :cluster"
    " AND (job.cluster, job.job_id_raw, job.submit_time) IN (SELECT cluster, job_id_raw, submit_time FROM"
    " temp.leaving))",
}
_ORDER: Final = {RUNS: "job_id_raw, submit_time", STEPS: "job_id_raw, submit_time, step"}


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of a month: moved runs and steps, runs that stay, bytes of its files; `why` nothing was."""

    cluster: str
    month: str
    runs: int
    steps: int
    stay: int
    size: int = 0
    why: str | None = None


def movable(db: sqlite3.Connection, before: int, clusters: Iterable[str] = ()) -> list[Moved]:
    """The months that were over at `before`, epoch seconds, and have runs that may leave; of these clusters, or all."""
    wanted, found = set(clusters), []
    for month in manifest.over(db, before):
        if wanted and month.cluster not in wanted:
            continue
        values = manifest.values(month)
        there, runs, steps = db.execute(
            f"SELECT (SELECT count(*) FROM main.job {IN_MONTH}), count(*),"
            " coalesce(sum((SELECT count(*) FROM main.step WHERE step.cluster = job.cluster"
            " AND step.job_id_raw = job.job_id_raw AND step.submit_time = job.submit_time)), 0)"
            f" FROM main.job {_THERE}",
            values,
        ).fetchone()
        if runs:
            found.append(Moved(*month, runs, steps, there - runs))
    return found


def archive(
    db: sqlite3.Connection,
    trace: Path,
    settings: Months,
    months: Iterable[Month],
    tick: Callable[[int], None] = lambda _: None,
) -> list[Moved]:
    """Move these months into Parquet. `db` may write; the caller holds the lock of the trace. `tick` gets the months
    that are done. AdminkitError where another process writes months.
    """
    late.settle(db, trace)
    done = []
    with alone(trace, WAIT):
        for month in months:
            if archived.is_archived(db, month):
                _bring_back(db, trace, month)  # its late rows go with the others
            place.sweep(db, trace)
            scratch = place.make_folder(trace) / place.SCRATCH  # which sweep() removes
            try:
                done.append(_archive(db, trace, scratch, settings, month))
            except Exception as error:
                if not isinstance(error, (OSError, *duck.failures(), AdminkitError)):
                    raise
                why = cause(error) if isinstance(error, OSError) else getattr(error, "message", str(error))
                done.append(Moved(*month, 0, 0, 0, why=str(why).splitlines()[0]))
            place.sweep(db, trace)
            tick(len(done))
    return done


def restore(
    db: sqlite3.Connection, trace: Path, months: Iterable[Month], tick: Callable[[int], None] = lambda _: None
) -> list[Moved]:
    """Bring these archived months back into SQLite, and remove their files. As archive(). AdminkitError where a file
    cannot be read: the months until then are back.
    """
    done: list[Moved] = []
    with alone(trace, WAIT):
        for month in months:
            done.append(_bring_back(db, trace, month))
            place.sweep(db, trace)
            tick(len(done))
    return done


def archived_month(db: sqlite3.Connection, month: Month) -> Moved:
    """What is archived of a month."""
    files = _files(db, month)
    return Moved(*month, files[RUNS].rows, files[STEPS].rows, 0, sum(one.size for one in files.values()))


def bring_all_back(copy: sqlite3.Connection, trace: Path) -> None:
    """Put the archived months of `trace` into a copy of its SQLite file, which then needs no other file."""
    for month in archived.months(copy):
        _bring_back(copy, trace, month)


@contextmanager
def brought_back(db: sqlite3.Connection, trace: Path, settings: Months, months: list[Month]) -> Iterator[None]:
    """Bring these months back while the block changes their runs, and archive at its end what is left of them. Where it
    ends by an exception they stay in SQLite.
    """
    if not months:
        yield
        return
    restore(db, trace, months)
    yield
    archive(db, trace, settings, months)


def overlapping(
    db: sqlite3.Connection, since: int | None, until: int | None, clusters: Iterable[str] = ()
) -> list[Month]:
    """The archived months with a moment in [since, until), epoch seconds; None: without bound."""
    wanted = set(clusters)
    return [
        one
        for one in archived.months(db)
        if (until is None or one.since < until)
        and (since is None or one.until > since)
        and (not wanted or one.cluster in wanted)
    ]


def _archive(db: sqlite3.Connection, trace: Path, scratch: Path, settings: Months, month: Month) -> Moved:
    token = manifest.begin(db, month)
    db.execute(
        "CREATE TEMP TABLE leaving (cluster TEXT, job_id_raw INTEGER, submit_time INTEGER, PRIMARY KEY"
        " (cluster, job_id_raw, submit_time)) WITHOUT ROWID"
    )
    asides = {name: scratch / f"{token}-{name}.parquet" for name in archived.NAMES}
    finals = [place.folder_of(trace).joinpath(*place.file_of(*month, name)) for name in archived.NAMES]
    kept = False
    try:
        values = manifest.values(month)
        db.execute(f"INSERT INTO temp.leaving SELECT cluster, job_id_raw, submit_time FROM main.job {_THERE}", values)
        files: list[MonthFile] = []
        for _ in range(2):  # once more without the rows that do not come back as they are
            files = _make(db, trace, asides, settings, month)
            if not (wrong := _compare(db, trace, files)):
                break
            db.executemany(
                f"DELETE FROM temp.leaving WHERE {_KEY} = (?, ?, ?)", [(month.cluster, *key) for key in wrong]
            )
        else:
            return Moved(*month, 0, 0, 0, why="its files do not hold what SQLite has")
        (stay,) = db.execute(
            f"SELECT count(*) - (SELECT count(*) FROM temp.leaving) FROM main.job {IN_MONTH}", values
        ).fetchone()
        with transaction(db):
            if not manifest.is_begun(db, token):
                return Moved(*month, 0, 0, 0, why="a run of it changed meanwhile; the next run archives it")
            ends = db.execute(f"SELECT min(end_time), max(end_time) FROM main.job WHERE {_LEAVING}").fetchone()
            for table in ("step", "job"):
                db.execute(f"DELETE FROM main.{table} WHERE {_LEAVING}")
            archived.add(db, files, schema_of(db), ends)
        kept = True
        return Moved(*month, files[0].rows, files[1].rows, stay, sum(one.size for one in files))
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
        db.execute("DROP TABLE temp.leaving")
        manifest.abandon(db, token)
        for path in asides.values() if kept else (*asides.values(), *finals):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def schema_of(db: sqlite3.Connection) -> int:
    """The schema of the trace."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _make(
    db: sqlite3.Connection, trace: Path, asides: dict[str, Path], settings: Months, month: Month
) -> list[MonthFile]:
    """Make the files of what leaves, and put them into their place."""
    files = []
    with duck.connected(settings, next(iter(asides.values())).parent) as made:
        db.execute("BEGIN")
        try:
            for name, aside in asides.items():
                rows = fill(db, made, name.partition(".")[0], month, _SOURCES[name])
                made.execute(
                    f"COPY (FROM month ORDER BY {_ORDER[name]}) TO {duck.literal(str(aside))}"
                    " (FORMAT parquet, COMPRESSION zstd)"
                )
                files.append((name, aside, rows))
        finally:
            db.execute("COMMIT")
    return [put(trace, month, name, aside, rows) for name, aside, rows in files]


def _compare(db: sqlite3.Connection, trace: Path, files: list[MonthFile]) -> set[tuple[int, int]]:
    """Read the files back, as their readers do, and compare every value of every row with SQLite's. Returns the runs
    (JobIDRaw, Submit) of which a row differs.
    """
    wrong: set[tuple[int, int]] = set()
    with read_files(trace, files) as read:
        for one, table in zip(files, FILES, strict=True):
            names = [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
            assert columns_of(db, table, read, one) == names
            listed, order = ", ".join(map(duck.quoted, names)), _ORDER[one.name]
            factory = db.text_factory
            db.text_factory = lambda text: text.decode(errors="surrogateescape")
            try:
                ours = db.execute(f"SELECT {listed} FROM main.{table} WHERE {_LEAVING} ORDER BY {order}")
                theirs = read(one, f"SELECT {listed} FROM {{}} ORDER BY {order}")
                wrong |= _differing(ours, theirs, names.index("job_id_raw"), names.index("submit_time"))
            finally:
                db.text_factory = factory
    return wrong


def _differing(ours: Any, theirs: Any, number: int, submit: int) -> set[tuple[int, int]]:
    wrong: set[tuple[int, int]] = set()
    while True:
        mine, its = ours.fetchmany(CHUNK), theirs.fetchmany(CHUNK)
        if len(mine) != len(its):
            raise AdminkitError("its files have another number of rows than SQLite", "run the same command again")
        if not mine:
            return wrong
        wrong |= {(a[number], a[submit]) for a, b in zip(mine, its, strict=True) if a != b}


def _files(db: sqlite3.Connection, month: Month) -> dict[str, MonthFile]:
    return {one.name: one for name in archived.NAMES for one in archived.files(db, name) if one[:2] == month}


def _bring_back(db: sqlite3.Connection, trace: Path, month: Month) -> Moved:
    """Put the rows of a month back into SQLite, and say that it is not archived. One transaction."""
    files = _files(db, month)
    with read_files(trace, list(files.values())) as read, transaction(db):
        archived.unwatch(db)
        back = {key for key in archived.back(db) if key[0] == month.cluster}
        runs, steps = (
            insert(db, f"main.{table}", table, read, files[name], skip=back) for table, name in FILES.items()
        )
        if back:
            keys = set(read(files[RUNS], "SELECT cluster, job_id_raw, submit_time FROM {}").fetchall())
            db.executemany(f"DELETE FROM archive_back WHERE {_KEY} = (?, ?, ?)", back & keys)
        archived.take(db, month)
    return Moved(*month, runs, steps, 0, sum(one.size for one in files.values()))
