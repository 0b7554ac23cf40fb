"""The jobs that a Selection takes, as columns, and how many each of its rules left out: one scan of the trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.grouped import blocks, values_of
from adminkit.stats.select import LeftOut, Selection
from adminkit.trace.columns import Texts
from adminkit.trace.months import edges
from adminkit.trace.months.door import columns, groups, of_one_trace, reads_files

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RUN: Final = "run WHERE {where}"
_WORD: Final = re.compile(r"[a-z_]+")


@dataclass(frozen=True, slots=True)
class Taken:
    """The jobs that count; see trace/columns.py for what columns hold."""

    texts: Sequence[Texts]
    numbers: Sequence[NDArray[Any]]
    jobs: int
    excluded: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Alike:
    """The jobs that count, in rows of jobs that are alike in `texts` and `numbers`. Whoever reads rows may put them
    together, or not: measures answer the same for three rows of one job and one row of three jobs, to the last digit.
    """

    texts: Sequence[Texts]
    numbers: Sequence[NDArray[Any]]
    many: NDArray[Any]  # how many jobs a row stands for, int64
    sums: Sequence[NDArray[Any]]  # over the jobs of a row: whole numbers, as narrow as they allow
    most: Sequence[NDArray[Any]]  # the largest of the jobs of a row
    jobs: int
    excluded: Mapping[str, int]


def alike(
    db: sqlite3.Connection,
    selection: Selection,
    texts: Sequence[str],
    numbers: Sequence[str],
    *,
    sums: Sequence[str] = (),
    most: Sequence[str] = (),
    given: Mapping[str, str | float] | None = None,
    once: bool = False,
) -> Alike:
    """As taken(), for measures that do not need each job by itself. `sums` are SQL of whole numbers, an unknown one
    counts as 0; `most` are SQL of numbers. `once` for SQL that names the same columns again and again, and few texts:
    SQLite reads each once, which takes longer for others.
    """
    return alikes(db, selection, [Ask(texts, numbers, sums, most)], given, once=once)[0]


class Ask(NamedTuple):
    """What alike() takes: SQL over the view run."""

    texts: Sequence[str]
    numbers: Sequence[str]
    sums: Sequence[str] = ()
    most: Sequence[str] = ()


def alikes(
    db: sqlite3.Connection,
    selection: Selection,
    asked: Sequence[Ask],
    given: Mapping[str, str | float] | None = None,
    *,
    once: bool = False,
) -> list[Alike]:
    """alike() of the same jobs for each of `asked`: SQLite reads them together, and what several name only once."""
    rest, params = f"FROM run WHERE {selection.plain}", {**selection.params, **(given or {})}
    with of_one_trace(db):
        found: list[Alike | None] = [None] * len(asked)
        for k, one in enumerate(asked):
            if reads_files(db, (*one.texts, *one.numbers, *one.sums, *one.most), rest, params):
                rows = groups(db, *one, rest, params)
                jobs = int(rows.jobs.sum())
                excluded = next((other.excluded for other in found if other), None)
                excluded = _left_out(db, selection, jobs) if excluded is None else excluded
                found[k] = Alike(*rows[:2], rows.jobs, rows.sums, rows.most, jobs, excluded)
        others = iter(
            _row_by_row(db, selection, [one for one, of in zip(asked, found, strict=True) if not of], params, once)
        )
        return [one or next(others) for one in found]


def _row_by_row(
    db: sqlite3.Connection, selection: Selection, asked: Sequence[Ask], params: Mapping[str, Any], once: bool
) -> list[Alike]:
    """alikes() by SQLite, where every job is a row."""
    import numpy as np

    if not asked:
        return []
    texts = list(dict.fromkeys(sql for one in asked for sql in one.texts))
    numbers = list(dict.fromkeys(sql for one in asked for sql in (*one.numbers, *one.sums, *one.most)))
    found = _by_sqlite(db, selection, texts, numbers, params, _each_once(db, (*texts, *numbers)) if once else _RUN)
    words, values = dict(zip(texts, found.texts, strict=True)), dict(zip(numbers, found.numbers, strict=True))
    ones = np.broadcast_to(np.int64(1), found.jobs)
    return [
        Alike(
            [words[sql] for sql in one.texts],
            [values[sql] for sql in one.numbers],
            ones,
            [_whole(values[sql]) for sql in one.sums],
            [values[sql] for sql in one.most],
            found.jobs,
            found.excluded,
        )
        for one in asked
    ]


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """0 for what is unknown."""
    import numpy as np

    return np.nan_to_num(values).astype(np.int64) if values.dtype.kind == "f" else values


def taken(
    db: sqlite3.Connection,
    selection: Selection,
    texts: Sequence[str],
    numbers: Sequence[str],
    given: Mapping[str, str | float] | None = None,
) -> Taken:
    """Read SQL over the view run of each job that `selection` takes; `given` are further parameters. One of `texts`
    or `numbers` at least.
    """
    params = {**selection.params, **(given or {})}
    rest = f"FROM run WHERE {selection.plain}"
    with of_one_trace(db):
        if reads_files(db, (*texts, *numbers), rest, params):
            found, values = columns(db, texts, numbers, rest, params)
            jobs = len(values[0] if values else found[0].codes)
            return Taken(found, values, jobs, _left_out(db, selection, jobs))
    return _by_sqlite(db, selection, texts, numbers, params, _RUN)


def rows(jobs: Taken) -> Iterator[tuple[Any, ...]]:
    """The jobs one by one: what is unknown is None, and whole numbers are int. For the few that a rule leaves."""
    import numpy as np

    every = np.arange(jobs.jobs)
    columns = [*(values_of(one, every) for one in jobs.texts), *(values_of(one, every) for one in jobs.numbers)]
    return zip(*columns, strict=True)


def _by_sqlite(
    db: sqlite3.Connection,
    selection: Selection,
    texts: Sequence[str],
    numbers: Sequence[str],
    params: Mapping[str, Any],
    rows: str,
) -> Taken:
    left_out = LeftOut(db, selection)
    found, values = columns(db, texts, numbers, f"FROM {rows.format(where=selection.counting)}", params)
    jobs = len(values[0] if values else found[0].codes)
    return Taken(found, values, jobs, left_out.counts(jobs))


def _left_out(db: sqlite3.Connection, selection: Selection, jobs: int) -> dict[str, int]:
    """LeftOut.counts() from files of months, where `jobs` were taken. A reason is only found for what is left out;
    where there are two rules, the first one tells of both, and mostly it has one column.
    """

    def count(where: str) -> int:
        return int(groups(db, (), (), (), (), f"FROM run WHERE {where}", selection.params).jobs[0])

    names, within = list(selection.rules), count(selection.within)
    if len(names) > 2:
        rest = f"FROM run WHERE {selection.within} AND ({selection.upto(len(names))}) IS NOT TRUE"
        rows = groups(db, (), (selection.reason,), (), (), rest, selection.params)
        many = dict(zip(rows.numbers[0].tolist(), rows.jobs.tolist(), strict=True))
        excluded = {name: many.get(k, 0) for k, name in enumerate(names, start=1)}
    else:
        upto = [count(f"{selection.within} AND {selection.upto(1)}")] if len(names) > 1 else []
        excluded = {
            name: all_ - some for name, (all_, some) in zip(names, pairwise([within, *upto, jobs]), strict=False)
        }
    return excluded if selection.within == "TRUE" else {"window": edges.count(db) - within, **excluded}


def _each_once(db: sqlite3.Connection, sql: Sequence[str]) -> str:
    """The rows of run with the columns that are named in `sql`. Trap: without LIMIT SQLite writes what a column of the
    view is wherever its name stands, and computes it as often.
    """
    words = set(_WORD.findall(" ".join(sql)))
    names = [name for (name,) in db.execute("SELECT name FROM pragma_table_info('run')") if name in words]
    return f"(SELECT {', '.join(names) or '1'} FROM run WHERE {{where}} LIMIT -1)"


def split(number: NDArray[Any], groups: int, values: NDArray[Any]) -> list[NDArray[Any]]:
    """The values of each group, in the order of its rows: slices of one array, the only one of as many rows."""
    return [one for (one,) in splits(number, groups, values)]


def splits(number: NDArray[Any], groups: int, *columns: NDArray[Any]) -> list[tuple[NDArray[Any], ...]]:
    """The same of several columns: those of each group."""
    import numpy as np

    ends = np.cumsum(numbered(number, groups))
    free = np.concatenate([np.zeros(1, np.int64), ends])  # where each group continues
    found = [np.empty_like(column) for column in columns]
    for block in blocks(len(number)):
        order = np.argsort(number[block], kind="stable")
        mine = number[block][order]
        many = np.bincount(mine, minlength=groups + 1)
        there = np.arange(len(mine)) + (free - np.cumsum(many) + many)[mine]
        for one, column in zip(found, columns, strict=True):
            one[there] = column[block][order]
        free += many
    bounds = [slice(*ends) for ends in pairwise([0, *ends.tolist()])]
    return [tuple(one[its] for one in found) for its in bounds[:groups]]


def total(number: NDArray[Any], groups: int, values: NDArray[Any]) -> NDArray[Any]:
    """The sum of the values of each group: whole numbers, int64. Trap: np.bincount() has floats for weights, which are
    exact up to 2**53 only.
    """
    import numpy as np

    found = np.zeros(groups, np.int64)
    np.add.at(found, number, values.astype(np.int64, copy=False))
    return found


def numbered(number: NDArray[Any], groups: int) -> NDArray[Any]:
    """How many rows each group has: np.bincount(), which would widen all of `number` first."""
    import numpy as np

    return sum((np.bincount(number[block], minlength=groups) for block in blocks(len(number))), np.zeros(groups, int))


def add(to: NDArray[Any], number: NDArray[Any], weights: NDArray[Any]) -> None:
    """Add to the sum of each group what its rows weigh, one row after the other; unknown weights are left out."""
    import numpy as np

    # Trap: weights of another type than the sums' take np.add.at() twenty times as long.
    np.add.at(
        to, number, (np.nan_to_num(weights) if weights.dtype.kind == "f" else weights).astype(to.dtype, copy=False)
    )
