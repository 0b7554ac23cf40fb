"""Hours in use from the rollup by hour instead of the runs: the same Utilization, or None where it does not answer.

What is in use at a moment is what changed before it, so the sums of a part are the difference of two ends. The rows of
job are read of runs without an end, and of those that no row of the rollup has (trace/rollup_hours.py).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import accumulate, pairwise
from typing import Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.capacity import RESOURCES
from adminkit.stats.select import Filter, LeftOut, Selection, snapshot
from adminkit.stats.utilization import COLUMNS, HOUR, Frame, Tally, Utilization, framed, running, summed
from adminkit.stats.window import Known, known_times
from adminkit.trace.months.door import columns
from adminkit.trace.rollup import may_read
from adminkit.trace.rollup_hours import HOURS, ODD, SUMS

#: The rules of a Filter that the rollup's key can answer.
_BY_KEY: Final = ("cluster", "queue", "class_unknown", "class")
_OPEN: Final = "end_time IS NULL"
#: The first hour in which a run began, or an open or odd one did; of these clusters (JSON), none: of all.
_FIRST: Final = f"""
SELECT min(at) FROM (
    SELECT min(hour) AS at FROM {HOURS.rows} WHERE started > 0 AND {{these}}
    UNION ALL SELECT min(start_time) FROM run WHERE {_OPEN} AND start_time > 0 AND {{these}}
    UNION ALL SELECT min(start_time) FROM run WHERE {ODD} AND start_time > 0 AND {{these}})
""".format(these="(:clusters = '[]' OR cluster IN (SELECT value FROM json_each(:clusters)))")
#: Whether a run began or ended after a moment, or began at it. The index of ends has these.
_AFTER: Final = "SELECT 1 FROM run WHERE end_time >= ? AND (end_time > ? OR start_time >= ?) LIMIT 1"
#: Runs that ended; of these, those that the rollup has or that are odd.
_ENDED: Final = "SELECT coalesce(sum(jobs), 0) FROM ended_month"
_STARTED: Final = (
    f"SELECT (SELECT coalesce(sum(started), 0) FROM {HOURS.table}) + (SELECT count(*) FROM run WHERE {ODD})"
)


def utilization(
    db: sqlite3.Connection, chosen: Filter, part: str, now: int, tz: tzinfo | None = None
) -> Utilization | None:
    """stats.utilization.utilization(). None too where a part does not begin with an hour of UTC."""
    selection = running(chosen, now)
    by_key = {name: rule for name, rule in selection.rules.items() if name in _BY_KEY}
    if not may_read(db) or len(selection.rules) > len(by_key) + len(_OF_ROWS):
        return None
    with snapshot(db):
        frame = framed(db, chosen, _known(db, chosen, now), part, now, tz)
        if not _by_hours(db, chosen, frame.times):
            return None
        tally, excluded = Tally(frame.times, frame.least_cpus), Counter[str]()
        for which in (_OPEN, ODD):
            excluded.update(_add_rows(db, replace(selection, within=f"{which} AND {selection.within}"), tally))
        hours = _hours(db, replace(selection, rules=by_key))
        excluded.update(_add_hours(tally, hours, list(by_key), chosen, frame))
        (ended,), (started,), (still,) = (
            db.execute(sql).fetchone() for sql in (_ENDED, _STARTED, f"SELECT count(*) FROM run WHERE {_OPEN}")
        )
        excluded["not_started"] += ended - started
        if frame.least_cpus is not None and not tally.partial:
            tally.partial = _some_partial(db, selection, frame.least_cpus)
    named = {name: excluded[name] for name in selection.rules}
    if selection.within != "TRUE":
        named = {"window": ended + still - tally.jobs - sum(named.values()), **named}
    return summed(frame, tally, named)


#: The rules of running() that the rows of the rollup fulfil.
_OF_ROWS: Final = ("not_started", "no_end", "elapsed_unknown")


def _known(db: sqlite3.Connection, chosen: Filter, now: int) -> Known:
    """known_times(), without a scan for the first."""
    if chosen.since is not None:
        return known_times(db, chosen, now)
    (first,) = db.execute(_FIRST, {"clusters": json.dumps(list(chosen.clusters))}).fetchone()
    return replace(known_times(db, replace(chosen, since=0), now), first=first)


def _by_hours(db: sqlite3.Connection, chosen: Filter, times: Sequence[int]) -> bool:
    """Whether hours of UTC are all that is asked for: an end within an hour after which nothing happens is one too."""
    begins = [at for at in (chosen.since, *times[:-1]) if at is not None]
    ends = [at for at in (chosen.until, *times[-1:]) if at is not None and at % HOUR]
    return not any(at % HOUR for at in begins) and not any(
        db.execute(_AFTER, (at, at, at)).fetchone() for at in set(ends)
    )


def _add_rows(db: sqlite3.Connection, selection: Selection, tally: Tally) -> dict[str, int]:
    """Add the runs that the selection takes; how many each rule left out."""
    left_out = LeftOut(db, selection)
    _, numbers = columns(db, (), COLUMNS, f"FROM run WHERE {selection.counting}", selection.params)
    tally.add(numbers)
    return left_out.by_rule()


@dataclass(frozen=True, slots=True)
class _Hours:
    """Rows of the rollup in the order of time, all of one rule (0: they count): the hours, and a column of each sum."""

    hour: Sequence[int]
    sums: Mapping[str, Sequence[int]]

    def until(self, at: int | None) -> int:
        """How many of the hours are before; None: all."""
        from bisect import bisect_left

        return len(self.hour) if at is None else bisect_left(self.hour, at)


def _hours(db: sqlite3.Connection, selection: Selection) -> dict[int, _Hours]:
    rows = db.execute(
        f"SELECT {selection.reason} AS rule, hour, {', '.join(f'sum({name})' for name in SUMS)} FROM {HOURS.rows}"
        " GROUP BY rule, hour ORDER BY rule, hour",
        selection.params,
    ).fetchall()
    found: dict[int, _Hours] = {}
    for rule in dict.fromkeys(row[0] for row in rows):
        _, hour, *sums = zip(*(row for row in rows if row[0] == rule), strict=True)
        found[rule] = _Hours(hour, dict(zip(SUMS, sums, strict=True)))
    return found


def _add_hours(
    tally: Tally, hours: Mapping[int, _Hours], rules: Sequence[str], chosen: Filter, frame: Frame
) -> dict[str, int]:
    """Add the runs of rule 0; how many each other rule left out."""

    def ran(some: _Hours, started: str, ended: str) -> int:
        before = some.until(chosen.since) if chosen.since is not None else 0
        return sum(some.sums[started][: some.until(chosen.until)]) - sum(some.sums[ended][:before])

    mine = hours.get(0, _Hours((), dict.fromkeys(SUMS, ())))
    jobs = ran(mine, "started", "ended")
    tally.jobs += jobs
    for name in RESOURCES:
        tally.unknown[name] += jobs - ran(mine, f"{name}_started", f"{name}_ended")
    if frame.times:
        _add_parts(tally, mine, frame.times)
    return {name: ran(hours[k], "started", "ended") for k, name in enumerate(rules, start=1) if k in hours}


def _add_parts(tally: Tally, mine: _Hours, times: Sequence[int]) -> None:
    import numpy as np

    places = [mine.until(at) for at in times]
    started, ended = ([0, *accumulate(mine.sums[name])] for name in ("started", "ended"))
    ran = [started[end] - ended[begin] for begin, end in pairwise(places)]
    tally.ran = np.array(ran, np.int64) + (0 if tally.ran is None else tally.ran)
    for name in RESOURCES:
        change, passed = mine.sums[f"{name}s"], mine.sums[f"{name}_passed"]
        changes = [0, *accumulate(change)]
        moments = [0, *accumulate(c * hour + p for c, hour, p in zip(change, mine.hour, passed, strict=True))]
        used = [at * changes[place] - moments[place] for at, place in zip(times, places, strict=True)]
        parts: Any = np.array([after - before for before, after in pairwise(used)], np.float64)
        tally.used[name] = tally.used.get(name, 0) + parts


def _some_partial(db: sqlite3.Connection, selection: Selection, least_cpus: int) -> bool:
    """Whether a run had fewer CPUs than its nodes have at least. Trap: a scan where every run had whole nodes."""
    query = f"SELECT 1 FROM run WHERE size_cpus < size_nodes * :least AND {selection.where} LIMIT 1"
    return db.execute(query, {**selection.params, "least": least_cpus}).fetchone() is not None
