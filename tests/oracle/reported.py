"""What the reports say of a trace, under the names that the saved queries give to their columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from adminkit.config import Config
from adminkit.stats.accuracy import Wanted, accuracy
from adminkit.stats.parallelism import parallelism
from adminkit.stats.programs import programs
from adminkit.stats.select import Filter
from adminkit.stats.states import states
from adminkit.stats.users import users
from adminkit.stats.wait import wait

CODE = Config().checkpoint.code
HOUR = 3600
#: Columns that name a row.
NAMES = ("cluster", "queue", "user", "framework", "seconds", "way", "cause", "month", "class")

#: What a report says of one row, under the names of the query's columns.
Expected = Mapping[Any, Mapping[str, Any]]


def _accuracy(db: sqlite3.Connection, chosen: Filter) -> Expected:
    return {
        (one.cluster, one.queue): {
            "jobs": one.jobs, "mean": one.spread.mean, "used_fraction": one.used_fraction,
            "over_limit": one.over_limit, "gpu_hours_unused": (one.gpu_seconds_unused or 0) / HOUR,
            "cpu_hours_unused": (one.cpu_seconds_unused or 0) / HOUR,
        }
        for one in accuracy(db, chosen, 2**31).queues
    }  # fmt: skip


def _limits(db: sqlite3.Connection, chosen: Filter) -> Expected:
    points = (60, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 259200, 604800)
    found = accuracy(db, chosen, 2**31, Wanted(points=points)).overall
    return {
        (at,): {"ran_within": ran, "asked_within": asked, "jobs": found.jobs}
        for at, ran, asked in zip(points, found.ran_within, found.asked_within, strict=True)
    }


def _states(db: sqlite3.Connection, chosen: Filter) -> Expected:
    every = states(db, Filter(states=(), min_elapsed=None, since=chosen.since, until=chosen.until,
                              queues=chosen.queues, checkpoint_code=CODE), "queue", 60).overall  # fmt: skip
    return {(end,): {"jobs": jobs, "share": jobs / every.jobs} for end, jobs in every.ends.items() if jobs}


def _waits(db: sqlite3.Connection, chosen: Filter) -> Expected:
    return {
        (one.cluster, one.value): {
            name: getattr(one.waits, name) for name in ("jobs", "median", "p75", "p90", "p95", "mean")
        }
        for one in wait(db, chosen, 2**31).groups
        if one.waits.jobs
    }


def _causes(db: sqlite3.Connection, chosen: Filter) -> Expected:
    found = wait(db, chosen, 2**31)
    every = {"queue": found.overall.waits, **found.causes}
    return {(name,): {"jobs": one.jobs, "mean": one.mean} for name, one in every.items() if one.jobs}


def _users(db: sqlite3.Connection, chosen: Filter) -> Expected:
    return {
        (one.cluster, one.user): {
            "jobs": one.jobs, "gpu_hours": one.gpu_seconds / HOUR, "cpu_hours": one.cpu_seconds / HOUR,
            "accuracy": one.accuracy, "used_fraction": one.used_fraction,
        }
        for one in users(db, chosen).users
    }  # fmt: skip


def _months(db: sqlite3.Connection, chosen: Filter) -> Expected:
    months = users(db, chosen).overall.months
    return {(name,): {"jobs": one.jobs, "accuracy": one.accuracy} for name, one in months.items() if one.jobs}


def _frameworks(db: sqlite3.Connection, chosen: Filter) -> Expected:
    return {
        (one.cluster, one.value): {
            "jobs": one.jobs, "users": len(one.users), "gpu_hours": one.gpu_seconds / HOUR,
            "accuracy": one.spread().accuracy,
        }
        for one in programs(db, chosen, "framework").groups
    }  # fmt: skip


def _parallelism(db: sqlite3.Connection, chosen: Filter) -> Expected:
    found = parallelism(db, chosen)
    return {(name,): {"jobs": jobs, "share": jobs / found.jobs} for name, jobs in found.classes.items() if jobs}


REPORTED: dict[str, Callable[[sqlite3.Connection, Filter], Expected]] = {
    "accuracy": _accuracy, "limits": _limits, "months": _months, "wait": _waits, "causes": _causes, "states": _states,
    "users": _users, "frameworks": _frameworks, "parallelism": _parallelism,
}  # fmt: skip
