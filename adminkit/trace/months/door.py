"""What measures read runs by: `columns` and `groups`. They answer from the files of months and, for the other runs,
from SQLite, as one view `run`; or from SQLite only, where there are no such files, or where a connection does not show
everybody's jobs as they are now.

    columns(db, texts, numbers, rest, given)                "SELECT texts, numbers" + rest, as trace/columns.py has it
    groups(db, texts, numbers, sums, most, rest, given)     rest is "FROM run WHERE …", without GROUP BY

Both take SQL over the view run with named parameters, as SQLite has it (sql.py says what of it files answer).
connect.reader() gives its connections a door; other connections are answered by SQLite. Within a transaction all
answers are of the same trace. Rows come month by month, and then the others; groups in no order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adminkit import config, journal
from adminkit.sqlite import sqlite3
from adminkit.trace.columns import Texts, masked_columns, with_nan
from adminkit.trace.columns import columns as columns_of_sqlite
from adminkit.trace.months import duck, manifest, place
from adminkit.trace.months.duck import TEXT, arrays, quoted, selected
from adminkit.trace.months.grouping import Groups, group, texts_of
from adminkit.trace.months.manifest import Month, MonthFile
from adminkit.trace.months.rest import others as runs_in_none
from adminkit.trace.months.sql import for_duckdb, is_for_both, parameters_of, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The doors of connections that are open, by the id of the connection.
_doors: dict[int, _Door] = {}


def columns(
    db: sqlite3.Connection,
    texts: Sequence[str],
    numbers: Sequence[str],
    rest: str,
    given: Mapping[str, Any] | Sequence[Any] = (),
) -> tuple[list[Texts], list[NDArray[Any]]]:
    """What "SELECT texts, numbers" with `rest` answers, as columns; trace/columns.py has what they hold."""
    with _asked(db, (*texts, *numbers), rest, given) as door:
        found = door.columns(texts, numbers, rest, given) if door else None
        return found or columns_of_sqlite(db, texts, numbers, rest, given)


def groups(
    db: sqlite3.Connection,
    texts: Sequence[str],
    numbers: Sequence[str],
    sums: Sequence[str],
    most: Sequence[str],
    rest: str,
    given: Mapping[str, Any],
) -> Groups:
    """What "SELECT texts, numbers, count(*), sum(…), max(…)" with `rest` and GROUP BY texts, numbers answers: the keys
    as columns, the number of rows of each group, of each of `sums` its sum without what is unknown, a whole number, and
    of each of `most` the largest.

    NaN is an unknown number. Without keys there is one group, which may have no row.
    """
    with _asked(db, (*texts, *numbers, *sums, *most), rest, given) as door:
        found = door.groups(texts, numbers, sums, most, rest, given) if door else None
        if found:
            return found
        columns = columns_of_sqlite(db, texts, [*numbers, *sums, *most, "1"], rest, given)
        return group(*columns, len(numbers), len(sums))


@contextmanager
def of_one_trace(db: sqlite3.Connection) -> Iterator[None]:
    """One read transaction, where there is none yet: all answers are of the same trace."""
    begun = not db.in_transaction
    if begun:
        db.execute("BEGIN")
    try:
        yield
    finally:
        if begun:
            db.execute("ROLLBACK")


def reads_files(db: sqlite3.Connection, expressions: Sequence[str], rest: str, given: Mapping[str, Any]) -> bool:
    """Whether `columns` and `groups` answer this from files."""
    with _asked(db, expressions, rest, given) as door:
        return door is not None


@contextmanager
def opened(db: sqlite3.Connection, trace: Path) -> Iterator[None]:
    """Give a connection that shows everybody's jobs as they are now a door to the files of its trace."""
    with ExitStack() as stack:
        _doors[id(db)] = _Door(db, trace, stack)
        try:
            yield
        finally:
            del _doors[id(db)]


class _Session(NamedTuple):
    """Files that are open, and a connection of DuckDB's that may read them."""

    wanted: tuple[MonthFile, ...]
    duck: Any
    source: str  # SQL: all rows of the files; "" without any
    months: tuple[Month, ...]


@contextmanager
def _asked(
    db: sqlite3.Connection, expressions: Sequence[str], rest: str, given: Mapping[str, Any] | Sequence[Any]
) -> Iterator[_Door | None]:
    """A transaction, and the door where it can answer."""
    door = _doors.get(id(db))
    if door is None or not (isinstance(given, Mapping) or not given) or not is_for_both(expressions, rest):
        yield None
        return
    with of_one_trace(db):
        yield door if door.has_files() else None


class _Door:
    def __init__(self, db: sqlite3.Connection, trace: Path, stack: ExitStack) -> None:
        self._db, self._trace, self._outer = db, trace, stack
        self._session: _Session | None = None
        self._stack = stack.enter_context(ExitStack())
        self._refused: set[MonthFile] = set()

    def has_files(self) -> bool:
        """Whether files can be read, as the trace of this transaction has them."""
        wanted = tuple(manifest.files(self._db))
        if not wanted:
            return False
        if self._session is None or self._session.wanted != wanted:
            self._session = None
            self._stack.close()
            self._stack = self._outer.enter_context(ExitStack())
            self._session = self._open(wanted)
        return bool(self._session.months)

    def _open(self, wanted: tuple[MonthFile, ...]) -> _Session:
        folder = place.folder_of(self._trace)
        if not duck.is_there():
            journal.refused("months", folder, None, "DuckDB is not installed: SQLite is read, which is slower")
            return _Session(wanted, None, "", ())
        good, bad = self._stack.enter_context(place.opened(self._trace, list(wanted)))
        for one, why in bad:
            if one not in self._refused:
                self._refused.add(one)
                journal.refused("months", folder.joinpath(*place.file_of(*one[:3])), one.cluster, why)
        if not good:
            return _Session(wanted, None, "", ())
        paths = [f"/proc/self/fd/{handle}" for _, handle in good]
        scratch = folder / place.SCRATCH
        settings = config.load().months
        made = self._stack.enter_context(
            duck.connected(settings, scratch if os.access(scratch, os.W_OK) else None, paths)
        )
        source = f"read_parquet([{', '.join(map(duck.literal, paths))}], hive_partitioning = false)"
        return _Session(wanted, made, source, tuple(Month(one.cluster, one.month) for one, _ in good))

    def columns(
        self, texts: Sequence[str], numbers: Sequence[str], rest: str, given: Mapping[str, Any] | Sequence[Any]
    ) -> tuple[list[Texts], list[NDArray[Any]]] | None:
        """What columns() answers; None where DuckDB cannot."""
        names = [f"c{place}" for place in range(len(texts) + len(numbers))]
        its, others = names[: len(texts)], names[len(texts) :]
        listed = ", ".join(f"{one} AS {name}" for one, name in zip((*texts, *numbers), names, strict=True))
        with self._answering((*texts, *numbers), rest) as ask:
            try:
                if not its:
                    values = ask(f"{{run}} SELECT {listed} {rest}", given).fetchnumpy()
                    return [], [_number(values[name]) for name in others]
                ask(f"CREATE OR REPLACE TEMP TABLE answer AS {{run}} SELECT {listed} {rest}", given)
                words = [self._coded(name, ask) for name in its]
                codes = [f"coalesce(enum_code({name}::e_{name}) + 1, 0)::INTEGER AS {name}" for name in its]
                values = ask(f"SELECT {', '.join((*codes, *others))} FROM answer", {}).fetchnumpy()
                ask("DROP TABLE answer", {})
            except duck.failures():
                return None
        return [Texts(values[name], found) for name, found in zip(its, words, strict=True)], [
            _number(values[name]) for name in others
        ]

    def _coded(self, name: str, ask: Any) -> list[str | None]:
        """Make a type of the texts in a column of `answer`. Returns these after None, in the order of their codes."""
        ask(f"DROP TYPE IF EXISTS e_{name}", {})
        ask(f"CREATE TYPE e_{name} AS ENUM (SELECT DISTINCT {name} FROM answer WHERE {name} IS NOT NULL)", {})
        return [None, *(ask(f"SELECT enum_range(NULL::e_{name})", {}).fetchone()[0])]

    def groups(
        self,
        texts: Sequence[str],
        numbers: Sequence[str],
        sums: Sequence[str],
        most: Sequence[str],
        rest: str,
        given: Mapping[str, Any],
    ) -> Groups | None:
        """What groups() answers; None where DuckDB cannot."""
        keys = [f"{one} AS k{place}" for place, one in enumerate((*texts, *numbers))]
        added = [f"coalesce(sum({one}), 0)::BIGINT AS s{place}" for place, one in enumerate(sums)]
        largest = [f"max({one}) AS m{place}" for place, one in enumerate(most)]
        by = f"GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}" if keys else ""
        with self._answering((*texts, *numbers, *sums, *most), rest) as ask:
            try:
                sql = f"{{run}} SELECT {', '.join((*keys, 'count(*) AS jobs', *added, *largest))} {rest} {by}"
                if texts and numbers:
                    found, values = self._apart(sql, given, len(texts), ask)
                else:
                    values = ask(sql, given).fetchnumpy()
                    found = [texts_of(values[f"k{place}"]) for place in range(len(texts))]
            except duck.failures():
                return None
        return Groups(
            found,
            [_number(values[f"k{place}"]) for place in range(len(texts), len(keys))],
            values["jobs"],
            [values[f"s{place}"] for place in range(len(sums))],
            [_number(values[f"m{place}"]) for place in range(len(most))],
        )

    def _apart(self, sql: str, given: Mapping[str, Any], texts: int, ask: Any) -> tuple[list[Texts], Mapping[str, Any]]:
        """What groups answer of which the first keys are `texts`: these, and the other columns. Most groups differ in
        numbers only, and a Python object for each text of each would take longer than all else.
        """
        names = [f"k{place}" for place in range(texts)]
        alike = " AND ".join(f"answer.{name} IS NOT DISTINCT FROM words.{name}" for name in names)
        ask(f"CREATE OR REPLACE TEMP TABLE answer AS {sql}", given)
        ask(
            "CREATE OR REPLACE TEMP TABLE words AS SELECT *, row_number() OVER () - 1 AS word"
            f" FROM (SELECT DISTINCT {', '.join(names)} FROM answer)",
            {},
        )
        values = ask(
            f"SELECT answer.* EXCLUDE ({', '.join(names)}), word FROM answer JOIN words ON {alike}", {}
        ).fetchnumpy()
        words = ask(f"SELECT {', '.join(names)} FROM words ORDER BY word", {}).fetchnumpy()
        ask("DROP TABLE answer", {})
        ask("DROP TABLE words", {})
        place = values["word"]
        return [Texts(codes[place], known) for codes, known in (texts_of(words[name]) for name in names)], values

    @contextmanager
    def _answering(self, expressions: Sequence[str], rest: str) -> Iterator[Any]:
        """A function that has DuckDB execute SQL with parameters, where {run} stands for a CTE of that name."""
        session = self._session
        assert session
        kinds = duck.kinds_of(self._db)
        used = words_of((*expressions, rest))
        wanted = {name: kind for name, kind in kinds.items() if name in used} or {"job_id_raw": kinds["job_id_raw"]}
        listed = ", ".join(map(quoted, wanted))
        others = self._others(session, wanted)
        session.duck.register("others", others)
        more = f" UNION ALL {selected(wanted, 'others')}" if len(next(iter(others.values()))) else ""
        run = f"WITH run AS NOT MATERIALIZED (SELECT {listed} FROM {session.source}{more})"

        def ask(sql: str, given: Mapping[str, Any] | Sequence[Any]) -> Any:
            names = parameters_of([sql])
            values = {name: given[name] for name in names} if isinstance(given, Mapping) else {}
            return session.duck.execute(for_duckdb(sql).replace("{run}", run), values)

        try:
            yield ask
        finally:
            session.duck.unregister("others")

    def _others(self, session: _Session, wanted: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        """These columns of the runs that are in no file."""
        which, given = runs_in_none(session.months, manifest.clusters(self._db))
        texts = [name for name, kind in wanted.items() if kind == TEXT]
        numbers = [name for name in wanted if name not in texts]
        found, values = masked_columns(
            self._db, [*map(quoted, texts)], [*map(quoted, numbers)], f"FROM run WHERE {which}", given
        )
        return arrays(found, values, [*texts, *numbers])


def _number(values: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers as SQLite's are."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        values = with_nan(values.astype(np.float64))
    return values.astype(np.int8) if values.dtype.kind == "b" else values
