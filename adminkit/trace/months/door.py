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
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from adminkit import config, journal
from adminkit.sqlite import sqlite3
from adminkit.trace.columns import Texts, masked_columns, with_nan
from adminkit.trace.columns import columns as columns_of_sqlite
from adminkit.trace.measured import in_sqlite
from adminkit.trace.months import duck, manifest, place
from adminkit.trace.months.duck import TEXT, arrays, quoted, selected
from adminkit.trace.months.grouping import Groups, group
from adminkit.trace.months.manifest import Month, MonthFile
from adminkit.trace.months.rest import others
from adminkit.trace.months.sql import for_duckdb, is_for_both, parameters_of, words_of
from adminkit.trace.months.words import Coded, Words, code_of

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
        return found or columns_of_sqlite(db, texts, in_sqlite(db, numbers), rest, given)


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
        columns = columns_of_sqlite(db, texts, in_sqlite(db, [*numbers, *sums, *most, "1"]), rest, given)
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
    words: Words | None  # of the files, where there are any


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
            return _Session(wanted, None, "", (), None)
        good, bad = self._stack.enter_context(place.opened(self._trace, list(wanted)))
        for one, why in bad:
            if one not in self._refused:
                self._refused.add(one)
                journal.refused("months", folder.joinpath(*place.file_of(*one[:3])), one.cluster, why)
        if not good:
            return _Session(wanted, None, "", (), None)
        paths = [f"/proc/self/fd/{handle}" for _, handle in good]
        scratch = folder / place.SCRATCH
        settings = config.load().months
        made = self._stack.enter_context(
            duck.connected(settings, scratch if os.access(scratch, os.W_OK) else None, paths)
        )
        source = f"read_parquet([{', '.join(map(duck.literal, paths))}], hive_partitioning = false)"
        return _Session(
            wanted, made, source, tuple(Month(one.cluster, one.month) for one, _ in good), Words(made, source)
        )

    def columns(
        self, texts: Sequence[str], numbers: Sequence[str], rest: str, given: Mapping[str, Any] | Sequence[Any]
    ) -> tuple[list[Texts], list[NDArray[Any]]] | None:
        """What columns() answers; None where DuckDB cannot."""
        listed = [f"{one} AS n{place}" for place, one in enumerate(numbers)]
        with self._answering((*texts, *numbers), rest) as ask:
            try:
                coded = self._coded(ask, texts)
                found, values = self._read(ask, texts, coded, listed, rest, given)
            except duck.failures():
                return None
        return found, [*map(_number, values.values())]

    def _coded(self, ask: _Ask, texts: Sequence[str]) -> list[Coded | None]:
        """The texts as numbers; None for an expression that is not a column of the view, or that has too many
        words."""
        assert self._session and self._session.words
        words = self._session.words
        return [
            words.coded(text, ask.texts[text], place) if text in ask.texts else None for place, text in enumerate(texts)
        ]

    def _read(
        self,
        ask: _Ask,
        texts: Sequence[str],
        coded: Sequence[Coded | None],
        listed: Sequence[str],
        rest: str,
        given: Mapping[str, Any] | Sequence[Any],
    ) -> tuple[list[Texts], dict[str, NDArray[Any]]]:
        """What "SELECT texts, listed" + rest answers; columns of `listed` by their names."""
        assert self._session and self._session.words
        words = {f"t{place}": one.words if one else [] for place, one in enumerate(coded)}
        its = [
            f"{one.sql if one else text} AS t{place}"
            for place, (one, text) in enumerate(zip(coded, texts, strict=True))
        ]
        lists = {name: some for one in coded if one for name, some in one.given.items()}
        sql = f"{{run}} SELECT {', '.join((*its, *listed))} {rest}"
        if late := [f"t{place}" for place, one in enumerate(coded) if one is None]:
            ask(f"CREATE OR REPLACE TEMP TABLE answer AS {sql}", given, lists)
            for name in late:
                words[name] = [None, *self._session.words.make_type(name, "answer")]
            codes = [f"{code_of(name, name)} AS {name}" for name in late]
            sql, given, lists = f"SELECT * REPLACE ({', '.join(codes)}) FROM answer", {}, {}
        values = ask(sql, given, lists).fetchnumpy()
        return [Texts(_code(values.pop(name)), some) for name, some in words.items()], values

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
        listed = [
            *(f"{one} AS n{place}" for place, one in enumerate(numbers)),
            "count(*) AS jobs",
            *(f"coalesce(sum({one}), 0)::BIGINT AS s{place}" for place, one in enumerate(sums)),
            *(f"max({one}) AS m{place}" for place, one in enumerate(most)),
        ]
        with self._answering((*texts, *numbers, *sums, *most), rest) as ask:
            try:
                coded = self._coded(ask, texts)
                keys = [not (one and one.is_constant) for one in coded] + [True] * len(numbers)
                by = ", ".join(str(place) for place, varies in enumerate(keys, 1) if varies)
                rows = f"GROUP BY {by}" if by else "HAVING count(*) > 0" if keys else ""
                found, values = self._read(ask, texts, coded, listed, f"{rest} {rows}", given)
            except duck.failures():
                return None
        columns = list(values.values())
        end = len(numbers) + 1 + len(sums)
        return Groups(
            found,
            [*map(_number, columns[: len(numbers)])],
            values["jobs"],
            columns[len(numbers) + 1 : end],
            [*map(_number, columns[end:])],
        )

    @contextmanager
    def _answering(self, expressions: Sequence[str], rest: str) -> Iterator[_Ask]:
        """What has DuckDB execute SQL over the view run."""
        session = self._session
        assert session
        kinds = duck.kinds_of(self._db)
        used = words_of((*expressions, rest))
        wanted = {name: kind for name, kind in kinds.items() if name in used} or {"job_id_raw": kinds["job_id_raw"]}
        texts = [name for name, kind in wanted.items() if kind == TEXT]
        numbers = [name for name in wanted if name not in texts]
        which, given = others(session.months, manifest.clusters(self._db))
        found, values = masked_columns(
            self._db, [*map(quoted, texts)], in_sqlite(self._db, numbers), f"FROM run WHERE {which}", given
        )
        session.duck.register("others", arrays(found, values, [*texts, *numbers]))
        more = (
            f" UNION ALL {selected(wanted, 'others', wanted)}"
            if len((*values, *(one.codes for one in found))[0])
            else ""
        )
        run = f"WITH run AS NOT MATERIALIZED (SELECT {', '.join(map(quoted, wanted))} FROM {session.source}{more})"
        try:
            yield _Ask(session.duck, run, {name: {*one.names} for name, one in zip(texts, found, strict=True)})
        finally:
            session.duck.unregister("others")


@dataclass(frozen=True, slots=True)
class _Ask:
    """Has DuckDB execute SQL with parameters, where {run} stands for the view."""

    duck: Any
    run: str
    texts: Mapping[
        str, set[str | None]
    ]  # columns of the view that are texts -> what runs have there that are in no file

    def __call__(
        self, sql: str, given: Mapping[str, Any] | Sequence[Any], more: Mapping[str, list[str]] = MappingProxyType({})
    ) -> Any:
        """`more`: parameters that `sql` has as DuckDB spells them."""
        names = parameters_of([sql])
        values = {name: given[name] for name in names} if isinstance(given, Mapping) else {}
        return self.duck.execute(for_duckdb(sql).replace("{run}", self.run), {**values, **more})


def _code(values: NDArray[Any]) -> NDArray[Any]:
    """Places of words; 0 for unknown ones."""
    import numpy as np

    return values.filled(0) if isinstance(values, np.ma.MaskedArray) else values


def _number(values: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers as SQLite's are."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        values = with_nan(values.astype(np.float64))
    return values.astype(np.int8) if values.dtype.kind == "b" else values
