"""A map: which column of somebody's job table is which field of a Job, in which unit. Read from TOML, checked whole."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError, UsageError, unknown_word
from adminkit.files import read_named
from adminkit.ingest.sources import cells
from adminkit.ingest.sources.table_row import followed
from adminkit.installed import data_file
from adminkit.toml import NoToml, parse_toml

#: What a map may fill in, and the units of its cells, the usual one first.
TEXTS: Final = ("cluster", "job_id", "user", "group", "account", "queue", "qos", "job_name", "reason", "flags",
                "gpu_type", "gpu_parts", "req_gpu_parts", "node_list")  # fmt: skip
COUNTED: Final = ("array_job", "array_task", "het_job", "het_offset", "uid", "cancelled_by", "priority", "restarts",
                  "req_nodes", "req_cpus", "req_gpus", "nodes", "cpus", "gpus")  # fmt: skip
CODES: Final = ("exit_code", "exit_signal", "derived_exit_code")
TIMES: Final = ("submit_time", "eligible_time", "start_time", "end_time")
DURATIONS: Final = ("elapsed", "suspended", "cpu_time", "time_limit", "limit_original")
SIZES: Final = ("req_mem", "mem", "max_rss", "disk_read", "disk_write")
#: Texts that fill several columns.
TRES: Final = ("alloc_tres", "req_tres")
FIELDS: Final = (
    "job_id_raw",
    "state",
    "limit_source",
    "energy",
    *TEXTS,
    *COUNTED,
    *CODES,
    *TIMES,
    *DURATIONS,
    *SIZES,
)
#: A run's key: without them there is no row. The cluster may come from the command line.
NEEDED: Final = ("job_id_raw", "submit_time")
TABLES: Final = ("fields", "states")
SETTINGS: Final = ("about", "columns", "delimiter", "second_0", "time", "unknown", "zone")
KEYS: Final = ("column", "constant", "join", "prefix", "row", "sum", "time", "unit")
#: Where a field may come from.
WAYS: Final = ("column", "constant", "join", "row", "sum")
#: Durations that may be the sum of columns.
SUMMED: Final = ("cpu_time",)
#: Counts whose units may be parts of one.
IN_PARTS: Final = ("req_cpus", "cpus")

#: The units of each field's cells, the usual one first; a field without any is a number or a name as it stands.
UNITS: Final[dict[str, tuple[str, ...]]] = {
    **{name: tuple(cells.COUNTS) for name in COUNTED},
    **dict.fromkeys(IN_PARTS, (*cells.COUNTS, *cells.PARTS)),
    **{name: ("seconds", *(unit for unit in cells.SECONDS if unit != "seconds"), cells.CLOCK) for name in DURATIONS},
    **{name: tuple(cells.BYTES) for name in SIZES},
    "energy": tuple(cells.JOULES),
}

#: What tables write where there is nothing.
UNKNOWN: Final = ("", "NaN", "nan", "NaT", "NULL", "null", "None", "NA", "N/A", "\\N")
MAX_BYTES: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class FieldSource:
    """Where a field comes from; one of WAYS."""

    column: str | None = None
    constant: str | None = None
    row: int | None = None  # the number of the first row
    join: tuple[str, ...] = ()  # columns that make one name or number
    terms: tuple[FieldSource, ...] = ()  # durations that are added up
    # A time among the fields, and what is added to it: FieldSource(sum=(field, …)) if that is a field, too.
    sum: tuple[str, FieldSource] | None = None
    unit: str | None = None
    time: str | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class TableMap:
    """A whole map. `name` is that of its file, for messages."""

    name: str
    fields: Mapping[str, FieldSource]
    states: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    columns: tuple[str, ...] | None = None  # of a table without a header
    delimiter: str | None = None
    time: str = cells.ISO
    unknown: frozenset[str] = frozenset(UNKNOWN)
    zone: str | None = None
    second_0: str | None = (
        None  # when times as numbers begin: epoch seconds or a date; None: 1970, where 0 says nothing
    )

    @property
    def lacks_eligible(self) -> bool:
        """Whether jobs wait from their submission, as no column says when they were eligible."""
        return "eligible_time" not in self.fields and "start_time" in (*self.fields, *followed(self.fields))


def shipped() -> dict[str, Path]:
    """The maps that came with adminkit, by name."""
    try:
        folder = data_file("etc", "maps", "philly.toml").parent
    except AdminkitError:
        return {}
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find_map(word: str) -> Path:
    """The path of a map: the name of one that came with adminkit, else a file."""
    known = shipped()
    if word in known:
        return known[word]
    path = Path(word)
    if "/" not in word and path.suffix != ".toml" and not path.exists():
        raise UsageError(f"no such map: {word}", f"{unknown_word('map', word, known).hint} Or name a file: ./my.toml")
    return path


def load_map(path: Path) -> TableMap:
    """Read and check a map. AdminkitError where it cannot be read, UsageError for the first thing wrong in it."""
    text = read_named(path, MAX_BYTES, "name the map with --map, and the table without")
    try:
        raw = parse_toml(text.decode("utf-8"))
    except (NoToml, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}", 'text goes in quotes: elapsed = "duration"') from error
    return _Reader(path.name).read(raw)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks one file; every message begins with its `name`."""

    name: str

    def read(self, raw: Mapping[str, Any]) -> TableMap:
        self._known("key", raw, (*SETTINGS, *TABLES))
        fields = self._table(raw, "fields")
        self._known("field", fields, (*FIELDS, *TRES))
        for missing in (name for name in NEEDED if name not in fields):
            raise self._wrong(f"[fields] lacks {missing}, so the rows have no key", f'{missing} = "their column"')
        sources = {name: self._source(name, value) for name, value in fields.items()}
        self._check_sums(sources)
        columns = raw.get("columns")
        delimiter = self._text(raw, "delimiter") or None
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
            raise self._wrong("delimiter must be one character", 'write "," or "\\t"')
        return TableMap(
            self.name,
            sources,
            self._states(raw),
            self._text(raw, "about"),
            None if columns is None else self._words(columns, "columns"),
            delimiter,
            self._time(self._text(raw, "time") or cells.ISO),
            frozenset(self._words(raw.get("unknown", list(UNKNOWN)), "unknown")),
            self._text(raw, "zone") or None,
            self._second_0(raw.get("second_0")),
        )

    def _source(self, field: str, value: object) -> FieldSource:
        """Where a field comes from: a column's name, or a table with more."""
        if isinstance(value, str):
            return FieldSource(column=value, unit=self._unit(field, None))
        if not isinstance(value, dict):
            raise self._wrong(f"{field} is neither a column's name nor a table", f'{field} = "their column"')
        self._known(f"key of {field}", value, KEYS)
        ways = [key for key in WAYS if key in value]
        if len(ways) != 1:
            raise self._wrong(f"{field} needs one of {', '.join(WAYS)}", f'{field} = {{ column = "…" }}')
        source = FieldSource(
            column=self._text(value, "column") or None,
            constant=self._constant(field, value),
            row=self._row(field, value),
            join=self._join(field, value),
            terms=self._terms(field, value),
            sum=self._sum(field, value),
            unit=self._unit(field, value.get("unit")),
            time=self._time(self._text(value, "time")) if "time" in value else None,
            prefix=self._text(value, "prefix"),
        )
        if source.prefix and field not in TEXTS:
            raise self._wrong(f"{field} does not accept a prefix", "prefixes are for names")
        if source.time and field not in TIMES:
            raise self._wrong(f"{field} does not accept a time", f"times are {', '.join(TIMES)}")
        return source

    def _constant(self, field: str, value: Mapping[str, Any]) -> str | None:
        constant = value.get("constant")
        if isinstance(constant, bool) or not isinstance(constant, str | int | float | None):
            raise self._wrong(f"the constant of {field} is neither a string nor a number", 'constant = "gpu"')
        return None if constant is None else str(constant)

    def _row(self, field: str, value: Mapping[str, Any]) -> int | None:
        row = value.get("row")
        if row is None:
            return None
        if field != "job_id_raw" or isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < cells.MOST:
            raise self._wrong("row must be the number of the first row", "job_id_raw = { row = 1 }, of no other field")
        return row

    def _join(self, field: str, value: Mapping[str, Any]) -> tuple[str, ...]:
        if "join" not in value:
            return ()
        columns = self._words(value["join"], f"join of {field}")
        if (field != "job_id_raw" and field not in TEXTS) or len(columns) < 2:
            raise self._wrong(f"{field} cannot be joined: only job_id_raw and names can, of two columns or more",
                              'job_id_raw = { join = ["job", "task"] }')  # fmt: skip
        return columns

    def _terms(self, field: str, value: Mapping[str, Any]) -> tuple[FieldSource, ...]:
        """The durations that make one, such as the CPU time of a user's code and of the kernel."""
        parts = value.get("sum")
        if field not in SUMMED or not isinstance(parts, list) or len(parts) < 2:
            return ()
        found = tuple(self._source(field, part) for part in parts)
        if not all(one.column for one in found):
            raise self._wrong(
                f"{field} is a sum of what is not a column", f'{field} = {{ sum = ["user_s", "system_s"] }}'
            )
        return found

    def _second_0(self, value: object) -> str | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str | datetime):
            raise self._wrong("second_0 is neither a date nor epoch seconds", 'second_0 = "2017-10-01 00:00:00"')
        return str(value)

    def _sum(self, field: str, value: Mapping[str, Any]) -> tuple[str, FieldSource] | None:
        parts = value.get("sum")
        if parts is None or (field in SUMMED and isinstance(parts, list) and len(parts) > 1):
            return None
        if field not in TIMES or not isinstance(parts, list) or len(parts) != 2 or not isinstance(parts[0], str):
            raise self._wrong(
                f"{field} cannot be a sum: only a time can, of a time and a duration",
                'end_time = { sum = ["start_time", "elapsed"] }',
            )
        self._known(f"time in the sum of {field}", parts[:1], TIMES)
        if isinstance(parts[1], str):
            self._known(f"duration in the sum of {field}", parts[1:], DURATIONS)
            return parts[0], FieldSource(sum=(parts[1], FieldSource()))
        return parts[0], self._source("elapsed", parts[1])

    def _check_sums(self, sources: Mapping[str, FieldSource]) -> None:
        """Refuse a sum of a field that the map does not have, and a time that is a sum of itself."""
        for name, source in sources.items():
            seen = [name]
            while source.sum:
                base, added = source.sum
                for part in (base, *([added.sum[0]] if added.sum else [])):
                    if part not in sources:
                        raise self._wrong(f"{seen[-1]} is a sum with {part}, which the map does not have", "add it")
                if base in seen:
                    raise self._wrong(f"{name} is a sum of itself", "one of the times needs a column")
                seen.append(base)
                source = sources[base]

    def _unit(self, field: str, unit: object) -> str | None:
        known = UNITS.get(field, ())
        if unit is None:
            return known[0] if known else None
        if not known or not isinstance(unit, str):
            raise self._wrong(
                f"{field} does not accept a unit" if not known else f"the unit of {field} must be a string",
                "leave it out",
            )
        self._known(f"unit of {field}", [unit], known)
        return unit

    def _time(self, word: str) -> str:
        if "%" not in word:
            self._known("time", [word], (cells.ISO, *cells.EPOCHS), 'or a pattern: "%d/%m/%Y %H:%M"')
        return word

    def _states(self, raw: Mapping[str, Any]) -> dict[str, str]:
        states = self._table(raw, "states") if "states" in raw else {}
        for theirs, ours in states.items():
            if not isinstance(ours, str):
                raise self._wrong(f"the state of {theirs} must be a string", 'Pass = "COMPLETED"')
            self._known("state of Slurm's", [ours], cells.STATES)
        return states

    def _table(self, raw: Mapping[str, Any], key: str) -> dict[str, Any]:
        value = raw.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(f"{key} must be a table", f"write [{key}] on a line of its own")
        return value

    def _words(self, value: object, key: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self._wrong(f"{key} must be a list of strings", f'{key} = ["…", "…"]')
        return tuple(value)

    def _text(self, raw: Mapping[str, Any], key: str) -> str:
        value = raw.get(key, "")
        if not isinstance(value, str):
            raise self._wrong(f"{key} must be a string", f'{key} = "…"')
        return value

    def _known(self, kind: str, words: Iterable[str], known: Iterable[str], more: str = "") -> None:
        for word in words:
            if word not in known:
                error = unknown_word(kind, word, known)
                raise self._wrong(error.message, f"{error.hint} {more}".strip())

    def _wrong(self, message: str, hint: str) -> UsageError:
        return UsageError(f"{self.name}: {message}", hint)


def zone_of(name: str | None) -> zoneinfo.ZoneInfo | None:
    """A time zone by its name, None for None. Raises UsageError, naming the nearest one."""
    if name is None:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise unknown_word("time zone", name, zoneinfo.available_timezones()) from error
