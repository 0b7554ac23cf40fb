"""Turns a row of a site's job table into a row of the trace, as a map says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    TRES,
    FieldSource,
    TableMap,
    zone_of,
)
from adminkit.ingest.sources.order import ORDER, contradictory, settled
from adminkit.ingest.sources.table_row import follow, followed, read_words
from adminkit.ingest.sources.table_tres import fill, filled, tres
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
    joined: tuple[int, ...] = ()  # the columns of one that is made of several
    whole: bool = False  # unknown where one of them is; else where the first one is


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
    missing: tuple[str, ...] = ()  # columns that follow from others
    of_tres: tuple[str, ...] = ()  # columns that TRES fill
    array_of_key: bool = False  # the array's number is that of the job, where there is a task
    zeros: list[int] = field(default_factory=list)  # times for which 0 says nothing, but in a row of second 0
    texts: list[cells.Text] = field(default_factory=list)
    times: dict[str, cells.Time] = field(default_factory=dict)  # by column
    contradictory: int = 0  # rows whose times contradict each other

    def read(self, row: Sequence[str], number: int) -> tuple[Value, ...]:
        """The values of the `number`-th row (from 0). Raises Bad with the reason to set it aside."""
        values: list[Value] = []
        for cell in self.steps:
            text: str | None
            if cell.joined:
                text = self._joined(row, cell)
            elif cell.index is None:
                values.append(cell.constant)
                continue
            else:
                text = row[cell.index]
            if text is None or text in self.unknown:
                values.append(None)
                continue
            try:
                values.append(cell.convert(text))
            except Bad as error:
                raise Bad(f"{cell.name}: {error}") from error
        self._drop_zeros(values)
        if any(time.later is not None for time in self.times.values()):
            self._settle(values)
        for base, added in self.sums:
            values.append(_sum(values[base], values[added]))
        found = {name: values[place] for name, place in self.places.items()}
        self._complete(found, number)
        return tuple([found[column] for column in self.columns])

    def _joined(self, row: Sequence[str], cell: Cell) -> str | None:
        """The cells of one that is made of several; None for unknown."""
        texts = [row[index] for index in cell.joined]
        known = [text not in self.unknown for text in texts]
        if not (all(known) if cell.whole else known[0]):
            return None
        return cells.JOINED.join(text for text, is_known in zip(texts, known, strict=True) if is_known)

    def _drop_zeros(self, values: list[Value]) -> None:
        """Take the second 0 of a clock for a time only in a row that was submitted then: elsewhere it says nothing."""
        submit = self.places.get("submit_time")
        if self.zeros and not (submit in self.zeros and submit is not None and values[submit] == 0):
            for place in self.zeros:
                values[place] = values[place] or None

    def _settle(self, values: list[Value]) -> None:
        """Decide which of two hours a time means, by the order of times and the run time."""
        both: list[tuple[int, ...]] = []
        for name in ORDER:
            value = self._value(values, name)
            time = self.times.get(name)
            later = () if time is None or time.later is None else (time.later,)
            both.append(() if value is None else (value, *later))
        ran = self._value(values, "elapsed")
        meant, undecided = settled(both, None if ran is None else ran + (self._value(values, "suspended") or 0))
        for name, time in self.times.items():
            if time.later is not None and name in ORDER:
                values[self.places[name]] = meant[ORDER.index(name)]
                time.ambiguous -= name not in undecided
            time.later = None

    def _value(self, values: Sequence[Value], name: str) -> int | None:
        """A number that a column says; None for one that follows from others."""
        place = self.places.get(name, len(values))
        value = values[place] if place < len(values) else None
        return value if isinstance(value, int) else None

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
        if self.array_of_key and found["array_task"] is None:
            found["array_job"] = None
        read_words(found)
        fill(found, self.of_tres)
        follow(found, self.missing)
        start, end, ran = (found.get(name) for name in ("start_time", "end_time", "elapsed"))
        self.contradictory += contradictory(found["submit_time"], start, end, ran)

    @property
    def replaced(self) -> int:
        """Bytes that were invalid UTF-8."""
        return sum(text.replaced for text in self.texts)

    @property
    def ambiguous(self) -> int:
        """Local times in an hour that occurs twice."""
        return sum(time.ambiguous for time in self.times.values())


def row_reader(table: TableMap, header: Sequence[str], cluster: str | None, timezone: str | None) -> RowReader:
    """How to read the rows of a table with these columns. `cluster` and `timezone` are the command line's.

    Raises UsageError for a column that the table does not have.
    """
    reader = RowReader((), {}, [], [], table.unknown, table.fields["job_id_raw"].row, cluster)
    planner = _Planner(table, list(header), timezone, reader)
    fields = _keyed(table.fields)
    reader.array_of_key = "array_job" in fields and "array_job" not in table.fields
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
    reader.missing = followed(fields)
    reader.of_tres = filled(fields)
    every = dict.fromkeys((*columns, *reader.missing, *reader.of_tres))
    reader.columns = tuple(name for name in every if name not in TRES)
    return reader


def _keyed(fields: Mapping[str, FieldSource]) -> dict[str, FieldSource]:
    """A map's fields, with array and job id of a run whose key is made of several columns.

    Tasks of one array share the array's number: where a map has a column of tasks and none of arrays, its job ids are
    that, and job and task together are the key.
    """
    found, raw, task = dict(fields), fields["job_id_raw"], fields.get("array_task")
    if raw.column is not None and task is not None and task.column is not None and "array_job" not in fields:
        found |= {
            "array_job": FieldSource(column=raw.column),
            "job_id_raw": FieldSource(join=(raw.column, task.column)),
        }
    if join := found["job_id_raw"].join:
        found.setdefault("job_id", FieldSource(join=join))
    return found


@dataclass(slots=True)
class _Planner:
    table: TableMap
    header: list[str]
    timezone: str | None
    reader: RowReader

    def cell(self, name: str, source: FieldSource) -> int:
        """Make `source` a value of each row; returns its place."""
        if source.join or source.terms:
            return self._several(name, source)
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
        if name in TIMES and index is not None and self.table.second_0 is None:
            self.reader.zeros.append(len(self.reader.steps) - 1)
        return len(self.reader.steps) - 1

    def _several(self, name: str, source: FieldSource) -> int:
        """Like `cell`, of a value that is made of several columns: a key, a name, a sum of durations."""
        columns = source.join or tuple(term.column or "" for term in source.terms)
        label = f"columns {', '.join(map(cells.shown, columns))} ({name})"
        if source.terms:
            convert = cells.total([self._convert(name, term) for term in source.terms])
        elif name == "job_id_raw":
            convert = cells.key
        else:
            convert = cells.Text(source.prefix, joined=True)
            self.reader.texts.append(convert)
        places = tuple(self._index(column) for column in columns)
        self.reader.steps.append(Cell(label, None, None, convert, places, whole=bool(source.terms)))
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

    def _zero(self) -> int:
        """When second 0 of the table's clock was, epoch seconds."""
        said = self.table.second_0 or "0"
        if said.isdecimal():
            return int(said)
        try:
            return cells.Time(cells.ISO, zone_of(self.timezone or self.table.zone))(said) or 0
        except Bad as error:
            raise UsageError(f"{self.table.name}: second_0: {error}", 'second_0 = "2017-10-01 00:00:00"') from error

    def _convert(self, name: str, source: FieldSource) -> Convert:
        if name in TIMES:
            time = cells.Time(source.time or self.table.time, zone_of(self.timezone or self.table.zone), self._zero())
            self.reader.times[name] = time
            return time
        if name in TEXTS:
            text = cells.Text(source.prefix)
            self.reader.texts.append(text)
            return text
        return _number(name, source.unit, self.table)


def _number(name: str, unit: str | None, table: TableMap) -> Convert:
    if name == "state":
        return cells.state(table.states)
    if name in TRES:
        return tres
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
    if unit in cells.PARTS:
        return cells.parts(cells.PARTS[unit])
    if name in COUNTED:
        return cells.whole(cells.COUNTS[unit or "count"])
    return cells.whole(negative=name in CODES)


def _sum(base: Value, added: Value) -> Value:
    return base + int(added) if isinstance(base, int) and isinstance(added, int | float) else None
