"""DuckDB for files of months: it reads and writes the files that it is given, and nothing else.

It loads no extension, uses no network, and its settings are locked. The module is imported only where it is used.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adminkit.job import Job, Step
from adminkit.owner import as_caller
from adminkit.sections import Months
from adminkit.sqlite import sqlite3
from adminkit.trace.columns import Texts
from adminkit.trace.measured import MEASURED

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Derived columns of the view run that are texts, and that may be fractions; the others are whole numbers.
_TEXTS: Final = ("class", "gpu_kind")
_FRACTIONS: Final = ("size_gpus", "size_units")
TEXT: Final = "VARCHAR"
#: Functions of SQLite that DuckDB lacks.
_MACROS: Final = ("CREATE MACRO likelihood(x, p) AS x",)


@cache
def is_there() -> bool:
    """Whether DuckDB is installed."""
    return find_spec("duckdb") is not None


def failures() -> tuple[type[Exception], ...]:
    """What DuckDB raises. Called where it has been used."""
    import duckdb

    return duckdb.Error, RuntimeError


@contextmanager
def connected(settings: Months, scratch: Path | None, paths: Sequence[str] = ()) -> Iterator[Any]:
    """A connection that may read `paths`, and read and write below `scratch`, where it puts what does not fit."""
    with as_caller():
        import duckdb

    config: dict[str, Any] = {
        "threads": settings.threads,
        "memory_limit": f"{settings.memory}B",
        "temp_directory": "" if scratch is None else str(scratch),
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
    }
    with duckdb.connect(":memory:", config=config) as duck:
        for setting, value in (
            ("allowed_paths", list(paths)),
            ("allowed_directories", [] if scratch is None else [f"{scratch}/"]),
        ):
            duck.execute(f"SET {setting} = [{', '.join(map(literal, value))}]")
        for statement in (
            "SET integer_division = true",
            "SET ieee_floating_point_ops = false",
            "SET parquet_metadata_cache = true",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
            *_MACROS,
        ):
            duck.execute(statement)
        yield duck


def rows_of(paths: Sequence[str], *, gone: bool = False) -> str:
    """SQL: the rows of these files; `gone`: but for the runs that without() named."""
    source = f"read_parquet([{', '.join(map(literal, paths))}], hive_partitioning = false)"
    return f"(FROM {source} ANTI JOIN gone USING (cluster, job_id_raw, submit_time))" if gone else source


def without(made: Any, runs: Sequence[tuple[str, int, int]]) -> None:
    """Name runs (cluster, JobIDRaw, Submit) that are in files and count no more."""
    if runs:
        made.execute("CREATE TABLE gone (cluster VARCHAR, job_id_raw BIGINT, submit_time BIGINT)")
        made.executemany("INSERT INTO gone VALUES (?, ?, ?)", runs)


def literal(text: str) -> str:
    """SQL: a text."""
    return "'{}'".format(text.replace("'", "''"))


def kinds_of(db: sqlite3.Connection, name: str = "run") -> dict[str, str]:
    """Column -> DuckDB's type, in the order of the view run, which has MEASURED behind it, or of the table step."""
    declared = {one.name: str(one.type) for one in fields(Step if name == "step" else Job)}
    found = {}
    for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (name,)):
        kind = declared.get(column, "str" if column in _TEXTS else "float" if column in _FRACTIONS else "int")
        found[column] = TEXT if "str" in kind else "DOUBLE" if "float" in kind else "BIGINT"
    return found if name == "step" else {**found, **dict.fromkeys(MEASURED, "DOUBLE")}


def quoted(name: str) -> str:
    """SQL: the name of a column."""
    return f'"{name}"'


def arrays(
    texts: Sequence[Texts], numbers: Sequence[NDArray[Any]], names: Sequence[str], *, known: bool = False
) -> dict[str, NDArray[Any]]:
    """Columns as DuckDB reads them, by name: those of texts first. `known`: only those in which something is known."""
    import numpy as np

    found: dict[str, NDArray[Any]] = {}
    for name, (codes, words) in zip(names, texts, strict=False):
        if not known or [*words] != [None]:
            found[name] = np.array([*words, None], object)[codes]
    for name, column in zip(names[len(texts) :], numbers, strict=True):
        if not known or not (isinstance(column, np.ma.MaskedArray) and column.mask.all()):
            found[name] = column
    return found


def selected(kinds: Mapping[str, str], source: str, there: Container[str]) -> str:
    """SQL: these columns of what was registered as `source`, each of its type; NULL for those that are not there."""
    listed = (f"{quoted(name) if name in there else 'NULL'}::{kind} AS {quoted(name)}" for name, kind in kinds.items())
    return f"SELECT {', '.join(listed)} FROM {source}"
