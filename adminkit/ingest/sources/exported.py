"""The rows of an export: tables whose columns are the trace's own. Anybody may have written them.

A malformed row is given back with the reason, and never guessed at. trace/exchange.py has the form.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from adminkit.errors import AdminkitError, UsageError, cause, unknown_word
from adminkit.files import open_folder, refuse_strange
from adminkit.ingest.sources.cells import MOST, Bad, Value, shown
from adminkit.ingest.sources.csv_rows import MAX_CHARS, CsvRows
from adminkit.job import CKPT_ENDS, LIMIT_KINDS, LIMIT_SOURCES, SOURCES, SUBMITTERS
from adminkit.trace.exchange import ABOUT, FORMAT, TABLES, Table

#: Bytes of export.json, at most.
_MOST_ABOUT: Final = 1 << 20
#: DuckDB's types of a bounded size, and text.
_FLAT: Final = re.compile(
    r"VARCHAR|BOOLEAN|DATE|DECIMAL.*|DOUBLE|FLOAT|U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|TIME.*[^]]"
)
#: Characters of a text in Parquet, of which DuckDB holds 2048 rows at least; rows that are taken over together.
_LONGEST: Final = 1 << 17
_AT_ONCE: Final = 200
_FILE: Final = re.compile(r"([a-z_]{1,20})(-[0-9]{4}-[0-9]{2}|-open)?\.(csv|jsonl|parquet)", re.ASCII)
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_STATE: Final = re.compile(r"[A-Z_]{1,40}", re.ASCII)
#: Column of job -> the words that it may have, and what stands there where a row has none.
_ONE_OF: Final[Mapping[str, Sequence[str]]] = {
    "source": tuple(SOURCES), "limit_kind": LIMIT_KINDS, "limit_source": LIMIT_SOURCES, "submitted_by": SUBMITTERS,
    "ckpt_end": CKPT_ENDS,
}  # fmt: skip
_USUAL: Final = {"source": "text", "limit_kind": "unknown", "limit_source": "unknown"}
#: Since 24.11 DBIndex has 64 bits, and is shown less 2^64 where it is 2^63 or more.
_NEGATIVE: Final = ("db_index",)
#: Lists that are empty where a node that is there has none of a kind.
_LISTS: Final = ("gpu_types", "features", "queues")

#: (line, text, values in the order of the file's columns or None, why not)
Read = tuple[int, str, tuple[Value, ...] | None, str]


@dataclass(frozen=True, slots=True)
class Exported:
    """A folder with an export: which files each table has, and how many rows each is said to have."""

    path: Path
    tables: Mapping[str, Mapping[str, int]]

    @property
    def rows(self) -> int:
        """The rows of runs and steps together."""
        return sum(sum(files.values()) for table, files in self.tables.items() if TABLES[table].of_runs)


@dataclass(slots=True)
class TableFile:
    """One open file of a table. `columns` are known once it is opened."""

    table: str
    columns: tuple[str, ...]
    rows: Iterator[Read] = field(repr=False)


def is_export(path: Path | None) -> bool:
    """Whether `path` is a folder with an export."""
    return path is not None and path.is_dir() and (path / ABOUT).exists()


def look(path: Path) -> Exported:
    """What an export says of itself. AdminkitError for one of another release, or for anything else."""
    folder = open_folder(path, links=True)
    try:
        with _open(path, ABOUT, folder) as file:
            text = file.read(_MOST_ABOUT + 1)
        about = json.loads(text) if len(text) <= _MOST_ABOUT else None
    except (ValueError, RecursionError):
        about = None
    finally:
        os.close(folder)
    if not isinstance(about, dict) or not isinstance(about.get("tables"), dict):
        raise AdminkitError(f"{path / ABOUT} is not what adminkit export writes", "export it again")
    if about.get("format") != FORMAT:
        raise AdminkitError(
            f"{path} has format {shown(str(about.get('format')))}, this release reads {FORMAT}",
            "read it with the release that wrote it, or export it again",
        )
    return Exported(path, {table: _files(path, table, files) for table, files in about["tables"].items()})


def _files(path: Path, table: str, files: Any) -> dict[str, int]:
    if table not in TABLES:
        raise unknown_word("table", table, TABLES)
    good = isinstance(files, dict) and all(
        (match := _FILE.fullmatch(name)) and match[1] == table and type(rows) is int and 0 <= rows <= MOST
        for name, rows in files.items()
    )
    if not good:
        raise AdminkitError(f"{path / ABOUT} names files of {table} that no export has", "export it again")
    return dict(files)


def open_table(path: Path, name: str, folder: int) -> TableFile:
    """A file of the export whose folder is open as `folder`. Close it by reading it to its end.

    UsageError where its columns are not the table's.
    """
    match = _FILE.fullmatch(name)
    assert match
    table, kind = match[1], match[3]
    file = _open(path, name, folder)
    if kind == "parquet":
        columns, rows = _parquet(file)
        _check_columns(name, table, columns)
        return TableFile(table, columns, _converted(table, columns, rows))
    if kind == "jsonl":
        columns = tuple(TABLES[table].columns)
        return TableFile(table, columns, _converted(table, columns, _json_lines(file, columns)))
    return read_csv(table, name, file)


def read_csv(table: str, name: str, file: IO[bytes]) -> TableFile:
    """The rows of a CSV with the table's own column names; it may lack columns, but not the key."""
    records = CsvRows(file, ",")
    found = iter(records)
    _, _, header, reason = next(found, (0, "", None, "it is empty"))
    if header is None:
        raise UsageError(f"{name} has no header: {reason}", "export it again")
    columns = tuple(header)
    _check_columns(name, table, columns)
    return TableFile(table, columns, _converted(table, columns, found))


def _check_columns(name: str, table: str, columns: Sequence[str]) -> None:
    known = TABLES[table]
    for column in columns:
        if column not in known.columns:
            raise unknown_word(f"column of {name}", column, known.columns)
    missing = [column for column in known.key if column not in columns]
    if missing or len({*columns}) < len(columns):
        raise UsageError(f"{name} lacks {', '.join(missing) or 'nothing, but names a column twice'}", "export it again")


def _open(path: Path, name: str, folder: int) -> IO[bytes]:
    """Trap: its owner may have put a link in the place of any file."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise AdminkitError(f"couldn't open {path / name}: {cause(error)}", "export it again") from error
    file = os.fdopen(handle, "rb")
    try:
        refuse_strange(path / name, os.fstat(handle).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def _json_lines(file: IO[bytes], columns: Sequence[str]) -> Iterator[tuple[int, str, Sequence[object] | None, str]]:
    with file:
        number = 0
        while raw := file.readline(MAX_CHARS + 1):
            number += 1
            text = raw.decode("utf-8", "surrogateescape")
            try:
                row = json.loads(raw) if len(raw) <= MAX_CHARS else "too long"
            except (ValueError, RecursionError):
                row = "not JSON"
            if not isinstance(row, dict):
                yield number, text, None, "not a JSON object on one line"
            elif strange := [key for key in row if key not in columns]:
                yield number, text, None, f"no column is called {shown(strange[0])}"
            else:
                yield number, text, [row.get(column) for column in columns], ""


def _parquet(file: IO[bytes]) -> tuple[tuple[str, ...], Iterator[tuple[int, str, Sequence[object] | None, str]]]:
    try:
        import duckdb
    except ImportError as error:
        raise AdminkitError(
            "Parquet needs DuckDB, which is not installed", "pip install 'adminkit[parquet]', or export it as csv"
        ) from error
    # Trap: by its path another file could be opened than the one that was looked at.
    duck = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False})
    try:
        found = duck.from_parquet(f"/proc/self/fd/{file.fileno()}")
        kinds = dict(zip(map(str, found.columns), map(str, found.types), strict=True))
        if nested := [name for name, kind in kinds.items() if not _FLAT.fullmatch(kind)]:
            raise UsageError(f"column {shown(nested[0])} has neither texts nor numbers", "export it again")
        # Trap: a text that a file of a few kB has thousands of times is as many GB, so it is cut while it is read.
        cut = ", ".join(f"left(#{n}, {_LONGEST + 1})" if kinds[name] == "VARCHAR" else f"#{n}"
                        for n, name in enumerate(kinds, 1))  # fmt: skip
        found.project(cut).create_view("cut")
        answer = duck.execute("FROM cut")
    except (duckdb.Error, RuntimeError) as error:  # RuntimeError: a name that is not UTF-8
        raise AdminkitError("this is not a Parquet file, or DuckDB cannot read it", "export it again") from error

    def _batch() -> list[tuple[object, ...]]:
        try:
            return list(answer.fetchmany(_AT_ONCE))
        except (duckdb.Error, RuntimeError) as error:
            raise AdminkitError("a Parquet file is damaged, or needs too much memory", "export it again") from error

    def rows() -> Iterator[tuple[int, str, Sequence[object] | None, str]]:
        number = 0
        with file, duck:
            while batch := _batch():
                for row in batch:
                    number += 1
                    long = any(isinstance(cell, str) and len(cell) > _LONGEST for cell in row)
                    yield number, "", None if long else row, "too long" if long else ""

    return tuple(kinds), rows()


def _converted(
    table: str, columns: Sequence[str], rows: Iterator[tuple[int, str, Sequence[object] | None, str]]
) -> Iterator[Read]:
    """Values in the types of the table. A text is read as a number where the column has numbers."""
    known = TABLES[table]
    convert = [_converter(known, column) for column in columns]
    present = list(columns).index("present") if "present" in columns else None
    for line, text, cells, reason in rows:
        if cells is None:
            yield line, text, None, reason
            continue
        try:
            values = tuple(change(cell) for change, cell in zip(convert, cells, strict=True))
            if present is not None and values[present] == 1:
                values = tuple("" if v is None and c in _LISTS else v for c, v in zip(columns, values, strict=True))
        except Bad as error:
            yield line, text or repr(cells), None, str(error)
        else:
            yield line, text, values, ""


def _converter(table: Table, column: str) -> Callable[[object], Value]:
    kind = table.columns[column]
    change = {int: _integer(column), float: _real, str: _text(column)}[kind]
    usual = _USUAL.get(column) if table.of_runs else None

    def converted(cell: object) -> Value:
        if cell is None or cell == "":
            if column in table.key:
                raise Bad(f"{column} is missing")
            return usual
        try:
            return change(cell)
        except Bad as error:
            raise Bad(f"{column}: {error}") from None

    return converted


def _integer(column: str) -> Callable[[object], Value]:
    least, most = (-(1 << 63), (1 << 63) - 1) if column in _NEGATIVE else (0, MOST)

    def change(cell: object) -> int:
        if isinstance(cell, str) and _WHOLE.fullmatch(cell):
            cell = int(cell)
        if type(cell) is not int:
            raise Bad(f"{shown(str(cell))} is not a whole number")
        if not least <= cell <= most:
            raise Bad(f"{shown(str(cell))} is {'too large' if cell > most else 'below 0'}")
        return cell

    return change


def _real(cell: object) -> float:
    try:
        value = float(cell) if isinstance(cell, (str, int, float)) and not isinstance(cell, bool) else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not 0 <= value <= MOST:
        raise Bad(f"{shown(str(cell))} is not a number of at least 0")
    return value


def _text(column: str) -> Callable[[object], Value]:
    words = _ONE_OF.get(column)

    def change(cell: object) -> str:
        if not isinstance(cell, str):
            raise Bad(f"{shown(str(cell))} is not a text")
        if "\0" in cell:
            raise Bad("a NUL byte")
        if words and cell not in words:
            raise Bad(f"{shown(cell)} is not one of {', '.join(words)}")
        if column == "state" and not _STATE.fullmatch(cell):
            raise Bad(f"{shown(cell)} is not a state of Slurm's")
        return cell if cell.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in cell)

    return change
