"""Sums and counts by bin from the rollups, for the same Filter as from the rows. None where only the rows can answer.

What trace/rollup.py keeps is read under the names of the view `run`, so that the condition is the one of select():
`end_time` is the first second of the month of the end, `elapsed` and `req_limit` are upper edges of bins. A window is
made of whole months. Where it has a part of a month, that part is read from the rows, or the other part is and is
taken away: whichever is shorter, and the few runs after a window that ends about now. From the rows come runs without
an end, and the few that another run's row makes checkpoint runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.select import LIMITED, Filter, select
from adminkit.trace.continued_runs import IN_PIECES
from adminkit.trace.rollup import may_read
from adminkit.trace.rollup_row import COUNTS, DAY, EDGES, KEYS, LAST, OVER, PERCENT, RAN, SUMS, WHOSE, image
from adminkit.trace.run_view import CHECKPOINT_OWN

#: By what sums may be grouped -> SQL. `limited`: whether the run has an accuracy; `month` is UTC's, of the end.
GROUPS: Final[Mapping[str, str]] = {
    **{name: name for name in ("cluster", "queue", "user", "account", "class", "state", "limit_source")},
    **{name: name for name in ("limit_upto", "ran_upto")},
    "limited": f"coalesce({LIMITED}, 0)",
    "month": "strftime('%Y-%m', end_time, 'unixepoch')",
}
#: Sums by units that a person reads: accuracy is kept in millionths.
ACCURACY_UNIT: Final = 1_000_000


def _summed(rows: str, counts: Sequence[str], at: str = "end_time", sign: str = "", checkpoint: str = "") -> str:
    """SQL: `rows`, an image or a table with its keys, under the names of the view run."""
    keys = ", ".join(f"{checkpoint} AS checkpoint" if checkpoint and key == "checkpoint" else key for key in KEYS)
    names = (*SUMS, *(name for what in counts for name in COUNTS[what].values()))
    return (
        f"SELECT {keys}, ran_upto AS elapsed, limit_upto AS req_limit, {at} AS end_time,"
        f" {', '.join(f'{sign}{name} AS sum_{name}' for name in names)} FROM {rows}"
    )


#: Runs that another row of their number makes a checkpoint run, or not one.
_OTHERS: Final = (
    f"(SELECT * FROM run WHERE end_time IS NOT NULL AND checkpoint <> CASE WHEN {CHECKPOINT_OWN} THEN 1 ELSE 0 END"
    f" AND (cluster, job_id_raw) IN (SELECT cluster, job_id_raw FROM run WHERE {IN_PIECES}))"
)


def _apart(limits: bool, counts: Sequence[str]) -> list[str]:
    """SQL: the runs without an end, and with `limits` those of _OTHERS, as they are kept and as they are."""
    found = [_summed(f"({image('(SELECT * FROM run WHERE end_time IS NULL)', counts)})", counts)]
    if limits:
        others = f"({image(_OTHERS, counts)})"
        found += [_summed(others, counts, sign="-"), _summed(others, counts, checkpoint="1 - checkpoint")]
    return found


Values = tuple[Any, ...]
#: Runs that are read one by one in next to no time.
FEW: Final = 10_000


@dataclass(frozen=True, slots=True)
class Sums:
    """The runs that a Filter takes, by group: the group's values -> sums by name, and counts where asked for."""

    groups: Mapping[Values, Mapping[str, int]]
    excluded: Mapping[str, int]


#: All runs: those that ended, and those that did not.
EVERYTHING: Final = (
    "SELECT coalesce(sum(jobs), 0) FROM ended_month UNION ALL SELECT count(*) FROM run WHERE end_time IS NULL"
)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Runs by bin: `bins` has (above, up to, runs), ascending; `above` None: the bin has only its upper edge.

    `up to` of the last bin of accuracy and of wait is None. Runs whose value is unknown are in `unknown`.
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
    return whole and (chosen.min_elapsed is None or chosen.min_elapsed in RAN[:-1]) and may_read(db)


def sums(
    db: sqlite3.Connection,
    chosen: Filter,
    *,
    limits: bool,
    by: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
    counts: Sequence[str] = (),
) -> Sums | None:
    """The sums of the runs that `chosen` takes, by GROUPS, and how many each rule left out. `limits` as select();
    `first` are rules that come before the Filter's; `counts` are of COUNTS. The caller holds a snapshot where it reads
    more.
    """
    if not answers(db, chosen):
        return None
    selection = select(chosen, limits=limits)
    selection = replace(selection, rules={**(first or {}), **selection.rules})
    columns = ", ".join(GROUPS[name] for name in by) or "NULL"
    names = (*SUMS, *(name for what in counts for name in COUNTS[what].values()))
    whose = bool(chosen.users or chosen.accounts or set(by) & set(WHOSE) or "day" in counts)
    parts = pieces(chosen.since, chosen.until, chosen.until is not None and few_after(db, chosen.until))
    every = [*_ended(parts, "ended_month_user" if whose else "ended_month", counts)]
    apart = " UNION ALL ".join(_apart(limits or "limited" in by, counts))
    every.append(f"SELECT * FROM ({apart}) WHERE {selection.within}")
    rows = db.execute(
        f"SELECT {selection.reason} AS rule, {', '.join(f'sum(sum_{name})' for name in names)}, {columns}"
        f" FROM ({' UNION ALL '.join(every)}) GROUP BY rule, {columns}",
        {**selection.params, "checkpoint_code": chosen.checkpoint_code},
    ).fetchall()
    excluded = dict.fromkeys(selection.rules, 0)
    groups: dict[Values, dict[str, int]] = {}
    for rule, *values in rows:
        if rule:
            excluded[list(selection.rules)[rule - 1]] += values[0]
        elif values[0]:
            key = tuple(values[len(names) :]) if by else ()
            groups[key] = dict(zip(names, values, strict=False))
    if selection.within != "TRUE":
        everything = sum(count for (count,) in db.execute(EVERYTHING))
        excluded = {"window": everything - sum(row[1] for row in rows), **excluded}
    return Sums(groups, excluded)


def by_bin(values: Mapping[str, int], what: str) -> dict[int | None, int]:
    """Runs by the upper edge of their bin, of a group of sums() with the counts of `what`; None: unknown."""
    known: dict[int | None, int] = {edge: values[name] for edge, name in COUNTS[what].items() if values[name]}
    unknown = values["jobs"] - sum(known.values())
    return {**known, None: unknown} if unknown else known


def binned(runs: Mapping[int | None, int], what: str) -> Histogram:
    """Numbers of runs by the upper edge of their bin of `what`: elapsed, wait (seconds) or accuracy (per cent)."""
    edges = EDGES if what != "accuracy" else range(0, OVER + 1, PERCENT)
    without_end = {"accuracy": OVER, "wait": EDGES[-1]}.get(what)
    above = {upto: low for low, upto in pairwise(edges)}
    return Histogram(
        [
            (above.get(upto), None if upto == without_end else upto, count)
            for upto, count in sorted((upto, count) for upto, count in runs.items() if upto is not None)
            if count
        ],
        runs.get(None, 0),
    )


def few_after(db: sqlite3.Connection, at: int) -> bool:
    """Whether few runs ended at a moment or later: what they add to its month is soon taken away."""
    few = f"SELECT count(*) FROM (SELECT 1 FROM run WHERE end_time >= ? LIMIT {FEW + 1})"
    return bool(db.execute(few, (at,)).fetchone()[0] <= FEW)


def _ended(parts: Sequence[Piece], table: str, counts: Sequence[str]) -> list[str]:
    """SQL: the runs of the window that ended, summed up, under the names of the view run."""
    return [
        _summed(f"{table} JOIN rollup_key ON id = key WHERE {between('month', since, until)}", counts, "month", sign)
        if months
        else _summed(
            f"({image('(SELECT * FROM run WHERE ' + between('end_time', since, until) + ')', counts)})",
            counts,
            sign=sign,
        )
        for sign, months, since, until in parts
    ]


def between(column: str, since: int | None, until: int | None) -> str:
    """SQL: a time of [since, until)."""
    bounds = ((">=", since), ("<", until))
    return " AND ".join(f"{column} {sign} {int(at)}" for sign, at in bounds if at is not None) or "TRUE"


class Piece(NamedTuple):
    """A part of a window: whole months or runs, to be added ("") or taken away ("-")."""

    sign: str
    months: bool
    since: int | None
    until: int | None


def pieces(since: int | None, until: int | None, few: bool = False) -> list[Piece]:
    """The window [since, until) as months, and at each end the runs of half a month at most. With `few` the runs after
    the window are taken away, however much of their month is left.
    """
    if since is not None and until is not None and since >= until:
        return []
    begin, runs_before = (None, []) if since is None else _nearest(since, "-", "")
    end, runs_after = (None, []) if until is None else _nearest(until, "", "-", few)
    if begin is not None and end is not None and begin >= end:
        return [Piece("", False, since, until)]
    return [Piece("", True, begin, end), *runs_before, *runs_after]


def _nearest(at: int, after: str, before: str, following_one: bool = False) -> tuple[int, list[Piece]]:
    """The nearest beginning of a month, or the following one, and the runs between, with the sign of what is `after` or
    `before` it.
    """
    first, following = month_around(at)
    if at == first:
        return first, []
    if not following_one and at - first <= following - at:
        return first, [Piece(after, False, first, at)]
    return following, [Piece(before, False, at, following)]


def month_around(time: int) -> tuple[int, int]:
    """The first second of a time's UTC month, and that of the next one."""
    first = _month(time)
    return first, _month(first + 31 * DAY)


def _month(time: int) -> int:
    return int(datetime.fromtimestamp(time, UTC).replace(day=1, hour=0, minute=0, second=0).timestamp())
