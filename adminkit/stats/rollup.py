"""Sums and histograms from the rollups, for the same Filter as from the rows. None where only the rows can answer.

What trace/rollup.py keeps is read under the names of the view `run`, so that the condition is the one of select():
`end_time` is the first second of the month or day of the end, `elapsed` and `req_limit` are upper edges of bins. A
window is made of whole months, of whole days, and of less than a day at each end, which is read from the rows. So are
runs without an end, and the few that another run's row makes checkpoint runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from adminkit.stats.select import LIMITED, Filter, select
from adminkit.trace.rollup import OCCUPIED, is_kept
from adminkit.trace.rollup_row import BINS, DAY, EDGES, HOUR, KEYS, LAST, LEVELS, OVER, PERCENT, SUMS, image

#: By what sums may be grouped -> SQL. `limited`: whether the run has an accuracy; `month` is UTC's, of the end.
GROUPS: Final[Mapping[str, str]] = {
    **{name: name for name in ("cluster", "queue", "user", "account", "class", "state", "limit_source", "end_time")},
    **{name: name for name in ("limit_upto", "elapsed_upto", "accuracy_upto")},
    "limited": f"coalesce({LIMITED}, 0)",
    "month": "strftime('%Y-%m', end_time, 'unixepoch')",
}
#: Sums by units that a person reads: accuracy is kept in millionths.
ACCURACY_UNIT: Final = 1_000_000


def _summed(rows: str, at: str = "end_time", sign: str = "") -> str:
    as_run = f"{', '.join((*KEYS, *BINS))}, elapsed_upto AS elapsed, limit_upto AS req_limit, {at} AS end_time"
    return f"SELECT {as_run}, {', '.join(f'{sign}{name} AS sum_{name}' for name in SUMS)} FROM {rows}"


#: Runs that a column of another row makes checkpoint runs: all of a requeued job's that do not say it themselves.
_OTHERS: Final = (
    "(SELECT * FROM run WHERE end_time IS NOT NULL AND checkpoint AND restarts IS NULL"
    " AND (cluster, job_id_raw) IN (SELECT cluster, job_id_raw FROM run WHERE state = 'REQUEUED'))"
)
_OTHERS_IMAGE: Final = f"(SELECT * FROM ({image(_OTHERS)}) WHERE NOT checkpoint)"
_OPEN: Final = _summed(f"({image('(SELECT * FROM run WHERE end_time IS NULL)')})")
_CORRECTED: Final = (
    _summed(_OTHERS_IMAGE, sign="-"),
    _summed(f"(SELECT {', '.join(f'1 AS {k}' if k == 'checkpoint' else k for k in KEYS)}, end_time,"
            f" {', '.join((*BINS, *SUMS))} FROM {_OTHERS_IMAGE})"),
)  # fmt: skip


Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Sums:
    """Of the runs of each group that a Filter takes: the group's values -> sums by name, trace/rollup.py's SUMS."""

    groups: Mapping[Values, Mapping[str, int]]
    excluded: Mapping[str, int]
    last: Mapping[Values, int | None]  # of each group, the month or day of the last end, or its second


#: Of all runs: those that ended, and those that did not.
_EVERYTHING: Final = (
    "SELECT coalesce(sum(jobs), 0) FROM ended_month UNION ALL SELECT count(*) FROM run WHERE end_time IS NULL"
)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Runs by bin: `bins` has (above, up to, runs), ascending; `above` None: the bin has its upper edge alone.

    Of the last bin of accuracy `up to` is None. Runs of which the value is unknown are in `unknown`.
    """

    bins: Sequence[tuple[int | None, int | None, int]]
    unknown: int

    def quantile(self, share: float) -> tuple[int | None, int | None] | None:
        """(above, up to): the bin with the run at that share of the ranks, 0 to 1. None without a run.

        The linear quantile is between two neighbouring runs, so it may also be between their bins: then from the
        first one's lower to the second one's upper edge. The width is the error.
        """
        runs = sum(count for _, _, count in self.bins)
        if not runs:
            return None
        rank = share * (runs - 1)
        first, second = self._bin_of(int(rank)), self._bin_of(min(runs - 1, -int(-rank // 1)))
        return self.bins[first][0], self.bins[second][1]

    def _bin_of(self, rank: int) -> int:
        upto = 0
        for place, (_, _, count) in enumerate(self.bins):
            upto += count
            if rank < upto:
                return place
        return len(self.bins) - 1


def answers(db: sqlite3.Connection, chosen: Filter) -> bool:
    """Whether the rollups hold what the Filter asks: a min_elapsed that is an edge, and the trace keeps them for this
    connection (they are everybody's, and of today).
    """
    whole = all(at is None or 0 <= at <= LAST - 31 * DAY for at in (chosen.since, chosen.until))
    return whole and (chosen.min_elapsed is None or chosen.min_elapsed in EDGES[:-1]) and is_kept(db)


def sums(
    db: sqlite3.Connection,
    chosen: Filter,
    *,
    limits: bool,
    by: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
    days: bool = False,
) -> Sums | None:
    """The sums of the runs that `chosen` takes, by GROUPS, and how many each rule left out. `limits` as select();
    `first` are rules that come before the Filter's; `days`: read no months. The caller holds a snapshot where it
    reads more.
    """
    if not answers(db, chosen):
        return None
    selection = select(chosen, limits=limits)
    selection = replace(selection, rules={**(first or {}), **selection.rules})
    columns = ", ".join(GROUPS[name] for name in by) or "NULL"
    rows = db.execute(
        f"SELECT {selection.reason} AS rule, max(end_time), {', '.join(f'sum(sum_{name})' for name in SUMS)}, {columns}"
        f" FROM ({_all(chosen, limits or 'limited' in by, days)}) WHERE {selection.within} GROUP BY rule, {columns}",
        {**selection.params, "checkpoint_code": chosen.checkpoint_code},
    ).fetchall()
    excluded = dict.fromkeys(selection.rules, 0)
    groups: dict[Values, dict[str, int]] = {}
    last: dict[Values, int | None] = {}
    for rule, day, *values in rows:
        if rule:
            excluded[list(selection.rules)[rule - 1]] += values[0]
        elif values[0]:
            key = tuple(values[len(SUMS) :]) if by else ()
            groups[key], last[key] = dict(zip(SUMS, values, strict=False)), day
    if selection.within != "TRUE":
        everything = sum(count for (count,) in db.execute(_EVERYTHING))
        excluded = {"window": everything - sum(row[2] for row in rows), **excluded}
    return Sums(groups, excluded, last)


def histogram(db: sqlite3.Connection, chosen: Filter, what: str, *, limits: bool) -> Histogram | None:
    """The runs that `chosen` takes by `what`: elapsed, seconds, or accuracy, per cent of the limit."""
    if not answers(db, chosen):
        return None
    selection = select(chosen, limits=limits)
    rows = db.execute(
        f"SELECT {what}_upto, sum(sum_jobs) FROM ({_all(chosen, limits)}) WHERE {selection.where} GROUP BY 1",
        selection.params,
    )
    return binned(dict(rows.fetchall()), what)


def binned(runs: Mapping[int | None, int], what: str) -> Histogram:
    """Numbers of runs by the upper edge of their bin of `what`, as histogram() has it."""
    edges = EDGES if what != "accuracy" else range(0, OVER + 1, PERCENT)
    above = {upto: low for low, upto in pairwise(edges)}
    return Histogram(
        [
            (above.get(upto), None if what == "accuracy" and upto == OVER else upto, count)
            for upto, count in sorted((upto, count) for upto, count in runs.items() if upto is not None)
            if count
        ],
        runs.get(None, 0),
    )


def occupied(db: sqlite3.Connection, chosen: Filter, since: int, until: int) -> list[tuple[int, int, int, int]] | None:
    """(hour, node-, CPU-, GPU-seconds) of each UTC hour of [since, until) in which a run that ended held any.

    `chosen` names clusters and queues alone.
    """
    if chosen != Filter(
        (*chosen.clusters,),
        queues=(*chosen.queues,),
        states=(),
        min_elapsed=None,
        checkpoint_code=chosen.checkpoint_code,
    ):
        return None
    if not is_kept(db):
        return None
    selection = select(chosen, limits=False)
    changes = db.execute(
        f"SELECT hour, {', '.join(f'sum({name})' for name in LEVELS)} FROM ({OCCUPIED})"
        f" WHERE {selection.where} AND hour < :before"
        " GROUP BY hour ORDER BY hour",
        {**selection.params, "before": until},
    ).fetchall()
    return _levelled(changes, since - since % HOUR, until)


def _levelled(changes: Sequence[Sequence[int]], since: int, until: int) -> list[tuple[int, int, int, int]]:
    """The seconds of each hour: what was in use when it began, for an hour, and its correction."""
    found: list[tuple[int, int, int, int]] = []
    level, at = [0, 0, 0], since
    for hour, *change in [*changes, (until, *(0,) * len(LEVELS))]:
        while at < min(hour, until):
            if any(level):
                found.append((at, level[0] * HOUR, level[1] * HOUR, level[2] * HOUR))
            at += HOUR
        if at == hour and hour < until:
            seconds = [units * HOUR + more for units, more in zip(level, change[3:6], strict=True)]
            if any(seconds):
                found.append((hour, seconds[0], seconds[1], seconds[2]))
            at += HOUR
        level = [units + more for units, more in zip(level, change[:3], strict=True)]
    return found


def _all(chosen: Filter, limits: bool, days: bool = False) -> str:
    """SQL: every run of the window, summed up, under the names of the view run; also runs without an end."""
    parts = [
        _summed(f"ended_{span} JOIN rollup_key ON id = key WHERE {_between(span, since, until)}", span)
        if span
        else _summed(f"({image('(SELECT * FROM run WHERE ' + _between('end_time', since, until) + ')')})")
        for span, since, until in pieces(chosen.since, chosen.until, days)
    ]
    return " UNION ALL ".join((*parts, _OPEN, *(_CORRECTED if limits else ())))


def _between(column: str, since: int | None, until: int | None) -> str:
    bounds = ((">=", since), ("<", until))
    return " AND ".join(f"{column} {sign} {int(at)}" for sign, at in bounds if at is not None) or "TRUE"


Piece = tuple[str, int | None, int | None]


def pieces(since: int | None, until: int | None, days: bool = False) -> list[Piece]:
    """The window [since, until) as months, days and less than a day (""): each a window of its own."""

    def cut(spans: Sequence[tuple[str, Callable[[int], int]]], since: int | None, until: int | None) -> list[Piece]:
        if since is not None and until is not None and since >= until:
            return []
        if not spans:
            return [("", since, until)]
        (span, first), finer = spans[0], spans[1:]
        low = None if since is None else first(since)
        low = low if low is None or low == since else first(low + _LONGEST[span])
        high = None if until is None else first(until)
        if low is not None and high is not None and low >= high:
            return cut(finer, since, until)
        found: list[Piece] = [(span, low, high)]
        if since is not None:
            found += cut(finer, since, low)
        return found + (cut(finer, high, until) if until is not None else [])

    return cut([("day", _day)] if days else [("month", _month), ("day", _day)], since, until)


#: So many seconds after a span's first one is the next span, whichever it is.
_LONGEST: Final = {"month": 31 * DAY, "day": DAY}


def month_around(time: int) -> tuple[int, int]:
    """The first second of a time's UTC month, and that of the next one."""
    first = _month(time)
    return first, _month(first + _LONGEST["month"])


def _day(time: int) -> int:
    return time - time % DAY


def _month(time: int) -> int:
    return int(datetime.fromtimestamp(time, UTC).replace(day=1, hour=0, minute=0, second=0).timestamp())
