"""The findings of a site, for operators: of its queues, and of users who fail or flood. Each measure is read once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from adminkit.findings import (
    bad_node,
    bundle,
    default_limit,
    failing,
    flood,
    habit,
    idle_gpus,
    images,
    io_bound,
    max_limit,
    memory,
    month,
    over_asked,
    queue_fit,
    run_over,
    waits,
)
from adminkit.findings.finding import Finding
from adminkit.recommend.menu import MENU, RISK
from adminkit.sqlite import sqlite3
from adminkit.stats.bad_nodes import bad_nodes as measure_nodes
from adminkit.stats.bundles import bundlers
from adminkit.stats.extensions import ran_over
from adminkit.stats.failing import failing as measure_failing
from adminkit.stats.failing import floods, runs
from adminkit.stats.images import images as measure_images
from adminkit.stats.measures import YEAR, Measures
from adminkit.stats.queue_fit import queue_jobs
from adminkit.stats.queue_habits import queue_habits
from adminkit.stats.select import Filter, by_window
from adminkit.stats.wait_avoided import wait_avoided

#: Kinds that aggregate over users: those of queues, and of what their jobs have in common.
QUEUES: Final = ("over_asked", "habit", "default_limit", "max_limit", "queue_fit", "waits", "images", "bad_node")
#: Kinds about one user each.
USERS: Final = ("bundle", "idle_gpus", "io_bound", "memory", "failing", "flood", "run_over", "month")


def of_queues(db: sqlite3.Connection, chosen: Filter, now: int, kinds: Collection[str] = QUEUES) -> Iterator[Finding]:
    """The findings of these kinds on the jobs that `chosen` takes, by queue; limits of queues are those at `now`."""
    if not {"over_asked", "habit", "default_limit"}.isdisjoint(kinds):
        for queue in queue_habits(db, chosen, now):
            if "over_asked" in kinds:
                yield from over_asked.check(queue, over_asked.Limits())
            if "habit" in kinds:
                yield from habit.check(queue, habit.Limits())
            if "default_limit" in kinds:
                yield from default_limit.check(queue, default_limit.Limits())
    if not {"max_limit", "queue_fit"}.isdisjoint(kinds):
        yield from _fits(db, chosen, now, kinds)
    if "waits" in kinds:
        for avoided in wait_avoided(db, chosen):
            yield from waits.check(avoided, waits.Limits())
    if "images" in kinds:
        limits = images.Limits()
        for image in measure_images(db, replace(chosen, states=(), min_elapsed=None), limits.starts, limits.short):
            yield from images.check(image, limits)
    if "bad_node" in kinds:
        blame = bad_node.Limits()
        for node in measure_nodes(db, replace(chosen, states=(), min_elapsed=None), blame.false):
            yield from bad_node.check(node, blame)


def _fits(db: sqlite3.Connection, chosen: Filter, now: int, kinds: Collection[str]) -> Iterator[Finding]:
    """A function of its own: its columns are let go before the next measure."""
    every = queue_jobs(db, replace(chosen, queues=()), now)
    for jobs in (one for one in every if not chosen.queues or one.queue in chosen.queues):
        if "max_limit" in kinds:
            yield from max_limit.check(jobs, max_limit.Limits(MENU, RISK))
        if "queue_fit" in kinds:
            yield from queue_fit.check(queue_fit.Measure(jobs, every), queue_fit.Limits())


def of_users(
    db: sqlite3.Connection, chosen: Filter, kinds: Collection[str] = USERS, measures: Measures | None = None
) -> Iterator[Finding]:
    """The findings of users; for failures and floods, of jobs in any state and of any run time. Their `measures` may
    be known already.
    """
    known = measures or Measures()
    if "bundle" in kinds:
        for bundler in bundlers(db, chosen):
            yield from bundle.check(bundler, bundle.Limits())
    if not {"idle_gpus", "memory"}.isdisjoint(kinds):
        for user in known.efficiencies(db, chosen, "user").groups:
            if "idle_gpus" in kinds:
                yield from idle_gpus.check(user, idle_gpus.Limits())
            if "memory" in kinds:
                yield from memory.check(user, memory.Limits())
    if "io_bound" in kinds:
        for one in known.file_waits(db, chosen, "user", io_bound.classify, len(io_bound.CLASSES)).groups:
            yield from io_bound.check(one, io_bound.Limits())
    if not {"failing", "flood"}.isdisjoint(kinds):
        yield from _of_every_end(db, replace(chosen, states=(), min_elapsed=None), kinds)
    if "run_over" in kinds:
        for over in ran_over(db, chosen):
            yield from run_over.check(over, run_over.Limits())
    if "month" in kinds and chosen.until is not None:
        yield from _months(db, by_window(db, replace(chosen, since=chosen.until - YEAR)), known)


def _of_every_end(db: sqlite3.Connection, chosen: Filter, kinds: Collection[str]) -> Iterator[Finding]:
    named, submitted = runs(db, chosen)
    if "failing" in kinds:
        limits = failing.Limits()
        for name in measure_failing(named, limits.runs, limits.share):
            yield from failing.check(name, limits)
    del named
    if "flood" in kinds:
        for one in floods(submitted, flood.Limits().jobs):
            yield from flood.check(one, flood.Limits())


def _months(db: sqlite3.Connection, chosen: Filter, known: Measures) -> Iterator[Finding]:
    measured = known.users(db, chosen)
    for one in measured.users:
        if measured.month is not None and one.user is not None and one.cluster is not None:
            measure = month.Measure(one.cluster, one.user, measured.month, one.change(measured.month))
            yield from month.check(measure, month.Limits())
