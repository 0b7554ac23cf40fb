"""Measures from the rollups instead of the runs: the same dataclasses, or None where the rollups do not answer.

Counts and sums are those of the runs; accuracies are added up in whole millionths. A quantile is the middle of its bin,
half of whose width is the error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.accuracy import QUANTILES, QUEUE_LIMITS, Accuracy, Curve, QueueAccuracy, Spread, Wanted
from adminkit.stats.rollup import ACCURACY_UNIT, binned, by_bin, month_around, sums
from adminkit.stats.select import Filter, clusters, snapshot, span
from adminkit.stats.states import END_OF, ENDED_ONCE, ENDED_SURELY, States, ordered
from adminkit.stats.states import Group as Ends
from adminkit.stats.users import User, Users, window
from adminkit.trace.rollup_row import COUNTS, DAY, EDGES, OVER, RAN

#: Names of Spread's quantiles, in the order of QUANTILES.
_QUANTILE_NAMES: Final = ("min", "p10", "p25", "median", "p75", "p90", "max")


@dataclass(slots=True)
class _Queue:
    """Sums of a queue, or of all of them, and its runs by bin."""

    sums: Counter[str] = field(default_factory=Counter)
    accuracy: Counter[int | None] = field(default_factory=Counter)
    elapsed: Counter[int | None] = field(default_factory=Counter)
    limit: Counter[int | None] = field(default_factory=Counter)
    #: Jobs of queues whose maximum is known; of these, who asked for it. None: a bin has such runs and others.
    with_maximum: int = 0
    maximum: int | None = 0
    default_known: int = 0
    default: int | None = 0

    def add(self, other: _Queue) -> None:
        for name in ("sums", "accuracy", "elapsed", "limit"):
            getattr(self, name).update(getattr(other, name))
        self.with_maximum += other.with_maximum
        self.default_known += other.default_known
        self.maximum = _plus(self.maximum, other.maximum)
        self.default = _plus(self.default, other.default)


def accuracy(db: sqlite3.Connection, chosen: Filter, now: int, wanted: Wanted) -> Accuracy | None:
    """stats.accuracy.accuracy(), without standard deviations. Shares are None where a bin leaves them open."""
    if not set(wanted.points) <= set(EDGES[:-1]):
        return None
    counts = ("accuracy", "elapsed") if wanted.curves or wanted.points else ("accuracy",)
    with snapshot(db):
        by = ("cluster", "queue", "limit_upto", "limit_source")
        rolled = sums(db, chosen, limits=True, by=by, counts=counts)
        if rolled is None:
            return None
        limits = {(c, q): (d, m) for c, q, d, m, _ in db.execute(QUEUE_LIMITS, {"now": now})}
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    found: dict[tuple[str, str | None], _Queue] = {}
    unsourced = 0
    for key, values in rolled.groups.items():
        cluster, queue, limit, source = key
        one = found.setdefault((cluster, queue), _Queue())
        one.accuracy.update(by_bin(values, "accuracy"))
        if "elapsed" in counts:
            one.elapsed.update(by_bin(values, "elapsed"))
        _count(one, values, limits.get((cluster, queue), (None, None)), limit, source)
        unsourced += 0 if source in ("default", "explicit") else values["jobs"]
    whole = _Queue()
    for one in found.values():
        whole.add(one)
    if whole.elapsed[EDGES[-1]] or whole.elapsed[None]:
        return None  # a curve would end in the bin without an end
    queues = [_accuracy(key, one, limits.get(key, (None, None)), wanted) for key, one in found.items()]
    queues.sort(key=lambda q: (-q.jobs, q.cluster or "", q.queue or ""))
    means = [q.spread.mean for q in queues if q.spread.mean is not None]
    no_gpus, no_cpus = (whole.sums["jobs"] - whole.sums[f"{name}s_known"] for name in ("gpu", "cpu"))
    overall = _accuracy((None, None), whole, (None, None), wanted)
    mean = sum(means) / len(means) if means else None
    return Accuracy(queues, overall, mean, rolled.excluded, names, ends, no_gpus, no_cpus, unsourced)


def _count(
    one: _Queue,
    values: Mapping[str, int],
    limits: tuple[int | None, int | None],
    limit: int,
    source: str,
) -> None:
    """Add the runs of one group to their queue, whose default and maximum limit are `limits`."""
    jobs, (default, maximum) = values["jobs"], limits
    one.sums.update(values)
    one.limit[limit] += jobs
    above = max((edge for edge in EDGES if edge < limit), default=-1)
    if maximum:
        one.with_maximum += jobs
        if limit >= maximum:
            one.maximum = _plus(one.maximum, jobs if above + 1 >= maximum else None)
    if source in ("default", "explicit") or default:
        one.default_known += jobs
    if source == "default":
        one.default = _plus(one.default, jobs)
    elif source != "explicit" and default and above < default <= limit:
        one.default = _plus(one.default, None)


def _plus(some: int | None, more: int | None) -> int | None:
    return None if some is None or more is None else some + more


def _accuracy(
    key: tuple[str | None, str | None], one: _Queue, limits: tuple[int | None, int | None], wanted: Wanted
) -> QueueAccuracy:
    total, jobs = one.sums, one.sums["jobs"]
    spread, error = _spread(one)
    lines = (one.elapsed, one.limit)
    elapsed, limit = (_curve(bins) if wanted.curves else Curve() for bins in lines)
    within = [tuple(_within(bins, at) for at in wanted.points) for bins in lines]
    return QueueAccuracy(
        *key,
        jobs,
        spread,
        one.maximum / one.with_maximum if one.with_maximum and one.maximum is not None else None,
        one.default / one.default_known if one.default_known and one.default is not None else None,
        one.accuracy[OVER],
        total["gpu_seconds_unused"] if total["gpus_known"] else None,
        total["cpu_seconds_unused"] if total["cpus_known"] else None,
        *limits,
        total["elapsed"] / total["req_limit"] if total["req_limit"] else None,
        error,
        elapsed,
        limit,
        *within,
    )


def _spread(one: _Queue) -> tuple[Spread, Spread | None]:
    """The values, and how far off each may be."""
    bins = binned(one.accuracy, "accuracy")
    values: dict[str, float] = {}
    errors: dict[str, float] = {}
    for name, share in zip(_QUANTILE_NAMES, QUANTILES, strict=True):
        found = bins.quantile(share)
        if found is None:
            return Spread(), None
        low, high = found[0] if found[0] is not None else found[1], found[1]
        assert low is not None
        values[name] = (low if high is None else (low + high) / 2) / 100
        errors[name] = math.inf if high is None else (high - low) / 200
    mean = one.sums["accuracy"] / ACCURACY_UNIT / one.sums["jobs"]
    return Spread(**values, mean=mean), Spread(**errors)


def _curve(bins: Mapping[int | None, int]) -> Curve:
    """The distribution function at the edges of the bins, where it is exact."""
    seconds = sorted(upto for upto, runs in bins.items() if upto is not None and runs)
    whole, upto, share = sum(bins.values()), 0, []
    for edge in seconds:
        upto += bins[edge]
        share.append(upto / whole)
    return Curve(seconds, share)


def _within(bins: Mapping[int | None, int], at: int) -> float | None:
    """The share of the runs of at most `at`, an edge."""
    whole = sum(bins.values())
    return sum(runs for upto, runs in bins.items() if upto is not None and upto <= at) / whole if whole else None


#: What the state and the run time do not tell of ENDS and STUDY.
_UNKNOWN: Final = (
    "cancelled_by_user", "cancelled_by_others", "never_started", "wrong_parameters", "system_failure", "other_ends",
)  # fmt: skip


def states(db: sqlite3.Connection, chosen: Filter, part: str, short: int) -> States | None:
    """stats.states.states(), without `unknown`: who cancelled, and what the study leaves out but for short runs. None
    also where runs ended and nobody knows when, and by node.
    """
    if short not in RAN[:-1] or part == "node":
        return None
    with snapshot(db):
        if db.execute(f"SELECT 1 FROM run WHERE {ENDED_ONCE} LIMIT 1").fetchone():
            return None
        by = ("cluster", part, "state", "ran_upto")
        rolled = sums(db, replace(chosen, min_elapsed=None), limits=False, by=by, first={"open": ENDED_SURELY})
        if rolled is None:
            return None
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    groups: dict[tuple[str, str | None], Ends] = {}
    overall = Ends(None, None)
    others: Counter[str | None] = Counter()
    for (cluster, value, state, elapsed), values in rolled.groups.items():
        end = END_OF.get(state, "other")
        ran = values["jobs"] if elapsed else 0
        for group in (groups.setdefault((cluster, value), Ends(value, cluster)), overall):
            group.ends[end] += values["jobs"]
            if state in ("COMPLETED", "TIMEOUT") and elapsed is not None:
                normal = "normal" if state == "COMPLETED" else "out_of_time"
                group.study["short" if elapsed <= short else normal] += values["jobs"]
            for hours, unit in ((group.gpu, "gpu"), (group.cpu, "cpu")):
                unknown = ran - values[f"{unit}s_known"] if ran else 0
                hours.add(end == "success", values[f"{unit}_seconds"], ran, unknown)
        if end == "other":
            others[state] += values["jobs"]
    return States(
        ordered(groups.values(), part), overall, dict(others.most_common()), 0, rolled.excluded, names, ends, _UNKNOWN
    )


def users(db: sqlite3.Connection, chosen: Filter) -> Users | None:
    """stats.users.users(): of a user's last end the day is known."""
    with snapshot(db):
        rolled = sums(db, chosen, limits=False, by=("cluster", "user", "month", "limited"))
        if rolled is None:
            return None
        days = _last_days(db, chosen, rolled.groups)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    found: dict[tuple[str, str | None], User] = {}
    overall = User(None, None)
    for key, values in rolled.groups.items():
        cluster, name, month, limited = key
        day, jobs = days.get((cluster, name)), values["jobs"]
        last = None if day is None else day + DAY // 2
        unknown = [jobs - values[f"{unit}s_known"] for unit in ("gpu", "cpu")]
        accuracies = [jobs, values["accuracy"] / ACCURACY_UNIT, values["elapsed"], values["req_limit"]]
        added = [values["gpu_seconds"], values["cpu_seconds"], *unknown, *(accuracies if limited else [0, 0, 0, 0])]
        for one in (found.setdefault((cluster, name), User(name, cluster)), overall):
            one.add(month, jobs, last, added)
    by_jobs = sorted(found.values(), key=lambda one: (-one.jobs, one.cluster or "", one.user or ""))
    return Users(by_jobs, overall, *window(chosen, ends), rolled.excluded, names, ends, DAY // 2)


def _last_days(
    db: sqlite3.Connection, chosen: Filter, groups: Iterable[tuple[Any, ...]]
) -> dict[tuple[str, str | None], int]:
    """(cluster, user) -> the first second of the day of the last end. `groups`: cluster, user, month, whatever.

    The days are read of the months in which somebody ended last.
    """
    last: dict[tuple[str, str | None], str] = {}
    for cluster, name, month, *_ in groups:
        if month is not None and month >= "1970":
            last[cluster, name] = max(month, last.get((cluster, name), month))
    found: dict[tuple[str, str | None], int] = {}
    for month in set(last.values()):
        since, until = month_around(int(datetime.strptime(f"{month} +0000", "%Y-%m %z").timestamp()))
        first = since if chosen.since is None else max(since, chosen.since)
        end = until if chosen.until is None else min(until, chosen.until)
        part = replace(chosen, since=first, until=end)
        rolled = sums(db, part, limits=False, by=("cluster", "user"), counts=("day",))
        for key, values in rolled.groups.items() if rolled else ():
            cluster, name = key
            if last.get((cluster, name)) == month:
                day = max(day for day, column in COUNTS["day"].items() if values[column])
                found[cluster, name] = since + day * DAY
    return found
