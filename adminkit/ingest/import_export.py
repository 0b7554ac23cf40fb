"""adminkit import FOLDER: what adminkit export wrote, in one transaction; and the names beside an SWF trace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, UsageError, cause
from adminkit.files import open_folder, open_named
from adminkit.ingest.files import Import, remember
from adminkit.ingest.helper import Counts
from adminkit.ingest.sources.cells import Value
from adminkit.ingest.sources.exported import Exported, TableFile, look, open_table, read_csv
from adminkit.owner import as_caller, as_owner
from adminkit.sqlite import sqlite3
from adminkit.trace import bulk_load, connect
from adminkit.trace.exchange import SIDECAR, TABLES
from adminkit.trace.load import BATCH, JobLoad, StepLoad
from adminkit.trace.machine import put_rows
from adminkit.trace.transaction import transaction

#: Called with the counts so far and how many runs and steps there are, None where unknown.
Progress = Callable[[Counts, int | None], None]
Values = tuple[Value, ...]
_DEMO: Final = "demo"


class _Storing:
    """Rows of exported tables on their way into the trace, within a transaction."""

    def __init__(self, db: sqlite3.Connection, wanted: Import, now: int, total: int | None, tick: Progress | None):
        self._db, self._wanted, self._now, self._total, self._tick = db, wanted, now, total, tick
        self._rejects = JobLoad(db, ("cluster", "job_id_raw", "submit_time"), "text")
        self._loads: dict[tuple[str, tuple[str, ...], str], JobLoad | StepLoad] = {}
        self.counts = Counts()

    def store(self, file: TableFile) -> int:
        """Store the rows of one file; returns how many records it had."""
        records, batch, aside = 0, list[Values](), list[tuple[int, str, bytes]]()
        for line, text, values, reason in file.rows:
            records += 1
            if values is None:
                aside.append((line, reason, text.rstrip("\r\n").encode("utf-8", "surrogateescape")))
            else:
                batch.append(values)
            if len(batch) + len(aside) >= BATCH:
                self._put(file, batch, aside)
        self._put(file, batch, aside)
        return records

    def _put(self, file: TableFile, batch: list[Values], aside: list[tuple[int, str, bytes]]) -> None:
        if not TABLES[file.table].of_runs:
            put_rows(self._db, file.table, file.columns, batch)
        else:
            columns, sorted_rows = self._by_source(file.columns, batch)
            for source, rows in sorted_rows.items():
                self.counts += self._put_runs(file.table, columns, source, rows)
        self._rejects.reject(aside, self._wanted.source, self._now)
        self.counts += Counts(rows=len(aside), rejected=len(aside))
        batch.clear()
        aside.clear()
        if self._tick:
            self._tick(self.counts, self._total)

    def _put_runs(self, table: str, columns: tuple[str, ...], source: str, rows: list[Values]) -> Counts:
        load = self._load(table, columns, source)
        before = load.new, load.changed
        load.put(rows)
        new, changed = load.new - before[0], load.changed - before[1]
        if table == "step":
            return Counts(rows=len(rows), steps_rows=len(rows), steps_new=new, steps_changed=changed)
        return Counts(rows=len(rows), new=new, changed=changed, unchanged=len(rows) - new - changed)

    def _load(self, table: str, columns: tuple[str, ...], source: str) -> JobLoad | StepLoad:
        known = self._loads.get((table, columns, source))
        if known is None:
            known = self._loads[table, columns, source] = (StepLoad if table == "step" else JobLoad)(
                self._db, columns, source
            )
        return known

    def _by_source(
        self, columns: tuple[str, ...], batch: Sequence[Values]
    ) -> tuple[tuple[str, ...], dict[str, list[Values]]]:
        """(columns without the source, source -> rows without it).

        Trap: jobs of the demo stay the demo's, wherever they come from: nothing may follow from them.
        """
        usual = self._wanted.origin or "text"
        if "source" not in columns:
            return columns, {usual: list(batch)}
        place = columns.index("source")
        found: dict[str, list[Values]] = {}
        for row in batch:
            found.setdefault(_DEMO if row[place] == _DEMO else usual, []).append((*row[:place], *row[place + 1 :]))
        return (*columns[:place], *columns[place + 1 :]), found


def import_export(wanted: Import, now: int, progress: Progress | None = None) -> Counts:
    """Read a whole export into the trace, or nothing of it: one transaction. A trace that is new is built beside its
    place.
    """
    assert wanted.path
    if wanted.cluster or wanted.columns is not None or wanted.timezone or wanted.delimiter or wanted.map or wanted.site:
        raise UsageError("an export describes its own contents", "leave out the options that describe its format")
    with as_caller():
        found = look(wanted.path)

    def fill(db: sqlite3.Connection) -> Counts:
        started = time.monotonic()
        with transaction(db):
            storing = _Storing(db, wanted, now, found.rows, progress)
            _store_all(found, storing)
            counts = storing.counts
            totals = (counts.rows, counts.new, counts.changed, counts.rejected, 0)
            remember(db, wanted, now, time.monotonic() - started, totals)
        return counts

    with as_owner(wanted.db):
        if connect.is_there(wanted.db):
            with connect.writer(wanted.db) as db:
                return fill(db)
        with bulk_load.made(wanted.db) as target, bulk_load.opened(target) as db:
            return fill(db)


def _store_all(found: Exported, storing: _Storing) -> None:
    """Every file, in the order of the tables. AdminkitError where a file has not as many rows as the export says."""
    with as_caller():
        folder = open_folder(found.path, links=True)
    try:
        for table in TABLES:
            for name, rows in found.tables.get(table, {}).items():
                with as_caller():
                    file = open_table(found.path, name, folder)
                records = storing.store(file)
                if records != rows:
                    raise AdminkitError(
                        f"{found.path / name} has {records} rows, but its export says {rows}: it is incomplete",
                        "copy the whole folder again; none of it was read into the trace",
                    )
    finally:
        os.close(folder)


_MOVE: Final = "look at it, then move {} away"


def sidecar_of(path: Path | None) -> Path | None:
    """What lies beside an SWF trace that adminkit wrote: the names and GPUs of its runs."""
    beside = path.with_name(path.name + SIDECAR) if path else None
    return beside if beside is not None and os.path.lexists(beside) else None


def import_sidecar(wanted: Import, beside: Path, now: int) -> Counts:
    """Fill what an SWF trace could not say into the runs that were just read from it."""
    try:
        with as_caller():
            source = open_named(beside, links=False)
            owners = {os.geteuid(), (wanted.path or beside).stat().st_uid}
            if os.fstat(source.fileno()).st_uid not in owners:
                source.close()
                raise AdminkitError(
                    f"{beside} does not belong to the owner of the trace beside it", _MOVE.format(beside)
                )
            file = read_csv("job", beside.name, source)
    except OSError as error:
        raise AdminkitError(f"couldn't read {beside}: {cause(error)}", _MOVE.format(beside)) from error
    with connect.writer(wanted.db) as db, transaction(db):
        storing = _Storing(db, wanted, now, None, None)
        storing.store(file)
    return storing.counts
