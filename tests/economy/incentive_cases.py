"""Traces of people who estimate well, badly, or play tricks; what they earn is worked out without Slurm."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

from adminkit.economy.build import Computed, Explained, Worth, compute, explain
from adminkit.economy.tables import points
from adminkit.job import Job, Step
from adminkit.policy.incentive_settings import Incentives
from adminkit.policy.model import Policy
from adminkit.trace import gpu_words, schema
from adminkit.trace.months import archived
from adminkit.trace.run_view import RUN_VIEW
from tests.support.builders import HOUR, MONDAY, job

DAY = 24 * HOUR
#: The Monday's fourth week, at noon.
NOW = MONDAY + 28 * DAY + 12 * HOUR
MENU = ("00:15:00", "01:00:00", "03:00:00", "06:00:00", "12:00:00", "1-00:00:00", "3-00:00:00")
#: An hour of ageing is worth so many points here.
PER_HOUR = 60.0


def policy(**settings: Any) -> Policy:
    return Policy.model_validate({"version": 1, "menu": list(MENU), "incentives": settings})


def worth(settings: Incentives) -> Worth:
    return Worth(points(settings, PER_HOUR), None)


def run(number: int = 1, day: int = 0, **changes: Any) -> Job:
    """A run of uid 1001 that ended `day` days ago: 50 minutes of an hour's limit on one GPU, CPUs half busy."""
    elapsed = changes.get("elapsed", 3000)
    cpus = changes.get("cpus") or 8
    end = NOW - day * DAY - 6 * HOUR + number
    given = {
        "uid": 1001,
        "job_name": "train",
        "time_limit": HOUR,
        "elapsed": elapsed,
        "cpu_time": None if elapsed is None else elapsed * cpus / 2,
        "end_time": end,
        "submit_time": end - (elapsed or 0) - 60,
        "start_time": end - (elapsed or 0),
    }
    return job(number, **{**given, **changes})


def good(first: int = 1, count: int = 12, **changes: Any) -> list[Job]:
    """Runs on four days whose limits were right: 360 points, all that accuracy pays."""
    return [run(first + nth, nth % 4, **changes) for nth in range(count)]


def step(of: Job, name: str, start: int, seconds: int, gpus: int | None = 1, nodes: int = 1, **changes: Any) -> Step:
    """A step that began `start` seconds into the run, its CPU busy."""
    assert of.start_time is not None
    begin = of.start_time + start
    given = {"gpus": gpus, "nodes": nodes, "tasks": 1, "start_time": begin, "end_time": begin + seconds}
    given |= {"elapsed": seconds, "cpu_time": float(seconds)}
    return Step(of.cluster, of.job_id_raw, of.submit_time, name, **{"source": of.source, **given, **changes})


@contextmanager
def trace(jobs: Iterable[Job], steps: Iterable[Step] = ()) -> Iterator[sqlite3.Connection]:
    """A trace in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.deserialize(_empty())
        for table, kind, rows in (("job", Job, jobs), ("step", Step, steps)):
            names = [f.name for f in fields(kind)]
            columns, values = ", ".join(f'"{name}"' for name in names), ", ".join("?" for _ in names)
            db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({values})", map(attrgetter(*names), rows))
        yield db


@cache
def _empty() -> bytes:
    """The tables that incentives read, without a row; hundreds of examples begin with a copy."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for statement in (schema._JOB, schema._STEP, *gpu_words.CREATE, *archived.CREATE, RUN_VIEW):
            db.execute(statement)
        return db.serialize()


def everybody(jobs: Iterable[Job], steps: Iterable[Step] = (), **settings: Any) -> Computed:
    rules = policy(**settings)
    with trace(jobs, steps) as db:
        return compute(db, rules, "aaic", NOW, worth(rules.incentives), checkpoint_code=85)


def ada(jobs: Iterable[Job], steps: Iterable[Step] = (), **settings: Any) -> Explained:
    rules = policy(**settings)
    with trace(jobs, steps) as db:
        return explain(db, rules, "aaic", "ada", NOW, worth(rules.incentives), checkpoint_code=85)
