"""The files of months that a question is answered from, and the connection of DuckDB's that has them open.

A file is opened when a question may need a run of it, and stays open for the questions after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from adminkit import config, journal
from adminkit.sqlite import sqlite3
from adminkit.trace.months import archived, duck, manifest, place
from adminkit.trace.months.asked import ends
from adminkit.trace.months.manifest import Month, MonthFile, begin_of, next_month
from adminkit.trace.months.words import Words


class Answer(NamedTuple):
    """What one question is answered from."""

    duck: Any
    words: Words
    source: str  # SQL: all rows of the files
    months: tuple[Month, ...]  # copies: their runs are not read from SQLite
    window: tuple[int, int]  # of the ends of the runs that may be read, [since, until) in epoch seconds


class _Wanted(NamedTuple):
    """Files of months, and the keys of archived runs that count no more."""

    copies: tuple[MonthFile, ...]
    archive: tuple[MonthFile, ...]
    back: tuple[tuple[str, int, int], ...]

    @property
    def files(self) -> set[MonthFile]:
        return {*self.copies, *self.archive}

    def within(self, copies: tuple[int, int], archive: tuple[int, int]) -> _Wanted:
        """Those with runs that ended in these windows, [since, until)."""
        return _Wanted(tuple(_within(self.copies, *copies)), tuple(_within(self.archive, *archive)), self.back)


class _Session(NamedTuple):
    """Files that were looked at, and a connection of DuckDB's that may read those that are right."""

    wanted: _Wanted
    paths: Mapping[MonthFile, str] = {}
    duck: Any = None
    words: Words | None = None  # of all files, where any is right


class Files:
    """The files of a trace, as its connection `db` has them. What is open is closed with `stack`."""

    def __init__(self, db: sqlite3.Connection, trace: Path, stack: ExitStack) -> None:
        self._db, self._trace, self._outer = db, trace, stack
        self._session: _Session | None = None
        self._stack = stack.enter_context(ExitStack())
        self._refused: set[MonthFile | None] = set()

    def answer(self, rest: str, given: Mapping[str, Any] | Sequence[Any]) -> Answer | None:
        """What answers "SELECT …" with `rest` (FROM and what follows); None where files cannot."""
        archive = archived.files(self._db)
        if archive and archived.stale(self._db):
            return None
        back = archived.back(self._db) if archive else []
        every = _Wanted(tuple(manifest.files(self._db)), tuple(archive), tuple(back))
        window = ends(rest, given, archived=False)
        wanted = every.within(window, ends(rest, given, archived=True))
        if not wanted.files:
            return None
        session = self._opened(wanted)
        good = session.paths.keys()
        if session.words is None or good.isdisjoint(wanted.files) or not good >= {*wanted.archive}:
            return None
        elsewhere = {*every.copies} - {*wanted.copies}
        months = tuple(Month(*one[:2]) for one in every.copies if one in elsewhere or one in good)
        return Answer(session.duck, session.words, _source(session.paths, wanted), months, window)

    def _opened(self, wanted: _Wanted) -> _Session:
        """A session that has looked at these files, and maybe at others."""
        old = self._session
        if old is None or old.wanted.back != wanted.back or not wanted.files <= old.wanted.files:
            self._session = None
            self._stack.close()
            self._stack = self._outer.enter_context(ExitStack())
            self._session = self._open(wanted)
        assert self._session
        return self._session

    def _open(self, wanted: _Wanted) -> _Session:
        folder = place.folder_of(self._trace)
        if not duck.is_there():
            if None not in self._refused:
                self._refused.add(None)
                journal.refused("months", folder, None, "DuckDB is not installed: SQLite is read, which is slower")
            return _Session(wanted)
        good, bad = self._stack.enter_context(place.opened(self._trace, [*wanted.copies, *wanted.archive]))
        for one, why in bad:
            if one not in self._refused:
                self._refused.add(one)
                journal.refused("months", folder.joinpath(*place.file_of(*one[:3])), one.cluster, why)
        if not good:
            return _Session(wanted)
        paths = {one: f"/proc/self/fd/{handle}" for one, handle in good}
        scratch = folder / place.SCRATCH
        settings = config.load().months
        made = self._stack.enter_context(
            duck.connected(settings, scratch if os.access(scratch, os.W_OK) else None, list(paths.values()))
        )
        duck.without(made, wanted.back)
        return _Session(wanted, paths, made, Words(made, _source(paths, wanted)))


def _source(paths: Mapping[MonthFile, str], wanted: _Wanted) -> str:
    """SQL: the rows of those of these files that are right."""
    copies, archive = ([paths[one] for one in some if one in paths] for some in (wanted.copies, wanted.archive))
    sources = [duck.rows_of(copies)] if copies else []
    if archive:
        sources.append(duck.rows_of(archive, gone=bool(wanted.back)))
    return sources[0] if len(sources) == 1 else f"({' UNION ALL BY NAME '.join(f'FROM {one}' for one in sources)})"


def _within(files: Sequence[MonthFile], since: int, until: int) -> Iterator[MonthFile]:
    for one in files:
        if begin_of(one.month) < until and begin_of(next_month(one.month)) > since:
            yield one
