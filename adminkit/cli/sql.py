"""adminkit sql: a SELECT that the caller types."""

from __future__ import annotations

import difflib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from adminkit import config
from adminkit.cli.options import AsOf, Database, Format, FormatOption, Output
from adminkit.errors import UsageError
from adminkit.quote import quote
from adminkit.render.say import complain
from adminkit.sqlite import sqlite3
from adminkit.trace.location import find_trace
from adminkit.units import moment, parse_duration

#: Seconds beyond the time limit for what SQLite cannot stop: one function over a long text.
GRACE: Final = 10.0
#: Bytes of a statement that is read from standard input.
MOST: Final = 1 << 20
_USUAL: Final = "write one SELECT, for example: adminkit sql 'SELECT state, count(*) FROM run GROUP BY state'"


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="SELECT|-", help="The SELECT, in SQLite's dialect; -: read it from standard input.")
    ],
    db: Database = None,
    as_of: AsOf = None,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Show N rows at most.")] = 1000,
    time_limit: Annotated[
        str, typer.Option("--time-limit", metavar="TIME", help="Stop the SELECT after this time.")
    ] = "60s",
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Answer a SELECT of your own over the view run. Reads the trace's tables about jobs and machines, and never
    writes. Users who may not see other users' jobs get only their own.

    Example: adminkit sql "SELECT queue, count(*) FROM run GROUP BY queue"
    """
    from adminkit.render.sink import Way, emit
    from adminkit.reports.typed import typed_report
    from adminkit.trace.typed import TooLong, answer, typed

    if (seconds := parse_duration(time_limit)) < 1:
        raise UsageError(f"--time-limit {time_limit} is not a time", "write for example: 10s")
    text, way = _read() if statement == "-" else statement, Way(format.value, output)
    when = moment(as_of, time.time())
    path = find_trace(db, config.load().db)
    with typed(path, when.as_of) as trace, _ended(seconds + GRACE):
        try:
            found = answer(trace, text, limit, seconds)
        except TooLong as error:
            raise UsageError(
                f"the SELECT did not end within {seconds} s",
                "restrict it to a period: end_time >= …, end_time < …; or give it more time: --time-limit 10m",
            ) from error
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            raise _refused(error) from error
    if not found.columns:
        raise UsageError("the statement is empty", _USUAL)
    bare = format in (Format.JSON, Format.CSV)
    emit(typed_report(found, str(path), when.as_of, bare=bare), way)


def _read() -> str:
    data = sys.stdin.buffer.read(MOST + 1)
    if len(data) > MOST:
        raise UsageError(f"the statement has more than {MOST} bytes", "write a shorter one")
    return data.decode(errors="replace")


@contextmanager
def _ended(seconds: float) -> Iterator[None]:
    """End the process where the block takes longer: no signal or other thread can stop one function of SQLite's."""
    timer = threading.Timer(seconds, _end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end() -> None:
    complain("error: the SELECT did not end at its time limit, because one function takes too long")
    os._exit(1)


def _refused(error: Exception) -> UsageError:
    """SQLite's refusal, with the nearest word that would have been right."""
    said = str(error)
    if (found := re.match(r"no such column: (?:.*\.)?(.*)", said, re.DOTALL)) is not None:
        return UsageError(f"no such column: {quote(found[1])}", _nearest(found[1], _columns()))
    if (found := re.match(r"no such table: (.*)", said, re.DOTALL)) is not None:
        return UsageError(f"no such table: {quote(found[1])}", _nearest(found[1], _tables()))
    if "not authorized" in said or "prohibited" in said:
        tables = ", ".join(_tables())
        return UsageError(f"a SELECT may not do that: {quote(said, 200)}", f"it may read only {tables}")
    return UsageError(f"SQLite refused the statement: {quote(said, 200)}", _USUAL)


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word[:100].lower(), known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"


def _tables() -> list[str]:
    from adminkit.trace.exposed import READABLE

    return sorted(READABLE)


def _columns() -> list[str]:
    from adminkit.stats.jobs import COLUMNS

    return list(COLUMNS)
