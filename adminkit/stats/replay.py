"""What each job asked for at submission, as far as the trace has it: one row per submission, for policy replay."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from adminkit.errors import UsageError
from adminkit.stats.select import ENDED_STATES, Filter, Selection, clusters, left_out, select
from adminkit.trace.run_view import TOO_LONG

#: A requeued run is followed by another one of the same submission.
STATES: Final = tuple(state for state in ENDED_STATES if state != "REQUEUED")

#: SQL: how the limit was asked for: finite, unlimited or unset; NULL for unknown.
KIND: Final = f"""CASE
    WHEN limit_original > 0 THEN 'finite'
    WHEN limit_source = 'default' OR limit_kind = 'partition' THEN 'unset'
    WHEN limit_kind = 'unlimited' THEN 'unlimited'
    WHEN limit_kind = 'finite' AND time_limit > 0 AND time_limit < {TOO_LONG} THEN 'finite' END"""

#: One row per job: Submission's fields, then the seconds it ran, and what names it.
ROWS: Final = f"""
SELECT user, uid, account, queue, qos, {KIND}, coalesce(limit_original, time_limit),
    coalesce(req_nodes, nodes), coalesce(req_cpus, cpus), coalesce(req_gpus, gpus), coalesce(req_mem, mem),
    limit_source = 'unknown' AND limit_kind = 'finite', {{name}}, elapsed, job_id_raw, submit_time
FROM run WHERE {{where}}
"""

#: The limits of each queue as they are now: its newest row.
QUEUES: Final = """
SELECT queue, default_limit, max_limit, max(since) FROM queue
WHERE cluster = ? GROUP BY queue
"""

Row = tuple[str | int | None, ...]


class Submission(NamedTuple):
    """What one job asked for: the first columns of a row, None for unknown."""

    user: str | None
    uid: int | None
    account: str | None
    queue: str | None
    qos: str | None
    limit_kind: str | None
    time_limit: int | None  # seconds; what it had in the end where it asked for none
    nodes: int | None
    cpus: int | None
    gpus: int | None
    mem: int | None  # bytes of the whole job
    unsure: int  # 0, 1: whether the limit was typed is unknown
    job_name: str | None = None  # only where it is asked for: with it few jobs ask for the same


def submissions(db: sqlite3.Connection, chosen: Filter, *, names: bool = False) -> Iterator[Row]:
    """A row per job that `chosen` takes, in no order: Submission's fields, the seconds it ran, JobIDRaw and Submit."""
    selection = _selection(chosen)
    yield from db.execute(ROWS.format(where=selection.where, name="job_name" if names else "NULL"), selection.params)


def at_most(db: sqlite3.Connection) -> int:
    """An upper bound of the rows of submissions(), counted in an index: for a progress bar."""
    return int(db.execute("SELECT count(*) FROM run").fetchone()[0])


def excluded(db: sqlite3.Connection, chosen: Filter, jobs: int) -> dict[str, int]:
    """How many jobs each filter left out, when submissions() yielded `jobs`."""
    return left_out(db, _selection(chosen), jobs)


def queue_limits(db: sqlite3.Connection, cluster: str) -> dict[str, tuple[int | None, int | None]]:
    """Queue -> its default and its maximum limit, seconds, None for none, as the trace last saw them."""
    found = db.execute(QUEUES, (cluster,))
    return {queue: (default, most) for queue, default, most, _ in found}


def one_cluster(db: sqlite3.Connection, chosen: Filter) -> Filter:
    """`chosen` with the trace's only cluster where it names none. UsageError for several: a policy has one cluster."""
    known = chosen.clusters or clusters(db)
    if len(known) > 1:
        raise UsageError(
            f"a policy is for one cluster, and these are {len(known)}: {', '.join(known)}", "name it: --cluster"
        )
    return replace(chosen, clusters=tuple(known))


def _selection(chosen: Filter) -> Selection:
    return select(replace(chosen, states=STATES, min_elapsed=-1), limits=False)
