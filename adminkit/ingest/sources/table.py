"""Turns a row of a site's job table into a row of the trace, as a map says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.errors import UsageError, unknown_word
from adminkit.ingest.sources import cells
from adminkit.ingest.sources.cells import Bad, Convert, Value
from adminkit.ingest.sources.mapping import (
    CODES,
    COUNTED,
    DURATIONS,
    SIZES,
    TEXTS,
    TIMES,
    FieldSource,
    TableMap,
    zone_of,
)
from adminkit.job import KEY, LIMIT_SOURCES

#: Tried where neither the map nor the command line says it.
DELIMITERS: Final = (",", "\t", ";", "|")

#: Column of the trace -> the column that is filled together with it.
_WITH: Final = {"time_limit": "limit_kind", "state": "cancelled_by"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One value that is read from a column, or is the same in every row."""

    name: str  # for messages: the field, and the column
    index: int | None
    constant: Value
    convert: Convert


@dataclass(slots=True)
class RowReader:
    """Turns the cells of a row into values in the order of `columns`.

    The values of `steps` come first, then those of `sums`, each of the places of a time and of what is added to it.
    """

    columns: tuple[str, ...]
    places: dict[str, int]
    steps: list[Cell]
    sums: list[tuple[int, int]]
    unknown: frozenset[str]
    first_row: int | None
    cluster: str | None  # of rows that name no cluster
    texts: list[cells.Text] = field(default_factory=list)
    times: list[cells.Time] = field(default_factory=list)

    def read(self, row: Sequence[str], number: int) -> tuple[Value, ...]:
        """The values of the `number`-th row (from 0). Raises Bad with the reason to set it aside."""
        values: list[Value] = []
        for cell in self.steps:
            if cell.index is None:
                values.append(cell.constant)
                continue
            text = row[cell.index]
            if text in self.unknown:
                values.append(None)
                continue
            try:
                values.append(cell.convert(text))
            except Bad as error:
                raise Bad(f"{cell.name}: {error}") from error
        for base, added in self.sums:
            values.append(_sum(values[base], values[added]))
        found = {name: values[place] for name, place in self.places.items()}
        self._complete(found, number)
        return tuple([found[column] for column in self.columns])

    def _complete(self, found: dict[str, Value], number: int) -> None:
        """Fill in the columns that follow from others. Raises Bad for a row without a key."""
        if self.first_row is not None:
            found["job_id_raw"] = self.first_row + number
        if found["cluster"] is None:
            found["cluster"] = self.cluster
        for name in KEY:
            if found[name] is None:
                raise Bad(f"{name} is unknown, so the row has no key")
        if "job_id" not in self.places or found["job_id"] is None:
            found["job_id"] = str(found["job_id_raw"])
        if "time_limit" in found:
            limit = found["time_limit"]
            found["limit_kind"] = limit if isinstance(limit, str) else "unknown" if limit is None else "finite"
            found["time_limit"] = None if isinstance(limit, str) else limit
        if isinstance(state := found.get("state"), str):
            found["state"], by = cells.cancelled_by(state)
            found["cancelled_by"] = by if by is not None else found.get("cancelled_by")
        else:
            found.setdefault("cancelled_by", None)
        if "elapsed" not in self.places and "elapsed" in self.columns:
            start, end = found["start_time"], found["end_time"]
            found["elapsed"] = max(end - start, 0) if isinstance(start, int) and isinstance(end, int) else None

    @property
    def replaced(self) -> int:
        """Bytes that were invalid UTF-8."""
        return sum(text.replaced for text in self.texts)

    @property
    def ambiguous(self) -> int:
        """Local times in an hour that occurs twice."""
        return sum(time.ambiguous for time in self.times)


def row_reader(table: TableMap, header: Sequence[str], cluster: str | None, timezone: str | None) -> RowReader:
    """How to read the rows of a table with these columns. `cluster` and `timezone` are the command line's.

    Raises UsageError for a column that the table does not have.
    """
    reader = RowReader((), {}, [], [], table.unknown, table.fields["job_id_raw"].row, cluster)
    planner = _Planner(table, list(header), timezone, reader)
    fields = dict(table.fields)
    if cluster is not None and (fields.get("cluster") is None or fields["cluster"].column is None):
        fields["cluster"] = FieldSource(constant=cluster)
    elif "cluster" not in fields:
        raise UsageError("the rows name no cluster", "name it: --cluster NAME, or cluster in the map")
    for name, source in fields.items():
        if not source.sum and source.row is None:
            reader.places[name] = planner.cell(name, source)
    added = {name: planner.added(name, source) for name, source in fields.items() if source.sum}
    for name in fields:
        planner.sum(name, fields, added)
    columns = dict.fromkeys((*KEY, "job_id", *fields))
    columns |= {_WITH[name]: None for name in fields if name in _WITH}
    if {"start_time", "end_time"} <= fields.keys():
        columns["elapsed"] = None
    reader.columns = tuple(columns)
    return reader


@dataclass(slots=True)
class _Planner:
    table: TableMap
    header: list[str]
    timezone: str | None
    reader: RowReader

    def cell(self, name: str, source: FieldSource) -> int:
        """Make `source` a value of each row; returns its place."""
        convert = self._convert(name, source)
        index, constant, label = None, None, name
        if source.column is not None:
            label = f"column {cells.shown(source.column)} ({name})"
            index = self._index(source.column)
        elif source.constant is not None:
            try:
                constant = convert(source.constant)
            except Bad as error:
                raise UsageError(f"{self.table.name}: the constant of {name}: {error}", "correct the map") from error
        self.reader.steps.append(Cell(label, index, constant, convert))
        return len(self.reader.steps) - 1

    def added(self, name: str, source: FieldSource) -> int:
        """The place of what is added to a time to get this one."""
        assert source.sum
        addend = source.sum[1]
        return self.reader.places[addend.sum[0]] if addend.sum else self.cell("elapsed", addend)

    def sum(self, name: str, fields: dict[str, FieldSource], added: dict[str, int]) -> None:
        """Make a sum a value of each row, after those that it is made of."""
        pair = fields[name].sum
        if pair is None or name in self.reader.places:
            return
        self.sum(pair[0], fields, added)
        self.reader.sums.append((self.reader.places[pair[0]], added[name]))
        self.reader.places[name] = len(self.reader.steps) + len(self.reader.sums) - 1

    def _index(self, column: str) -> int:
        if column not in self.header:
            error = unknown_word("column", column, self.header)
            raise UsageError(f"{error.message}, which {self.table.name} names: it is not in the table", error.hint)
        if self.header.count(column) > 1:
            raise UsageError(
                f"the table has {self.header.count(column)} columns {column}", "give them names of their own"
            )
        return self.header.index(column)

    def _convert(self, name: str, source: FieldSource) -> Convert:
        if name in TIMES:
            time = cells.Time(source.time or self.table.time, zone_of(self.timezone or self.table.zone))
            self.reader.times.append(time)
            return time
        if name in TEXTS:
            text = cells.Text(source.prefix)
            self.reader.texts.append(text)
            return text
        return _number(name, source.unit, self.table)


def _number(name: str, unit: str | None, table: TableMap) -> Convert:
    if name == "state":
        return cells.state(table.states)
    if name == "limit_source":
        return cells.one_of(LIMIT_SOURCES)
    if name in DURATIONS:
        seconds = cells.clock if unit == cells.CLOCK else cells.amount(cells.SECONDS[unit or "seconds"])
        if name == "cpu_time" and unit != cells.CLOCK:
            return cells.real(cells.SECONDS[unit or "seconds"])
        return cells.limit(seconds) if name == "time_limit" else seconds
    if name in SIZES:
        return cells.amount(cells.BYTES[unit or "bytes"])
    if name == "energy":
        return cells.amount(cells.JOULES[unit or "J"])
    if name in COUNTED:
        return cells.whole(cells.COUNTS[unit or "count"])
    return cells.whole(negative=name in CODES)


def _sum(base: Value, added: Value) -> Value:
    return base + int(added) if isinstance(base, int) and isinstance(added, int | float) else None
