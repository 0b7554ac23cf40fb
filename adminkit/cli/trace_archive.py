"""adminkit trace archive and unarchive: commands of `adminkit trace`."""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from adminkit import actions, config
from adminkit.cli.operators import Refusal, operators_only
from adminkit.cli.options import Clusters, Counted, CountedOption, Database
from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError, UsageError, unknown_word
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.render.say import put, say
from adminkit.sqlite import sqlite3
from adminkit.trace import connect
from adminkit.trace.actions import record_actions
from adminkit.trace.location import find_trace
from adminkit.trace.lock import only_one
from adminkit.trace.months import archived, duck, manifest, move
from adminkit.trace.months.manifest import Month
from adminkit.trace.prune import LEAST_AGE, give_space_back
from adminkit.units import parse_edge, parse_when, show_time

_REFUSAL: Final[Refusal] = ("only operators may move months of the trace", "adminkit my shows your own jobs")

Apply = Annotated[bool, typer.Option("--apply", help="Do it. Without --apply, only counts are shown.")]


def archive(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than",
            metavar="WHEN",
            help="Archive months that were over before WHEN: 3y, 1095d, 2024-01-01.",
        ),
    ],
    db: Database = None,
    cluster: Clusters = None,
    apply: Apply = False,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Move old months from SQLite into Parquet. Reports read their runs and steps there.

    Without --apply, only shows which months. Back up the folder of the months with the trace: it holds the only copy.

    Example: adminkit trace archive --older-than 3y
    """
    settings, now = config.load(), int(time.time())
    before = _begin(older_than, now)
    if before > now - LEAST_AGE:
        raise UsageError(
            f"--older-than {quote(older_than)} is less than {LEAST_AGE // 86_400} days ago",
            "sync still compares younger runs with slurmdbd",
        )
    path = _trace(db, settings.db)
    with connect.reader(path) as trace:
        _known(manifest.clusters(trace), cluster)
        found = move.movable(trace, before, cluster or ())
    if apply and found:
        if not duck.is_there():
            raise AdminkitError("DuckDB is not installed, which writes Parquet", "pip install duckdb")
        with only_one(path, "adminkit trace archive"), connect.writer(path) as trace:
            months = [Month(one.cluster, one.month) for one in found]
            with progress("archiving", "month") as bar:
                found = move.archive(trace, path, settings.months, months, lambda done: bar(done, len(months), done))
            _record(trace, "trace archive", found, older_than=show_time(before))
            _give_back(trace, path)
    _say(path, found, "archived", apply, format)


def _begin(older_than: str, now: int) -> int:
    """WHEN in epoch seconds; "3y" is the start of this month three years ago. UsageError where WHEN cannot be read."""
    years = re.fullmatch(r"([0-9]{1,2})y", older_than.strip())
    if years is None:
        return parse_when(older_than, now)
    today = datetime.fromtimestamp(now, UTC)
    return int(datetime(today.year - int(years[1]), today.month, 1, tzinfo=UTC).timestamp())


def unarchive(
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="Only months with a moment at or after WHEN.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="WHEN", help="Only months with a moment before WHEN.")
    ] = None,
    db: Database = None,
    cluster: Clusters = None,
    apply: Apply = False,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Bring archived months back into SQLite. Without --apply, only shows which ones.

    Example: adminkit trace unarchive --since 2022-01-01 --until 2023-01-01
    """
    settings, now = config.load(), int(time.time())
    first, last = (None if one is None else parse_edge(one, now) for one in (since, until))
    path = _trace(db, settings.db)
    with connect.reader(path) as trace:
        _known(sorted({one.cluster for one in archived.months(trace)}), cluster)
        months = move.overlapping(trace, first, last, cluster or ())
        found = [move.archived_month(trace, one) for one in months]
    if apply and months:
        with only_one(path, "adminkit trace unarchive"), connect.writer(path) as trace:
            with progress("bringing back", "month") as bar:
                found = move.restore(trace, path, months, lambda done: bar(done, len(months), done))
            _record(trace, "trace unarchive", found)
    _say(path, found, "back in SQLite", apply, format)


def _trace(db: Path | None, usual: Path | None) -> Path:
    path = find_trace(db, usual)
    operators_only(path, _REFUSAL)
    if not connect.is_there(path):
        raise AdminkitError(f"no trace database at {path}", "name one with --db")
    return path


def _known(clusters: list[str], wanted: list[str] | None) -> None:
    for name in wanted or ():
        if name not in clusters:
            raise unknown_word("cluster", name, clusters)


def _record(trace: sqlite3.Connection, what: str, found: list[move.Moved], **more: str) -> None:
    done = [one for one in found if one.why is None]
    if done:
        months = [f"{one.cluster} {one.month}" for one in done]
        runs, steps = sum(one.runs for one in done), sum(one.steps for one in done)
        record_actions(trace, [actions.act(what, None, None, {}, months=months, runs=runs, steps=steps, **more)])


def _give_back(trace: sqlite3.Connection, path: Path) -> None:
    """Make the file smaller; where that cannot be, the space is for new rows."""
    try:
        whole = give_space_back(trace)
    except sqlite3.Error as error:
        say(f"note: {path} is as large as before, and new rows take the free space: {error}")
        return
    if not whole:
        say(f"note: {path} becomes smaller when the programs that read it have ended")


def _say(path: Path, found: list[move.Moved], what: str, applied: bool, format: Counted) -> None:
    if format is Counted.JSON:
        print(json.dumps({"meta": {"database": str(path), "applied": applied}, "rows": [asdict(one) for one in found]}))
    else:
        for one in found:
            put(f"{quote(one.cluster)} {one.month}: {_line(one, what, applied)}")
        if not found:
            put(f"{path}: no month {'' if applied else 'would be '}{what}")
    if not applied:
        say("note: nothing was changed; add --apply to change it")
    if any(one.why for one in found):
        raise AdminkitError("some months were not archived", "the lines above say why; run the same command again")


def _line(one: move.Moved, what: str, applied: bool) -> str:
    if one.why:
        return f"not {what}: {quote(one.why, 200)}"
    runs = f"{plural(one.runs, 'run')}, {plural(one.steps, 'step')}"
    stay = f"; {plural(one.stay, 'run')} in SQLite" if one.stay else ""
    return f"{'' if applied else 'would be '}{what}: {runs}{stay}"
