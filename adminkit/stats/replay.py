"""What each job asked for at submission, as far as the trace has it: one row per submission, for policy replay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from adminkit.errors import UsageError
from adminkit.job import SERVER_NAME
from adminkit.sqlite import sqlite3
from adminkit.stats.select import ENDED_STATES, Filter, Selection, clusters, left_out, select
from adminkit.trace.comment_words import RECORD
from adminkit.trace.continued_runs import REQUEUED
from adminkit.trace.decision_sql import seconds_of
from adminkit.trace.months import edges
from adminkit.trace.run_view import ASKED_GPUS, ASKED_PARTS, TOO_LONG, UNEXTENDED

#: A requeued run is followed by another one of the same submission.
STATES: Final = tuple(state for state in ENDED_STATES if state != REQUEUED)

#: SQL: how the limit was asked for: finite, unlimited or unset; NULL for unknown.
KIND: Final = f"""CASE
    WHEN limit_original > 0 THEN 'finite'
    WHEN limit_source = 'default' OR limit_kind = 'partition' THEN 'unset'
    WHEN limit_kind = 'unlimited' THEN 'unlimited'
    WHEN limit_kind = 'finite' AND time_limit > 0 AND time_limit < {TOO_LONG} THEN 'finite' END"""

#: One row per job: Submission's fields, then the seconds it ran, and what names it.
ROWS: Final = f"""
SELECT user, uid, account, queue, qos, {KIND}, coalesce(limit_original, {UNEXTENDED}),
    coalesce(req_nodes, nodes), coalesce(req_cpus, cpus), {ASKED_GPUS}, coalesce(req_mem, mem),
    limit_source = 'unknown' AND limit_kind = 'finite', {{name}}, {{time_min}}, {ASKED_PARTS},
    elapsed, job_id_raw, submit_time
FROM run WHERE {{where}}
"""

#: SQL: whether the policy's record was read whole, in the field that users cannot write; and the --time-min that the
#: user of such a job typed, seconds.
_RECORDED: Final = f"limit_source IN ('explicit', 'default') AND instr(admin_comment, '{RECORD.prefix}:') = 1"
_TIME_MIN: Final = f"CASE WHEN {_RECORDED} THEN {seconds_of('admin_comment', 'min')} END"
#: Slurm lowers a limit at the start, to no less than --time-min. It leaves those that backfill plans by need; where a
#: rule lowered one, the record names it.
_LOWERED: Final = f"""({UNEXTENDED}) < limit_original AND ({UNEXTENDED}) >= {_TIME_MIN}
    AND instr(admin_comment, ',keep=') = 0 AND instr(admin_comment, ',soft=') = 0
    AND instr(admin_comment, ',rules=') = 0"""
_TYPED: Final = f"""
SELECT total({_TIME_MIN} IS NOT NULL), count(DISTINCT CASE WHEN {_TIME_MIN} IS NOT NULL THEN user END),
    total({_LOWERED}), total(({_RECORDED}) IS NOT TRUE)
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
    gpus: float | None  # equivalents
    mem: int | None  # bytes of the whole job
    unsure: int  # 0, 1: whether the limit was typed is unknown
    # Only where planning by need asks for them: with a name few jobs ask for the same. Else the name of a server only.
    job_name: str | None = None
    time_min: int | None = None  # seconds; None, too, where nobody knows
    gpu_parts: int | None = None  # slices, shards, and of MPS the GPUs that it is a part of


@dataclass(frozen=True, slots=True)
class TypedTimeMin:
    """Who typed --time-min, as far as the policy's records have it: sacct keeps no TimeMin."""

    jobs: int
    users: int
    lowered: int  # of the jobs: ended with a lower limit than they asked for
    unknown: int  # jobs without a record in AdminComment


def submissions(db: sqlite3.Connection, chosen: Filter, *, planning: bool = False) -> Iterator[Row]:
    """A row per job that `chosen` takes, in no order: Submission's fields, the seconds it ran, JobIDRaw and Submit.

    `planning`: with what only planning by need looks at.
    """
    selection = _selection(chosen)
    server = f"CASE WHEN job_name = '{SERVER_NAME}' THEN job_name END"
    more = {"name": "job_name", "time_min": _TIME_MIN} if planning else {"name": server, "time_min": "NULL"}
    yield from db.execute(ROWS.format(where=selection.where, **more), selection.params)


def typed_time_min(db: sqlite3.Connection, chosen: Filter) -> TypedTimeMin:
    """Count the --time-min that the jobs of submissions() asked for."""
    selection = _selection(chosen)
    found = db.execute(_TYPED.format(where=selection.where), selection.params).fetchone()
    return TypedTimeMin(*map(int, found))


def at_most(db: sqlite3.Connection) -> int:
    """An upper bound of the rows of submissions(), counted in an index: for a progress bar."""
    return edges.count(db)


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
    selection = select(replace(chosen, states=STATES, min_elapsed=-1), limits=False)
    return replace(selection, rules={**selection.rules, "requeued": "NOT continued"})
