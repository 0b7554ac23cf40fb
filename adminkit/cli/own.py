"""The caller's own runs, for commands that find no trace which they may read."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit.config import Config
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import clean, quote
from adminkit.render.format import plural
from adminkit.render.say import say
from adminkit.slurm.process import NoSuchProgram
from adminkit.sqlite import sqlite3
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import own_name, whose
from adminkit.units import show_duration

if TYPE_CHECKING:
    from adminkit.ingest.own_runs import Own

#: Days of runs that a recommendation is learnt from.
DAYS: Final = 90

Fresh = Annotated[bool, typer.Option("--fresh", help="Ask sacct again, even if there is a recent copy of your jobs.")]


def readable_trace(flag: Path | None, settings: Config) -> Path | None:
    """The trace to read; None where --db and $ADMINKIT_DB name none and this user can read none."""
    path = find_trace(flag, settings.db)
    named = flag is not None or bool(os.environ.get("ADMINKIT_DB"))
    return path if named or os.access(path, os.R_OK) else None


def own(
    cluster: str | None,
    *,
    days: int = DAYS,
    steps: bool = False,
    queues: bool = False,
    fresh: bool = False,
    newest: int | None = None,
) -> Own:
    """The caller's runs as their copy or sacct has them: of `days`, and of DAYS to learn from.

    What was left out, or could not be asked, is said.
    """
    from adminkit.ingest.own_runs import Wanted, own_runs
    from adminkit.trace.private_copy import cache_home

    now = int(time.time())
    wanted = Wanted(os.geteuid(), max(days, DAYS), cluster, steps, queues, fresh, newest=newest)
    try:
        with _spinner("asking sacct for your jobs"):
            found = own_runs(wanted, cache_home(), now, note)
    except NoSuchProgram as error:
        raise AdminkitError(
            f"no trace database is readable here, and {error.message}", f"name a trace with --db; or {error.hint}"
        ) from error
    if found.problem is not None:
        age = show_duration(max(0, now - found.asked_at))
        note(f"{found.problem.message}; this shows what sacct said {age} ago ({found.problem.hint})")
    elif (held := (found.asked_at - found.since) // 86_400) < days:
        note(f"slurmdbd answers for {plural(held, 'day')}, not for {days}: older jobs are left out")
    return found


@contextmanager
def opened(
    path: Path | None, cluster: str | None, user: str | None, fresh: bool, as_of: int | None
) -> Iterator[tuple[sqlite3.Connection, str | None, str]]:
    """The trace, whose runs are meant (None: everybody's), and what the trace is called; without a `path` one's own.

    UsageError for the runs of somebody else, where those are not to be seen.
    """
    if path is not None:
        with reader(path, as_of) as trace:
            yield trace, next(iter(whose([] if user is None else [user], path)), None), str(path)
        return
    from adminkit.ingest.own_runs import runs_of
    from adminkit.reports.my import source

    name = own_name()
    if user not in (None, name):
        raise UsageError(
            "no trace database is readable here, and sacct is asked for your own jobs only",
            f"leave out --user {quote(user or '')}, or name a trace with --db",
        )
    found = own(cluster, queues=True, fresh=fresh)
    with runs_of(found, as_of) as trace:
        yield trace, name, f"{source(found.asked_at, int(time.time()))}, your own jobs of {DAYS} days"


def note(text: str) -> None:
    """One line on stderr."""
    say(f"note: {clean(' '.join(text.split()))}")


@contextmanager
def _spinner(what: str) -> Iterator[None]:
    """Something that moves, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
