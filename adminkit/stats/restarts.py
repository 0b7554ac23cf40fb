"""Jobs that ran in several pieces or were warned by the checkpoint plugin: their run time, and what restarts cost.

A *chain* is the runs of one job, each of which continues the one before: it was put back into the queue, preempted, or
lost its node (trace/continued_runs.py). A job id that is used again begins a new chain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from adminkit.errors import UsageError
from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, Selection, clusters, select, snapshot, span
from adminkit.trace.continued_runs import IN_PIECES, RESIZED
from adminkit.trace.months.door import exists
from adminkit.trace.months.edges import archive_has

#: What a chain can be grouped by -> SQL over the table of chains.
PARTS: Final[Mapping[str, str]] = {
    "queue": "queue",
    "user": "user",
    "account": "account",
    "class": "class",
    "ended": "ended",
}

#: SQL: the run ended before its job did, and what it computed was redone unless it was saved. A resized one continues.
_CUT: Final = f"(continued AND state <> '{RESIZED}')"
#: What the statements below read of a run: every other column of the view would be computed as well.
_COLUMNS: Final = """cluster, job_id_raw, submit_time, job_id, array_job, queue, user, account, class, state,
    start_time, end_time, elapsed, time_limit, ckpt_at, ckpt_heard, ckpt_end"""
#: Each run of the jobs in {ids}, beside the run before it. Traps: a run that is put back at its limit becomes
#: REQUEUED, so its elapsed tells its TIMEOUT; its number of requeues is in the note of the next run only.
_RUNS: Final = f"""
SELECT {_COLUMNS}, previous_submit IS NOT NULL AS goes_on,
    CASE WHEN previous_submit IS NOT NULL THEN max(start_time - lag(end_time) OVER runs, 0) END AS waited,
    max(end_time) OVER runs AS last_end,
    {_CUT} AND (coalesce(ckpt_end IN ('more', 'limit'), 0)
        OR coalesce(lead(ckpt_requeues) OVER runs > coalesce(ckpt_requeues, 0), 0)) AS ours,
    coalesce(ckpt_heard > 0 AND (state = 'TIMEOUT' OR {_CUT} AND elapsed >= time_limit), 0) AS unheeded,
    CASE WHEN {_CUT} AND ckpt_heard > 0 THEN min(max(end_time - ckpt_at, 0), elapsed) END AS saving,
    CASE WHEN {_CUT} AND coalesce(ckpt_heard, 0) = 0 THEN elapsed END AS unsaved,
    CASE WHEN end_time IS NULL THEN 'open' WHEN ckpt_end IN ('max', 'short', 'refused') THEN ckpt_end
        ELSE lower(state) END AS ended
FROM run WHERE (cluster, job_id_raw) IN ({{ids}})
WINDOW runs AS (PARTITION BY cluster, job_id_raw ORDER BY submit_time)
"""

#: The numbers of jobs that may have run in several pieces, of which there is more than one run: by an index …
_PIECED: Final = f"""SELECT cluster, job_id_raw FROM run WHERE {IN_PIECES} AND EXISTS (
    SELECT 1 FROM run AS other WHERE other.cluster = run.cluster AND other.job_id_raw = run.job_id_raw
        AND other.submit_time <> run.submit_time)"""
_WARNED: Final = "ckpt_at IS NOT NULL"
#: … and of those that were warned.
_MANY: Final = f"{_PIECED} UNION SELECT cluster, job_id_raw FROM run WHERE {_WARNED}"
#: One row per chain. Trap: the bare columns are those of the row with the max(), of which there may be one only.
_CHAINS: Final = f"""
SELECT cluster, queue, user, account, class, state, ended, max(submit_time),
    last_end AS end_time, total(elapsed) AS elapsed, count(*) AS runs, total(waited) AS waited, total(saving) AS saving,
    total(unsaved) AS unsaved, total(ours) AS ours, total(ckpt_at IS NOT NULL) AS signals, total(unheeded) AS unheeded,
    total(ckpt_heard = 0) AS uncaught
FROM (SELECT *, total(NOT goes_on) OVER (PARTITION BY cluster, job_id_raw ORDER BY submit_time) AS chain
      FROM ({_RUNS.format(ids="{many}")}))
GROUP BY cluster, job_id_raw, chain HAVING count(*) > 1 OR total(ckpt_at IS NOT NULL) > 0
"""

_MEASURE: Final = """
SELECT CASE WHEN {within} THEN {reason} ELSE -1 END, cluster, {part}, ended, runs, elapsed, waited, saving, unsaved,
    ours, signals, unheeded, uncaught
FROM ({chains})
"""

_PIECES: Final = f"""
SELECT cluster, job_id, user, queue, submit_time, start_time, end_time, state, elapsed, time_limit, waited, ckpt_at,
    ckpt_heard, unheeded, CASE WHEN ours AND ckpt_end IS NULL THEN 'limit' ELSE ckpt_end END, saving, unsaved
FROM ({_RUNS.format(ids="SELECT cluster, job_id_raw FROM run WHERE {wanted}")})
ORDER BY cluster, coalesce(array_job, job_id_raw), job_id_raw, submit_time
"""


@dataclass(slots=True)
class Group:
    """The chains with one value of a part (PARTS); None for unknown. Times are seconds."""

    value: str | None
    cluster: str | None
    jobs: int = 0
    restarted: int = 0  # of these, ran in several pieces
    runs: int = 0
    ran: int = 0
    waited: int = 0  # between the pieces
    saving: int = 0  # from a delivered signal to the end of a run that was put back
    unsaved: int = 0  # run time of pieces that were put back, in whatever state, without a delivered signal
    ours: int = 0  # requeues by adminkit
    signals: int = 0  # runs in which the plugin looked for a process to warn
    unheeded: int = 0  # of these, runs that reached their limit although a process got the signal
    uncaught: int = 0  # of these, runs in which no process caught the signal

    def add(self, runs: int, *sums: float) -> None:
        """One chain; `sums` are the fields from `ran` on."""
        self.jobs += 1
        self.restarted += runs > 1
        self.runs += runs
        for name, value in zip(_SUMMED, sums, strict=True):
            setattr(self, name, getattr(self, name) + int(value))


_SUMMED: Final = ("ran", "waited", "saving", "unsaved", "ours", "signals", "unheeded", "uncaught")


@dataclass(frozen=True, slots=True)
class Restarts:
    """`groups` by number of jobs, most first. `excluded` counts jobs of several pieces or with a signal."""

    groups: Sequence[Group]
    overall: Group
    pieces: Mapping[int, int]  # number of runs -> jobs
    ended: Mapping[str, int]  # how the last run ended -> jobs
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None] = field(default=(None, None))


class Piece(NamedTuple):
    """One run of a job. Times are epoch seconds, durations seconds."""

    cluster: str
    job_id: str | None
    user: str | None
    queue: str | None
    submit_time: int
    start_time: int | None
    end_time: int | None
    state: str | None
    elapsed: int | None
    time_limit: int | None
    waited: int | None  # since the piece before
    ckpt_at: int | None
    ckpt_heard: int | None
    unheeded: int  # 0, 1
    ckpt_end: str | None  # one of job.CKPT_ENDS
    saving: int | None
    unsaved: int | None


def restarts(db: sqlite3.Connection, chosen: Filter, part: str = "queue") -> Restarts:
    """Measure the jobs that `chosen` takes by what is true of their last run; `part` is one of PARTS."""
    selection = select(chosen, limits=False)
    groups: dict[tuple[str, str | None], Group] = {}
    overall = Group(None, None)
    left: Counter[int] = Counter()
    pieces: Counter[int] = Counter()
    ended: Counter[str] = Counter()
    with snapshot(db):
        statement = _statement(db, selection, part)
        for reason, cluster, value, end, runs, *sums in db.execute(statement, selection.params):
            left[reason] += 1
            if reason:
                continue
            for group in (groups.setdefault((cluster, value), Group(value, cluster)), overall):
                group.add(runs, *sums)
            pieces[runs] += 1
            ended[end or "unknown"] += 1
        names = tuple(chosen.clusters) or tuple(clusters(db))
        ends = span(db)
    excluded = {"window": left[-1]} if selection.within != "TRUE" else {}
    excluded |= {rule: left[nth] for nth, rule in enumerate(selection.rules, start=1)}
    ordered = sorted(groups.values(), key=lambda one: (-one.jobs, one.cluster or "", one.value or ""))
    ends_by_jobs = dict(sorted(ended.items(), key=lambda item: (-item[1], item[0])))
    return Restarts(ordered, overall, dict(sorted(pieces.items())), ends_by_jobs, excluded, names, ends)


def _statement(db: sqlite3.Connection, selection: Selection, part: str) -> str:
    """SQL for the chains. Runs that were warned take a scan to find, so whether there is any is asked before."""
    warned = exists(db, f"FROM run WHERE {_WARNED}", {})
    chains = _CHAINS.format(many=_MANY if warned else _PIECED)
    found = _MEASURE.format(within=selection.within, reason=selection.reason, part=PARTS[part], chains=chains)
    if archive_has(db, _WARNED):
        return found
    # No archived run is in pieces either: SQLite has all that is looked for.
    return found.replace("FROM run", "FROM main.run")


def pieces(db: sqlite3.Connection, job: str, chosen_clusters: Sequence[str] = ()) -> list[Piece]:
    """Every run of a job as Slurm prints its id: 123, 123_4, 123+1; an array's number stands for all its tasks.

    Raises UsageError where the trace has none.
    """
    params: list[str | int] = [job]
    wanted = "job_id = ?"
    if job.isascii() and job.isdigit() and len(job) < 19:
        wanted += " OR job_id_raw = ? OR array_job = ? OR het_job = ?"
        params += [int(job)] * 3
    if chosen_clusters:
        wanted = f"({wanted}) AND cluster IN ({', '.join('?' * len(chosen_clusters))})"
        params += chosen_clusters
    found = [Piece(*row) for row in db.execute(_PIECES.format(wanted=wanted), params)]
    if not found:
        raise UsageError(f"no run of job {job} in the trace", "write 123, 123_4 or 123+1, as sacct prints it")
    return found
