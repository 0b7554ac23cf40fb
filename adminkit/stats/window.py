"""When the runs of a trace ran, an open one up to now; and what is left of a window that was asked for."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.stats.select import Filter
from adminkit.trace.runs import LOST

#: SQL: a run that was open in sync's last snapshot goes on to :now; one that sync lost, or an import saw, no further
#: than it was seen.
OPEN: Final = f"CASE WHEN seen_open >= :now - {LOST} THEN :now ELSE seen_open END"
#: SQL: the end of a run that started; NULL where nothing is known of it.
END: Final = f"coalesce(end_time, {OPEN})"
#: Of these clusters (JSON); none: of all.
_THESE: Final = "(:clusters = '[]' OR cluster IN (SELECT value FROM json_each(:clusters)))"
_RAN: Final = f"SELECT min(start_time), max({END}) FROM run WHERE start_time > 0 AND {_THESE}"
#: Up to when sync has asked for runs; NULL where it never did.
_ASKED: Final = f"SELECT max(until) FROM window WHERE pass = 'job' AND {_THESE}"


@dataclass(frozen=True, slots=True)
class Known:
    """What a trace has of some clusters, epoch seconds: the first moment, the last one at which there was anything, and
    the one from which on nothing is known. None in an empty trace.
    """

    first: int | None
    last: int | None
    until: int | None


def known_times(db: sqlite3.Connection, clusters: Sequence[str], now: int) -> Known:
    """When the runs of these clusters ran; of all where none is named."""
    of = {"now": now, "clusters": json.dumps(list(clusters))}
    first, last = db.execute(_RAN, of).fetchone()
    (asked,) = db.execute(_ASKED, of).fetchone()
    return Known(first, last, max((at for at in (last, asked) if at is not None), default=None))


def clamped(chosen: Filter, there: Known, now: int) -> tuple[int, int] | None:
    """[since, until) of `chosen`: where it is open, as far as there is anything. It ends now at the latest, and where
    nothing is known any more. None where no second is left.
    """
    begin = there.first if chosen.since is None else chosen.since
    end = there.last if chosen.until is None or there.until is None else min(chosen.until, now, there.until)
    return None if begin is None or end is None or begin >= end else (begin, end)
