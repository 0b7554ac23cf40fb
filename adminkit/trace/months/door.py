"""What measures read runs by: `columns` and `groups`. They answer from the files of months and, for the other runs,
from SQLite, as one view `run`; or from SQLite only, where there are no such files, or where a connection does not show
everybody's jobs as they are now.

    columns(db, texts, numbers, rest, given)                "SELECT texts, numbers" + rest, as trace/columns.py has it
    groups(db, texts, numbers, sums, most, rest, given)     rest is "FROM run WHERE …", without GROUP BY
    count(db, rest, given), exists(db, rest, given)         how many rows, and whether there is one

Both take SQL over the view run with named parameters, as SQLite has it (sql.py says what of it files answer).
connect.reader() gives its connections a door; other connections are answered by SQLite. Within a transaction all
answers are of the same trace. Rows come month by month, and then the others; groups in no order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from adminkit.sqlite import sqlite3
from adminkit.trace.columns import Texts, masked_columns, with_nan
from adminkit.trace.columns import columns as columns_of_sqlite
from adminkit.trace.measured import in_sqlite
from adminkit.trace.months import duck, manifest
from adminkit.trace.months.duck import TEXT, arrays, quoted, selected
from adminkit.trace.months.grouping import Groups, group
from adminkit.trace.months.rest import others
from adminkit.trace.months.session import Answer, Files
from adminkit.trace.months.sql import for_duckdb, is_for_both, parameters_of, words_of
from adminkit.trace.months.words import Coded, code_of

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


def count(db: sqlite3.Connection, rest: str, given: Mapping[str, Any]) -> int:
    """What "SELECT count(*)" with `rest` answers."""
    with _asked(db, (), rest, given) as door:
        found = door.groups((), (), (), (), rest, given) if door else None
        return int(found.jobs[0] if found else db.execute(f"SELECT count(*) {rest}", given).fetchone()[0])


def exists(db: sqlite3.Connection, rest: str, given: Mapping[str, Any]) -> bool:
    """Whether "SELECT 1" with `rest` answers with a row."""
    with _asked(db, (), rest, given) as door:
        found = door.columns((), ("1",), f"{rest} LIMIT 1", given) if door else None
        if found:
            return len(found[1][0]) > 0
        return db.execute(f"SELECT 1 {rest} LIMIT 1", given).fetchone() is not None


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
            db.execute("COMMIT")  # what was read of the archive stays


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
        yield door if door.has_files(rest, given) else None


class _Door:
    def __init__(self, db: sqlite3.Connection, trace: Path, stack: ExitStack) -> None:
        self._db, self._files = db, Files(db, trace, stack)
        self._answer: Answer | None = None

    def has_files(self, rest: str, given: Mapping[str, Any] | Sequence[Any]) -> bool:
        """Whether this question can be answered from files, as the trace of this transaction has them."""
        self._answer = self._files.answer(rest, given)
        return self._answer is not None

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
        assert self._answer
        words = self._answer.words
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
        assert self._answer
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
                words[name] = [None, *self._answer.words.make_type(name, "answer")]
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
        assert self._answer
        made, _, source, months, window = self._answer
        kinds = duck.kinds_of(self._db)
        used = words_of((*expressions, rest))
        wanted = {name: kind for name, kind in kinds.items() if name in used} or {"job_id_raw": kinds["job_id_raw"]}
        texts = [name for name, kind in wanted.items() if kind == TEXT]
        numbers = [name for name in wanted if name not in texts]
        which, given = others(months, manifest.clusters(self._db), window)
        found, values = masked_columns(
            self._db,
            [*map(quoted, texts)],
            _of_main(in_sqlite(self._db, numbers)),
            f"FROM main.run WHERE {which}",
            given,
        )
        made.register("others", arrays(found, values, [*texts, *numbers]))
        more = (
            f" UNION ALL {selected(wanted, 'others', wanted)}"
            if len((*values, *(one.codes for one in found))[0])
            else ""
        )
        run = f"WITH run AS NOT MATERIALIZED (SELECT {', '.join(map(quoted, wanted))} FROM {source}{more})"
        try:
            yield _Ask(made, run, {name: {*one.names} for name, one in zip(texts, found, strict=True)})
        finally:
            made.unregister("others")


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


def _of_main(sql: Sequence[str]) -> list[str]:
    """The same SQL, over the steps of SQLite only: those of its runs."""
    return [one.replace("FROM step", "FROM main.step") for one in sql]


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
