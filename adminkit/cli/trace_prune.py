"""adminkit trace prune and snapshot: commands of `adminkit trace`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from adminkit import actions, config
from adminkit.cli.operators import Refusal, operators_only
from adminkit.cli.options import Counted, CountedOption, Database
from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import quote
from adminkit.render.say import put, say
from adminkit.sqlite import sqlite3
from adminkit.trace import connect
from adminkit.trace.actions import record_actions
from adminkit.trace.location import find_trace
from adminkit.trace.lock import only_one
from adminkit.trace.months.move import brought_back, overlapping
from adminkit.trace.prune import LEAST_AGE, Pruned, give_space_back, old_rows, still_in_file, take_names
from adminkit.trace.prune import prune as delete
from adminkit.trace.snapshot import publish
from adminkit.units import parse_when, show_time

_PRUNE: Final[Refusal] = ("only operators may prune the trace", "adminkit my shows your own jobs")
_SNAPSHOT: Final[Refusal] = ("only operators may copy everybody's jobs", "adminkit export writes your own")
_WORDS: Final = {
    "job": "runs", "step": "steps", "job_aside": "runs set aside", "step_aside": "steps set aside",
    "rejected": "rejected rows", "outbox": "letters", "load": "loads", "node_event": "events of nodes",
}  # fmt: skip


def prune(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than", metavar="WHEN", help="Prune runs that ended before WHEN: 2024-01-01, 730d, epoch seconds."
        ),
    ],
    db: Database = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="Keep the runs, and take users, job names and comments out of them.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do it. Without --apply, only counts are shown.")] = False,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Delete old runs, or take the names out of them. What belongs to deleted runs is deleted too.

    Without --apply, only shows what would be deleted. Queues, nodes, sync's windows, actions and charges stay.

    Example: adminkit trace prune --older-than 2020-01-01
    """
    now = int(time.time())
    before = parse_when(older_than, now)
    if before > now - LEAST_AGE:
        raise UsageError(
            f"--older-than {quote(older_than)} is less than {LEAST_AGE // 86_400} days ago",
            "sync still compares younger runs with slurmdbd, and would bring them back",
        )
    settings = config.load()
    path = find_trace(db, settings.db)
    operators_only(path, _PRUNE)
    whole = True
    if not apply:
        with connect.reader(path) as trace:
            found = old_rows(trace, before)
    else:
        if not connect.is_there(path):
            raise AdminkitError(f"no trace database at {path}", "name one with --db")
        with only_one(path, "adminkit trace prune"), connect.writer(path) as trace:
            with brought_back(trace, path, settings.months, overlapping(trace, None, before)):
                found = old_rows(trace, before)
                _do(trace, before, anonymise, found)
            whole = give_space_back(trace)
    what = "nameless" if anonymise else "gone"
    if format is Counted.JSON:
        rows = {one.table: one.rows for one in found}
        print(json.dumps({"before": show_time(before), "anonymise": anonymise, "applied": apply, "rows": rows}))
    else:
        listed = ", ".join(f"{one.rows:,} {_WORDS[one.table]}" for one in found if one.rows) or "nothing"
        put(f"{path}: {'' if apply else 'would be '}{what}: {listed}, from before {show_time(before)}")
    if not apply:
        say("note: nothing was changed; add --apply to change it")
    if not whole:
        raise still_in_file(path)


def _do(trace: sqlite3.Connection, before: int, anonymise: bool, found: list[Pruned]) -> None:
    runs = next(one.rows for one in found if one.table == "job")
    with progress("pruning", "run") as bar:
        (take_names if anonymise else delete)(trace, before, lambda done: bar(done, runs, done))
    said = {"older_than": show_time(before), "anonymise": anonymise, **{one.table: one.rows for one in found}}
    record_actions(trace, [actions.act("trace prune", None, None, {}, **said)])


def snapshot(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; an older snapshot is replaced.")],
    db: Database = None,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Copy the trace into one read-only file. Use it on hosts that share a network file system, or as a backup.

    Example: adminkit trace snapshot /srv/adminkit/trace.db
    """
    path = find_trace(db, config.load().db)
    operators_only(path, _SNAPSHOT)
    with connect.reader(path):
        if target.exists() and target.samefile(path):
            raise UsageError(f"{target} is the trace itself", "choose another path")
        publish(path, target)
    size = target.stat().st_size
    if format is Counted.JSON:
        print(json.dumps({"target": str(target), "bytes": size}))
    else:
        put(f"wrote {quote(str(target), 200)}: {size:,} bytes")
