"""Writes the files of a month, whole or not at all: made aside, synced, renamed, and only then told of.

The runs are read in one snapshot of the trace. Whatever changes one of them before manifest.finish() deletes the row
of manifest.begin(), so that the files are thrown away.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError, cause
from adminkit.sections import Months
from adminkit.sqlite import sqlite3
from adminkit.trace.columns import masked_columns
from adminkit.trace.lock import only_one
from adminkit.trace.measured import in_sqlite
from adminkit.trace.months import duck, manifest, place
from adminkit.trace.months.duck import TEXT, arrays, quoted, selected
from adminkit.trace.months.manifest import IN_MONTH, Month, MonthFile

#: Runs that are read at a time.
CHUNK: Final = 200_000
#: Why a month has no files, where none were refused.
NOT_WRITTEN: Final = "not written"
#: Seconds to wait for who writes months, before files of what was forgotten are removed.
WAIT: Final = 600.0
#: Differences of neighbours (version 2) take less room than numbers, and half the time to read.
FORMAT: Final = "FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd"
_SOURCES: Final = {
    "run": f"FROM run {IN_MONTH}",
    "step": "FROM (SELECT step.* FROM job JOIN step USING (cluster, job_id_raw, submit_time)"
    " WHERE job.end_time >= :since AND job.end_time < :until AND +job.cluster = :cluster)",
}


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a month. `why` it was not written, None where it was."""

    month: Month
    rows: int
    size: int
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A month that is over: its runs and bytes in files, or why it has none that are right."""

    cluster: str
    month: str
    rows: int | None
    size: int | None
    why: str | None


def listed(db: sqlite3.Connection, trace: Path, before: int) -> list[Listed]:
    """The months that were over at `before`, epoch seconds."""
    files: dict[tuple[str, str], list[MonthFile]] = {}
    wrong: dict[tuple[str, str], str] = {}
    for name in manifest.NAMES:
        with place.opened(trace, manifest.files(db, name)) as (good, bad):
            for file, _handle in good:
                files.setdefault((file.cluster, file.month), []).append(file)
            wrong |= {(one.file.cluster, one.file.month): one.why for one in bad}
    found = []
    for one in manifest.over(db, before):
        made = files.get((one.cluster, one.month), [])
        if len(made) == len(manifest.NAMES):
            found.append(Listed(*one, made[0].rows, sum(file.size for file in made), None))
        else:
            found.append(Listed(*one, None, None, wrong.get((one.cluster, one.month), NOT_WRITTEN)))
    return found


def due(db: sqlite3.Connection, trace: Path, before: int) -> list[Month]:
    """The months that were over at `before`, epoch seconds, and have no files that are right."""
    return [Month(one.cluster, one.month) for one in listed(db, trace, before) if one.why]


def write_due(
    db: sqlite3.Connection,
    trace: Path,
    settings: Months,
    now: int,
    tick: Callable[[int, int], None] = lambda *_: None,
) -> list[Written]:
    """Write the files of every month that is due, and remove those that the trace has no row for. `db` may write.
    `tick` gets the months that are done, and all of them. AdminkitError where another process writes months.
    """
    with _alone(trace, 0.0):
        place.sweep(db, trace)
        months = due(db, trace, now - settings.quiet)
        if not months:
            return []
        folder = place.make_folder(trace)
        done = []
        with duck.connected(settings, folder / place.SCRATCH) as made:
            for number, month in enumerate(months):
                tick(number, len(months))
                done.append(_write(db, trace, folder / place.SCRATCH, month, made))
        tick(len(months), len(months))
        return done


def is_wanted(db: sqlite3.Connection, settings: Months) -> bool:
    """Whether sync and import write months into this trace."""
    return settings.keep and duck.is_there() and is_large(db, settings)


def is_large(db: sqlite3.Connection, settings: Months) -> bool:
    """Whether the trace has at least the number of runs from which files of months are written."""
    return bool(db.execute("SELECT count(*) >= ? FROM job", (settings.least,)).fetchone()[0])


def remove(db: sqlite3.Connection, trace: Path) -> int:
    """Remove all files. Returns how many there were. What is read of the trace stays the same."""
    with _alone(trace, WAIT):
        manifest.drop(db)
        return place.sweep(db, trace)


def remove_stale(db: sqlite3.Connection, trace: Path) -> int:
    """Remove the files that the trace has no row for: they may hold what was deleted from it. Returns how many.

    AdminkitError where they cannot be removed, or where another process has been writing months for too long.
    """
    if not os.path.lexists(place.folder_of(trace)):
        return 0
    with _alone(trace, WAIT):
        return place.sweep(db, trace)


@contextmanager
def _alone(trace: Path, wait: float) -> Iterator[None]:
    """Hold the lock of the months of this trace."""
    until = time.monotonic() + wait
    lock = trace.with_name(f"{trace.name}-months")
    while True:
        held = only_one(lock, "adminkit trace months")
        try:
            held.__enter__()
            break
        except AdminkitError as error:
            if time.monotonic() >= until or "at work" not in error.message:
                raise
            time.sleep(0.1)
    try:
        yield
    finally:
        held.__exit__(None, None, None)


def _write(db: sqlite3.Connection, trace: Path, scratch: Path, month: Month, made: Any) -> Written:
    token = manifest.begin(db, month)
    asides = {name: scratch / f"{token}-{name}.parquet" for name in manifest.NAMES}
    try:
        rows = _make(db, month, asides, made)
        files = [_put(trace, month, name, aside, rows[name]) for name, aside in asides.items()]
    except Exception as error:
        if not isinstance(error, (OSError, *duck.failures())):
            raise
        manifest.abandon(db, token)
        for aside in asides.values():
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        return Written(month, 0, 0, cause(error) if isinstance(error, OSError) else str(error).splitlines()[0])
    if not manifest.finish(db, token, files):
        for name in asides:
            place.folder_of(trace).joinpath(*place.file_of(month.cluster, month.month, name)).unlink(missing_ok=True)
        return Written(month, 0, 0, "a run of it changed meanwhile; the next run writes it")
    return Written(month, rows["run"], sum(one.size for one in files))


def _make(db: sqlite3.Connection, month: Month, asides: dict[str, Path], made: Any) -> dict[str, int]:
    """Make the files aside. Returns the rows of each."""
    found = {}
    db.execute("BEGIN")
    try:
        for name, aside in asides.items():
            found[name] = _fill(db, made, name, month)
            made.execute(f"COPY month TO {duck.literal(str(aside))} ({FORMAT})")
    finally:
        db.execute("ROLLBACK")
    return found


def _fill(db: sqlite3.Connection, made: Any, name: str, month: Month) -> int:
    """Make DuckDB's table `month` of the rows. Returns how many."""
    kinds = duck.kinds_of(db, name)
    texts = [column for column, kind in kinds.items() if kind == TEXT]
    numbers = [column for column in kinds if column not in texts]
    made.execute(
        f"CREATE OR REPLACE TABLE month ({', '.join(f'{quoted(each)} {kind}' for each, kind in kinds.items())})"
    )
    rows = 0
    for values in _slices(db, month):
        found, counts = masked_columns(db, [*map(quoted, texts)], in_sqlite(db, numbers), _SOURCES[name], values)
        chunk = arrays(found, counts, [*texts, *numbers], known=True)
        if some := len(found[0].codes):
            made.register("chunk", chunk)
            made.execute(f"INSERT INTO month {selected(kinds, 'chunk', chunk)}")
            made.unregister("chunk")
        rows += some
    return rows


def _slices(db: sqlite3.Connection, month: Month) -> Iterator[dict[str, str | int]]:
    """The parameters of IN_MONTH for parts of the month with about CHUNK runs each, one after the other."""
    values = manifest.values(month)
    (runs,) = db.execute(f"SELECT count(*) FROM job {IN_MONTH}", values).fetchone()
    parts = min(1 + runs // CHUNK, 31 * 24)
    for part in range(parts):
        since, until = (month.since + (month.until - month.since) * one // parts for one in (part, part + 1))
        yield {**values, "since": since, "until": until}


def _put(trace: Path, month: Month, name: str, aside: Path, rows: int) -> MonthFile:
    """Give a file its name, with the mode and the group of the trace's."""
    handle = os.open(aside, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(handle, place.FILE_MODE)
        os.fsync(handle)
        sha256 = place.digest(handle)
    finally:
        os.close(handle)
    facts = place.put(trace, aside, place.file_of(month.cluster, month.month, name))
    return MonthFile(
        month.cluster, month.month, name, rows, facts.st_size, sha256, facts.st_ino, facts.st_ctime_ns, int(time.time())
    )
