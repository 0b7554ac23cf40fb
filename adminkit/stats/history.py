"""What came into the trace and what adminkit did to Slurm and to people, in one order of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from adminkit.sqlite import sqlite3

Kind = Literal["load", "action"]

_EVENTS: Final = """
SELECT started_at AS at, 'load' AS kind, kind AS what, NULL AS host, NULL AS who, cluster, source,
    seconds, rows, new, changed, rejected, skipped, NULL AS generation, NULL AS line, id AS number
FROM load WHERE started_at >= :since
UNION ALL
SELECT at, 'action', what, host, who, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, generation, line, rowid
FROM action WHERE at >= :since
ORDER BY at DESC, kind, number DESC LIMIT :most
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One load (import, sync, audit) or one action. What only the other kind has is None."""

    at: int  # epoch seconds; of a load when it began
    kind: Kind
    what: str | None
    host: str | None
    who: str | None
    cluster: str | None
    source: str | None
    seconds: float | None
    rows: int | None
    new: int | None
    changed: int | None
    rejected: int | None
    skipped: int | None
    generation: str | None
    line: str | None  # of an action: the whole of it, as JSON


def events(db: sqlite3.Connection, since: int, most: int) -> list[Event]:
    """At most `most` events, the newest first, none of before `since` (epoch seconds)."""
    found = db.execute(_EVENTS, {"since": since, "most": most})
    return [Event(**dict(zip(Event.__slots__, row[:-1], strict=True))) for row in found]
