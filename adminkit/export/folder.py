"""An export as a folder: a file for each table, Parquet with a file for each month, and export.json, which is written
last. The folder gets its name when it is whole.
"""

from __future__ import annotations

import csv
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import adminkit
from adminkit.errors import AdminkitError, cause
from adminkit.export.pseudonyms import Pseudonyms
from adminkit.owner import as_caller, as_owner
from adminkit.sqlite import sqlite3
from adminkit.stats.exported import chosen_runs, counted, rows
from adminkit.stats.select import Filter, Selection
from adminkit.trace.exchange import ABOUT, ENDINGS, FORMAT, OPEN, TABLES, Columns

#: Rows between two calls of the progress function, and in memory at a time.
BATCH: Final = 10_000
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
Row = Sequence[object]
Rows = Iterator[Row]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to export. `kind` is one of exchange.ENDINGS; `tick` gets the number of runs and steps so far."""

    chosen: Filter
    kind: str
    pseudonyms: Pseudonyms | None
    tick: Callable[[int], None]
    now: int  # epoch seconds


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """A new folder of mode 0700 beside `path`, which gets that name at the end of the block; a failure removes it.

    AdminkitError where there is something at `path`.
    """
    with as_caller(), as_owner(path):
        if path.exists() or path.is_symlink():
            raise AdminkitError(f"{path} already exists", "choose another path, or move it away")
        building = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            building.mkdir(mode=0o700)
        except OSError as error:
            raise AdminkitError(f"couldn't make {path}: {cause(error)}", "choose another path") from error
    try:
        yield building
        with as_caller(), as_owner(path):
            building.rename(path)
    except BaseException:
        with as_caller(), as_owner(path):
            shutil.rmtree(building, ignore_errors=True)
        raise


def write_folder(db: sqlite3.Connection, path: Path, clusters: Sequence[str], wanted: Wanted) -> dict[str, int]:
    """Write the export at `path`. Returns table -> how many rows."""
    about: dict[str, Any] = {
        "format": FORMAT,
        "adminkit": adminkit.__version__,
        "made": datetime.fromtimestamp(wanted.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "kind": wanted.kind,
        "anonymised": wanted.pseudonyms is not None,
        "clusters": list(clusters),
        "since": wanted.chosen.since,
        "until": wanted.chosen.until,
        "tables": {},
    }
    done = 0
    with aside(path) as building:
        for table in TABLES:
            files: dict[str, int] = {}
            for name, which in _parts(db, table, wanted):
                found = rows(db, table, which, clusters)
                hidden = map(wanted.pseudonyms.row(table), found) if wanted.pseudonyms else found
                with as_caller(), as_owner(path):
                    before = done if TABLES[table].of_runs else None
                    files[name] = _write(building / name, table, wanted, hidden, before)
                done += files[name] if TABLES[table].of_runs else 0
            about["tables"][table] = files
        with as_caller(), as_owner(path), _new(building / ABOUT) as file:
            json.dump(about, file, indent=1)
            file.write("\n")
    return {table: sum(files.values()) for table, files in about["tables"].items()}


def _parts(db: sqlite3.Connection, table: str, wanted: Wanted) -> Iterator[tuple[str, Selection]]:
    """(file, which runs): one file, of Parquet one for each month in which a run ended (UTC), and one for open runs."""
    chosen, ending = wanted.chosen, ENDINGS[wanted.kind]
    if wanted.kind != "parquet" or not TABLES[table].of_runs:
        yield f"{table}{ending}", chosen_runs(chosen)
        return
    _, first, last = counted(db, chosen_runs(chosen))
    for begin, end in _months(first, last) if first is not None and last is not None else ():
        since = begin if chosen.since is None else max(begin, chosen.since)
        until = end if chosen.until is None else min(end, chosen.until)
        within = chosen_runs(replace(chosen, since=since, until=until))
        if counted(db, within)[0]:
            yield f"{table}-{datetime.fromtimestamp(begin, UTC):%Y-%m}{ending}", within
    still = chosen_runs(chosen, ended=False)
    if counted(db, still)[0]:
        yield f"{table}-{OPEN}{ending}", still


def _months(first: int, last: int) -> Iterator[tuple[int, int]]:
    """[begin, end) of each calendar month (UTC) from that of `first` to that of `last`, epoch seconds."""
    month = datetime.fromtimestamp(first, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while month.timestamp() <= last:
        year, number = divmod(month.year * 12 + month.month, 12)
        after = month.replace(year=year, month=number + 1)
        yield int(month.timestamp()), int(after.timestamp())
        month = after


def _write(path: Path, table: str, wanted: Wanted, found: Rows, before: int | None) -> int:
    """Write one file and return its rows. `before`: runs and steps that are written already; None: not counted."""
    counting = _Counting(found, lambda count: None if before is None else wanted.tick(before + count))
    columns = TABLES[table].columns
    if wanted.kind == "parquet":
        _write_parquet(path, columns, counting)
        return counting.count
    with _new(path) as file:
        if wanted.kind == "csv":
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for batch in counting:
                writer.writerows(batch)
        else:
            for batch in counting:
                for row in batch:
                    filled = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
                    file.write(json.dumps(filled, ensure_ascii=False) + "\n")
    return counting.count


class _Counting:
    """Rows in batches, counted when the next one is asked for."""

    def __init__(self, rows: Rows, tick: Callable[[int], None]) -> None:
        self._rows, self._tick, self.count = rows, tick, 0

    def __iter__(self) -> Iterator[list[Row]]:
        while batch := list(islice(self._rows, BATCH)):
            yield batch
            self.count += len(batch)
            self._tick(self.count)


@contextmanager
def _new(path: Path) -> Iterator[IO[str]]:
    """A new file of mode 0600, on disk when the block ends."""
    handle = os.open(path, _FLAGS, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        yield file
        file.flush()
        os.fsync(handle)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """A new file of mode 0600 beside `path`, which gets that name at the end of the block; a failure removes it.

    AdminkitError where there is something at `path`.
    """
    with as_caller(), as_owner(path):
        if path.exists() or path.is_symlink():
            raise AdminkitError(f"{path} already exists", "choose another path, or move it away")
        building = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            handle = os.open(building, _FLAGS, 0o600)
        except OSError as error:
            raise AdminkitError(f"couldn't make {path}: {cause(error)}", "choose another path") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(handle)
        with as_caller(), as_owner(path):
            building.rename(path)
    except BaseException:
        with as_caller(), as_owner(path):
            building.unlink(missing_ok=True)
        raise


def load_duckdb() -> Any:
    """DuckDB, which reads and writes Parquet. AdminkitError where it is not installed."""
    try:
        import duckdb
    except ImportError as error:
        raise AdminkitError(
            "Parquet needs DuckDB, which is not installed", "pip install 'adminkit[parquet]', or choose another --to"
        ) from error
    return duckdb


def _write_parquet(path: Path, columns: Columns, batches: Iterable[list[Row]]) -> None:
    import pandas

    kinds = {int: "Int64", float: "Float64", str: "string"}

    def frame(batch: list[Row]) -> pandas.DataFrame:
        cells = zip(*batch, strict=True) if batch else [()] * len(columns)
        return pandas.DataFrame(
            {
                name: pandas.Series(list(values), dtype=kinds[kind])
                for (name, kind), values in zip(columns.items(), cells, strict=True)
            }
        )

    # Trap: without a place of its own DuckDB spills into a folder below the current one.
    with load_duckdb().connect(config={"temp_directory": str(path.parent), "threads": 1}) as duck:
        duck.from_df(frame([])).create("rows")
        for batch in batches:
            duck.from_df(frame(batch)).insert_into("rows")
        duck.table("rows").write_parquet(str(path), compression="zstd")
    path.chmod(0o600)
