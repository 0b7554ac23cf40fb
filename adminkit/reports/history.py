"""What was loaded and what was done, as a Report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from adminkit.render.report import Field, Meta, Report
from adminkit.stats.history import Event
from adminkit.units import show_time

HISTORY_FIELDS: Final = (
    Field("at", "time", "when it began"),
    Field("kind", help="load: rows were read in; action: adminkit changed something in Slurm or wrote to people"),
    Field("what", help="for a load: sync, import, audit …; for an action: the command"),
    Field("cluster", help="the cluster whose data was loaded"),
    Field("source", help="the file, or sacct"),
    Field("rows", "count", "rows read"),
    Field("new", "count", "rows that the trace did not have"),
    Field("changed", "count", "rows that differed from those in the trace"),
    Field("rejected", "count", "rejected rows"),
    Field("skipped", "count", "rows that were skipped"),
    Field("seconds", "duration", "how long the load took"),
    Field("host", help="the host of an action"),
    Field("who", help="who ran it"),
    Field("generation", help="the generation of the tables that an action installed"),
    Field("details", help="what else was recorded"),
)

#: Keys of an action that have a column of their own, or say nothing of what was done.
_SHOWN: Final = ("at", "host", "who", "what", "generation", "release")


def history_report(events: Sequence[Event], since: int | None, most: int, database: str) -> Report:
    """A row per event, the newest first."""
    rows = [
        (
            one.at, one.kind, one.what, one.cluster, one.source, one.rows, one.new, one.changed, one.rejected,
            one.skipped, None if one.seconds is None else round(one.seconds), one.host, one.who, one.generation,
            _details(one.line),
        )
        for one in events
    ]  # fmt: skip
    notes = [f"the newest {most}; --limit shows more"] if len(rows) == most else []
    clusters = sorted({one.cluster for one in events if one.cluster is not None})
    filters = {} if since is None else {"since": show_time(since)}
    meta = Meta("What was loaded and what was done", database, (since, None), clusters, filters, None, {}, notes)
    return Report(meta, HISTORY_FIELDS, rows)


def _details(line: str | None) -> str | None:
    """The rest of an action's record: `for alice; before 3f2a9c01d2e4; hosts head confirmed, backup the same`."""
    try:
        record = json.loads(line or "null")
    except ValueError:
        return line
    if not isinstance(record, dict):
        return None
    return "; ".join(f"{key} {_words(value)}" for key, value in record.items() if key not in _SHOWN and value) or None


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return str(value)
