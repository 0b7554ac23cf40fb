"""When the runs of a trace ran, an open one up to now; and what is left of a window that was asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter
from adminkit.trace.months import edges
from adminkit.trace.runs import LOST

#: SQL: a run without an end is open still; one that was not seen for LOST seconds is lost.
SEEN: Final = f"seen_open >= :now - {LOST}"
#: SQL: a run that was open in sync's last snapshot lasts until :now; one that sync lost, or an import saw, no further
#: than it was seen.
OPEN: Final = f"CASE WHEN {SEEN} THEN :now ELSE seen_open END"
#: SQL: the end of a run that started; NULL where nothing is known of it.
END: Final = f"coalesce(end_time, {OPEN})"
#: Rows of these clusters (JSON); an empty list takes all.
_THESE: Final = "(:clusters = '[]' OR cluster IN (SELECT value FROM json_each(:clusters)))"
_STARTED: Final = f"start_time > 0 AND {_THESE}"
_FIRST: Final = f"SELECT min(start_time) FROM run WHERE {_STARTED}"
_OPEN_LAST: Final = f"SELECT max({OPEN}) FROM run WHERE end_time IS NULL AND {_STARTED}"
#: Up to when sync has asked for runs; NULL where it never did.
_ASKED: Final = f"SELECT max(until) FROM window WHERE pass = 'job' AND {_THESE}"


@dataclass(frozen=True, slots=True)
class Known:
    """What a trace has of some clusters, epoch seconds: the first moment, the last one at which there was anything, and
    the one after which nothing is known. None where there is none.
    """

    first: int | None
    last: int | None
    until: int | None


def known_times(db: sqlite3.Connection, chosen: Filter, now: int) -> Known:
    """When the runs of the clusters of `chosen` ran. The first one, which takes a scan, is looked for only where
    the window is open.
    """
    of = {"now": now, "clusters": json.dumps(list(chosen.clusters))}
    first = db.execute(_FIRST, of).fetchone()[0] if chosen.since is None else chosen.since
    (still,), (asked,) = (db.execute(statement, of).fetchone() for statement in (_OPEN_LAST, _ASKED))
    last = max((at for at in (edges.last_end(db, _STARTED, of), still) if at is not None), default=None)
    return Known(first, last, max((at for at in (last, asked) if at is not None), default=None))


def clamped(chosen: Filter, there: Known, now: int) -> tuple[int, int] | None:
    """[since, until) of `chosen`: where it is open, as far as there is anything. It ends now at the latest, and where
    nothing is known any more. None where no second is left.
    """
    begin = there.first if chosen.since is None else chosen.since
    end = there.last if chosen.until is None or there.until is None else min(chosen.until, now, there.until)
    return None if begin is None or end is None or begin >= end else (begin, end)
