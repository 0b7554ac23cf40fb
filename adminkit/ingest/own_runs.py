"""The caller's own runs, from their accounting into a copy of their own (trace/private_copy.py).

A question names a number of days, and of runs whose steps it wants. The copy holds the answers for a day; after
that, or where more is wanted than it has, everything is asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm import cluster as slurm
from adminkit.sqlite import sqlite3
from adminkit.trace import private_copy, windows
from adminkit.trace.private_copy import DAYS_FACT, QUEUES_FACT, Missing

DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command needs."""

    uid: int
    days: int
    cluster: str | None = None  # None: the local one
    steps: bool = False
    queues: bool = False  # their maxima
    fresh: bool = False  # whatever the copy holds
    max_age: int = DAY  # seconds for which a copy is good
    newest: int | None = None  # seconds after which what has come since is asked for; None: never


@dataclass(frozen=True, slots=True)
class Own:
    """A copy, in memory, of what was there from `since` to `asked_at`, epoch seconds.

    `problem` says why sacct could not be asked now, where that failed.
    """

    data: bytes
    cluster: str
    since: int
    asked_at: int
    problem: AdminkitError | None = None


def own_runs(wanted: Wanted, folder: Path, now: int, talk: Callable[[str], None]) -> Own:
    """The caller's runs: from the copy in `folder` where it is good enough, else from their accounting, and kept there.

    If slurmdbd is not responding, an older copy is used. AdminkitError if there is none.
    """
    held = None
    try:
        held = private_copy.read(folder)
    except AdminkitError as error:
        talk(f"{error.message}: {error.hint}")
    try:
        cluster = wanted.cluster or slurm.local_cluster()
        missing = "all" if held is None else _missing(wanted, held, cluster, now)
        if held is not None and missing is None:
            return Own(held, cluster, *_span(held, cluster))
        if wanted.cluster is not None and missing == "all":
            slurm.refuse_unknown_clusters([cluster], slurm.known_clusters())
        # Its modules take longer to load than a copy takes to read.
        from adminkit.ingest.own_questions import Work, refreshed

        data = refreshed(
            Work(wanted.uid, wanted.days, wanted.steps, wanted.queues, now, talk), held, cluster, missing or "all"
        )
    except AdminkitError as error:
        known = _cluster_in(held, wanted.cluster)
        if held is None or known is None:
            raise
        return Own(held, known, *_span(held, known), error)
    try:
        private_copy.keep(folder, data)
    except AdminkitError as error:
        talk(f"{error.message}: the output of sacct is not kept ({error.hint})")
    return Own(data, cluster, *_span(data, cluster))


def _missing(wanted: Wanted, data: bytes, cluster: str, now: int) -> Missing | None:
    """What has to be asked for."""
    with private_copy.opened(data) as db:
        jobs, days = windows.recorded(db, cluster, windows.JOBS), windows.fact(db, cluster, DAYS_FACT)
        steps, queues = windows.recorded(db, cluster, windows.STEPS), windows.fact(db, cluster, QUEUES_FACT)
    if wanted.fresh or not jobs or days is None or int(days[0]) < wanted.days:
        return "all"
    # A copy may be made newer again and again. Its first question counts, which is a day old some time.
    if not 0 <= now - days[1] < wanted.max_age:
        return "all"
    if now < jobs[-1].asked_at:  # the clock was ahead then
        return "all"
    if wanted.newest is not None and now - jobs[-1].asked_at >= wanted.newest:
        return "newer"
    if wanted.steps and (not steps or steps[-1].asked_at < jobs[-1].asked_at):
        return "rest"
    return "rest" if wanted.queues and queues is None else None


def _span(data: bytes, cluster: str) -> tuple[int, int]:
    """The span (from, to) of which a copy has the cluster's runs."""
    with private_copy.opened(data) as db:
        known = windows.recorded(db, cluster, windows.JOBS)
    return (known[0].since, known[-1].asked_at) if known else (0, 0)


def _cluster_in(data: bytes | None, wanted: str | None) -> str | None:
    """The cluster whose runs a copy has, where it is the one wanted."""
    if data is None:
        return None
    with private_copy.opened(data) as db:
        names: Sequence[str] = windows.clusters(db)
    if wanted is not None:
        return wanted if wanted in names else None
    return names[0] if names else None


@contextmanager
def runs_of(own: Own, as_of: int | None = None) -> Iterator[sqlite3.Connection]:
    """A connection to the copy, for readers."""
    with private_copy.opened(own.data, as_of) as db:
        yield db
