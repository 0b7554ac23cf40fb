"""adminkit import --map: stores a job table in one transaction, or previews its first rows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import IO

from adminkit.errors import AdminkitError, UsageError
from adminkit.ingest.files import Import, remember, remember_site, waits_from_submission
from adminkit.ingest.helper import Counts
from adminkit.ingest.packed import open_packed
from adminkit.ingest.shared_keys import Keys
from adminkit.ingest.sources.cells import REVOKED, Bad, Value
from adminkit.ingest.sources.csv_rows import CsvRows, Record
from adminkit.ingest.sources.mapping import TableMap
from adminkit.ingest.sources.table import DELIMITERS, RowReader, row_reader
from adminkit.job import KEY
from adminkit.sqlite import sqlite3
from adminkit.trace import bulk_load, connect, runs
from adminkit.trace.load import BATCH, JobLoad
from adminkit.trace.transaction import transaction
from adminkit.units import show_time

Progress = Callable[[Counts, int | None], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it was read: its values in the order of RowReader.columns, or why it would be set aside."""

    line: int
    values: tuple[Value, ...] | None
    reason: str


@dataclass(frozen=True, slots=True)
class _Table:
    """An open table after its header. Trap: `rows` closes the stream when it is garbage-collected."""

    rows: CsvRows
    records: Iterator[Record]
    reader: RowReader

    def __iter__(self) -> Iterator[tuple[int, str, tuple[Value, ...] | None, str]]:
        """(first line, text, values or None, why not) of each record. Broken ones count in the numbers of rows."""
        for number, (line, text, cells, reason) in enumerate(self.records):
            if cells is None:
                yield line, text, None, reason
                continue
            try:
                values = self.reader.read(cells, number)
            except Bad as error:
                yield line, text, None, str(error)
            else:
                yield line, text, values, ""


@dataclass(slots=True)
class _Loading:
    """The rows of a table on their way into the trace."""

    wanted: Import
    now: int
    table: _Table
    position: Callable[[], int]
    tick: Callable[[Counts], None]
    rows: int = 0
    rejected: int = 0
    siblings: list[list[Value]] = field(default_factory=list)  # keys of runs that another cluster of a federation took
    keys: Keys = field(default_factory=Keys)
    clusters: set[str] = field(default_factory=set)

    def run(self, db: sqlite3.Connection) -> Counts:
        """All of them, with a line of history: one transaction."""
        started = time.monotonic()
        load = JobLoad(db, self.table.reader.columns, self.wanted.origin or "text", apart=True)
        batch: list[tuple[Value, ...]] = []
        aside: list[tuple[int, str, bytes]] = []
        numbered = self.table.reader.first_row is not None
        columns = self.table.reader.columns
        places = [columns.index(name) for name in KEY]
        cluster = columns.index("cluster")
        state = columns.index("state") if "state" in columns else None
        with transaction(db):
            for line, text, values, reason in self.table:
                self.rows += 1
                if values is None:
                    self.rejected += 1
                    aside.append((line, reason, text.rstrip("\r\n").encode("utf-8", "surrogateescape")))
                elif state is not None and values[state] == REVOKED:
                    self.siblings.append([values[place] for place in places])
                else:
                    if numbered:
                        self._refuse_other_table(load, values)
                    else:
                        self.keys.add([values[place] for place in places], values, line)
                    batch.append(values)
                    self.clusters.add(str(values[cluster]))
                if len(batch) + len(aside) >= BATCH:
                    self._put(load, batch, aside)
            self._put(load, batch, aside)
            runs.drop_open(db, self.siblings, load.source)
            repeated = self.keys.refuse_shared()
            counts = replace(self._counts(load), repeated=repeated)
            remember_site(db, self.wanted)
            if self.wanted.map is not None and self.wanted.map.lacks_eligible:
                waits_from_submission(db, self.clusters)
            totals = (counts.rows, counts.new, counts.changed, counts.rejected, counts.skipped)
            remember(db, self.wanted, self.now, time.monotonic() - started, totals)
        return counts

    def _put(self, load: JobLoad, batch: list[tuple[Value, ...]], aside: list[tuple[int, str, bytes]]) -> None:
        load.put(batch)
        load.reject(aside, self.wanted.source, self.now)
        batch.clear()
        aside.clear()
        self.tick(self._counts(load))

    def _counts(self, load: JobLoad) -> Counts:
        reader = self.table.reader
        return Counts(
            rows=self.rows,
            new=load.new,
            changed=load.changed,
            unchanged=load.unchanged,
            rejected=self.rejected,
            skipped=len(self.siblings),
            utf8=reader.replaced,
            ambiguous=reader.ambiguous,
            contradictory=reader.contradictory,
            bytes=self.position(),
        )

    def _refuse_other_table(self, load: JobLoad, values: tuple[Value, ...]) -> None:
        """Refuse a table whose rows have moved: a row's number is its key, so rows may only be added at the end."""
        earlier = load.submitted_otherwise(values)
        if earlier is None:
            return
        row = dict(zip(self.table.reader.columns, values, strict=True))
        number, cluster, submit = row["job_id_raw"], row["cluster"], row["submit_time"]
        assert isinstance(submit, int)
        raise AdminkitError(
            f"row {number} was submitted at {show_time(submit, UTC)}, and row {number} of what the trace has of "
            f"{cluster} at {show_time(earlier, UTC)} (UTC): this is not that table with rows added at its end",
            "give it a --cluster of its own, or number its rows from where the other ends: job_id_raw = { row = … }",
        )


def preview(wanted: Import, rows: int) -> tuple[tuple[str, ...], list[Row]]:
    """(Job's columns, the first rows as they would be read); nothing is written."""
    with open_packed(wanted.path) as (stream, _):
        table = _open(wanted, stream)
        found = []
        for line, _, values, reason in table:
            found.append(Row(line, values, reason))
            if len(found) == rows:
                break
        return table.reader.columns, found


def import_table(wanted: Import, now: int, progress: Progress | None = None) -> Counts:
    """Read the whole table into the trace. A trace that is new is built beside its place.

    `progress` is called with the counts so far and the source's size in bytes, None where unknown.
    """
    with open_packed(wanted.path) as (stream, raw):
        table = _open(wanted, stream)
        size = os.fstat(raw.fileno()).st_size or None if wanted.path else None

        def tick(counts: Counts) -> None:
            if progress:
                progress(counts, size)

        loading = _Loading(wanted, now, table, lambda: raw.tell() if size else 0, tick)
        if connect.is_there(wanted.db):
            connect.prepare(wanted.db)
            with connect.writer(wanted.db) as db:
                return loading.run(db)
        with bulk_load.made(wanted.db) as target, bulk_load.opened(target) as db:
            before, after = bulk_load.later_indexes(db, key_too=False)
            for sql in before:
                db.execute(sql)
            counts = loading.run(db)
            for sql in after:
                db.execute(sql)
        return counts


def _open(wanted: Import, stream: IO[bytes]) -> _Table:
    """The table with its header read. Raises UsageError for one that the map does not fit."""
    assert wanted.map
    table = wanted.map
    rows = CsvRows(stream, ",")
    first = rows.peek()
    if not first.strip():
        raise UsageError("the input is empty", "give it a table: CSV or TSV")
    rows.delimiter = _delimiter(wanted, table, first)
    header = list(table.columns or ())
    rows.columns = len(header) or None
    records = iter(rows)
    if table.columns is None:
        _, _, cells, reason = next(records)
        if cells is None:
            raise UsageError(
                f"the first line is not a header: {reason}", "name the columns in the map: columns = [...]"
            )
        header = [cell.strip() for cell in cells]
    return _Table(rows, records, row_reader(table, header, wanted.cluster, wanted.timezone))


def _delimiter(wanted: Import, table: TableMap, first: str) -> str:
    """The delimiter: as typed or in the map, else the one that gives the first line the most columns of the map."""
    said = wanted.delimiter or table.delimiter
    if said is not None:
        if len(said) != 1:
            raise UsageError(
                f"the columns of a table are separated by one character, not by {said!r}", "leave --delimiter out"
            )
        return said
    named = {source.column for source in table.fields.values() if source.column}
    return max(DELIMITERS, key=lambda one: len(named & {w.strip(' "\r\n') for w in first.split(one)}) or -len(one))
