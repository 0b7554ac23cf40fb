"""Needed and held GPU-time per user, job name and day, and the reason of every run that does not count: what points
are computed from.

Sizes are thousandths of a GPU, so that every sum is a whole number and the order of rows changes nothing; a run without
GPUs has its CPUs over `cpus_per_gpu`. Milli-GPU-seconds are called *work*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.bundles import BUNDLE, MIN_CPU_USE
from adminkit.stats.efficiency import CPU_SHARE
from adminkit.stats.select import CARRIED_ON
from adminkit.trace.decision_sql import RECORD_GLOB, paid_class
from adminkit.trace.run_view import TOO_LONG, class_sql
from adminkit.trace.sight import everybodys

DAY: Final = 86_400
#: Work in an hour of one GPU.
GPU_HOUR: Final = 3_600_000

COUNTED: Final = "counted"  # its limit is scored
MISSED: Final = "missed"  # it ran into its limit, or past it because it was given more time
#: Why a run is left out, in the order applied: a run has the first reason that fits.
LEFT_OUT: Final = (
    "short", "checkpoint", "state", "limit", "unrecorded", "size", "class", "bundle", "use_unknown", "idle",
)  # fmt: skip

#: Larger sizes are errors of the source.
_MOST_GPUS: Final = 100_000
_MOST_CPUS: Final = 10_000_000

#: The class of the allocation: of its GPU equivalents where it has GPUs.
_ALLOCATED: Final = f"CASE WHEN gpus IS NULL THEN {class_sql('nodes', 'gpus')} ELSE class END"
#: Points were given for another class than the allocation has.
_MISPAID: Final = f"""(CASE WHEN admin_comment GLOB '{RECORD_GLOB},cls=*'
    THEN coalesce({paid_class("admin_comment")} <> {_ALLOCATED}, 0) ELSE 0 END)"""

#: Every run of the window with what it asked for and needed, whether it is a bundle, and its reason. Traps: LIMIT -1
#: keeps SQLite from writing each CASE once per use; a limit that was raised after the decision counts as raised.
_RUNS: Final = f"""
SELECT *, CASE
    WHEN elapsed IS NULL OR elapsed <= :min_elapsed OR elapsed >= {TOO_LONG} THEN 'short'
    WHEN carried_on THEN 'checkpoint'
    WHEN coalesce(state NOT IN ('COMPLETED', 'TIMEOUT'), 1) THEN 'state'
    WHEN limit_source <> 'explicit' OR limit_kind <> 'finite' OR req_limit IS NULL
        THEN 'limit'
    WHEN :recorded_only AND NOT recorded THEN 'unrecorded'
    WHEN size IS NULL THEN 'size'
    WHEN mispaid THEN 'class'
    WHEN state = 'TIMEOUT' OR more_used > 0 THEN '{MISSED}'
    WHEN bundle THEN 'bundle'
    WHEN used_share IS NULL AND NOT :unknown_counts THEN 'use_unknown'
    WHEN used_share < :min_cpu_use THEN 'idle'
    ELSE '{COUNTED}' END AS reason
FROM (
    SELECT uid, user, job_id, job_name, end_time / {DAY} AS day, state, limit_source, limit_kind, end_time, more_used,
        CASE WHEN elapsed BETWEEN 0 AND {TOO_LONG} THEN elapsed END AS elapsed,
        limit_original IS NOT NULL AS recorded,
        req_limit,
        {{need}} AS need,
        CASE WHEN size_gpus > 0 AND size_gpus <= {_MOST_GPUS} THEN max(CAST(size_gpus * 1000 AS INTEGER), 1)
            WHEN size_gpus IS NULL AND coalesce(gpus, req_gpus, gpu_parts) IS NOT NULL THEN NULL
            WHEN size_gpus > {_MOST_GPUS} THEN NULL
            WHEN size_cpus BETWEEN 1 AND {_MOST_CPUS} THEN max(CAST(size_cpus * 1000 / :cpus_per_gpu AS INTEGER), 1)
            END AS size,
        {CPU_SHARE} AS used_share,
        size_nodes > 1 OR size_gpus > 1 OR {_MISPAID} AS parallel, {_MISPAID} AS mispaid,
        CASE WHEN {_MISPAID} THEN 1 WHEN size_nodes > 1 OR size_gpus > 1 THEN {BUNDLE} ELSE 0 END AS bundle,
        {CARRIED_ON} AS carried_on
    FROM run
    WHERE cluster = :cluster AND end_time >= :since AND end_time < :until AND (:uid IS NULL OR uid = :uid) AND acting
    LIMIT -1
) LIMIT -1
"""

#: One row per user, day, job name and reason, users together. held: what was reserved, at least what was needed.
_SUMS: Final = f"""
SELECT uid, day, job_name, reason, max(user), count(*), coalesce(sum(elapsed * size), 0),
    coalesce(sum(CASE reason WHEN '{COUNTED}' THEN need * size END), 0),
    coalesce(sum(CASE reason WHEN '{COUNTED}' THEN max(req_limit, need) * size
        WHEN '{MISSED}' THEN max(req_limit, elapsed) * size END), 0),
    coalesce(sum(parallel * elapsed * size), 0), coalesce(sum(parallel * bundle * elapsed * size), 0),
    coalesce(sum(parallel * bundle), 0)
FROM ({{runs}}) WHERE uid IS NOT NULL GROUP BY uid, day, job_name, reason ORDER BY uid, day, job_name, reason
"""

#: The runs of one user that are scored, or ran into their limit.
_SCORED: Final = f"""
SELECT job_id, job_name, day, end_time, state, elapsed, req_limit, need, size, reason FROM ({{runs}})
WHERE reason IN ('{COUNTED}', '{MISSED}')
"""

#: Runs of the window that are passed over: of a source that has no consequences, and without a uid.
_PASSED_OVER: Final = """
SELECT count(*) FILTER (WHERE NOT acting), count(*) FILTER (WHERE acting AND uid IS NULL) FROM run
WHERE cluster = :cluster AND end_time >= :since AND end_time < :until
"""


@dataclass(frozen=True, slots=True)
class Criteria:
    """Which runs are scored, and the bounds of the reasons. Times are epoch seconds, [since, until)."""

    cluster: str
    since: int
    until: int
    menu: Sequence[int] = ()  # limits that people are advised to type, seconds, ascending
    menu_steps: int = 1
    min_elapsed: int = 60
    min_cpu_use: float = MIN_CPU_USE
    unknown_counts: bool = False
    recorded_only: bool = False
    cpus_per_gpu: float = 8.0
    checkpoint_code: int = field(kw_only=True)  # a run that exits with it has more to do


class Sums(NamedTuple):
    """The runs of one user, day, job name and reason. `needed` is 0 unless the reason is COUNTED."""

    uid: int
    day: int  # of the end, days since 1970 in UTC
    job_name: str | None
    reason: str
    user: str | None
    runs: int
    used: int  # work: size × elapsed
    needed: int  # work: size × the limit that would have scored full
    held: int  # work: size × max(req_limit, need), of a miss size × max(req_limit, elapsed)
    parallel: int  # work of multi-GPU and multi-node runs, and of runs that got points as such
    bundled: int  # of this, work of bundles and of runs of another class than they got points for
    bundles: int  # the number of these runs


class Scored(NamedTuple):
    """One run that is scored; `need` is the limit that would have scored full."""

    job_id: str | None
    job_name: str | None
    day: int
    end_time: int
    state: str
    elapsed: int
    req_limit: int
    need: int
    size: int
    reason: str

    @property
    def held(self) -> int:
        """What a user held, as in Sums."""
        return max(self.req_limit, self.need if self.reason == COUNTED else self.elapsed) * self.size


def sums(db: sqlite3.Connection, criteria: Criteria, uid: int | None = None, *, of_all: bool = False) -> Iterator[Sums]:
    """Every group of runs, those of one user together, users by uid; or the groups of one user.

    `of_all`: of everybody, whomever this process may be shown; what comes of it names nobody.
    """
    statement, params = _statement(_SUMS, criteria, uid)
    if of_all:
        for table in ("run", "step"):
            statement = re.sub(rf"\bFROM {table}\b(?! AS)", f"FROM {table} AS {table}", statement)
            statement = re.sub(rf"\bFROM {table}\b", f"FROM {everybodys(db, table)}", statement)
    yield from map(Sums._make, db.execute(statement, params))


def scored(db: sqlite3.Connection, criteria: Criteria, uid: int) -> Iterator[Scored]:
    """The runs of one user that are scored or missed, in no order."""
    statement, params = _statement(_SCORED, criteria, uid)
    yield from map(Scored._make, db.execute(statement, params))


def passed_over(db: sqlite3.Connection, criteria: Criteria) -> dict[str, int]:
    """How many runs of the window are of a source that earns nothing, and how many have no uid."""
    params = {"cluster": criteria.cluster, "since": criteria.since, "until": criteria.until}
    told, nameless = db.execute(_PASSED_OVER, params).fetchone()
    return {"source": int(told), "uid_unknown": int(nameless)}


def uid_of(db: sqlite3.Connection, user: str, cluster: str) -> int | None:
    """The uid of the user's latest run there; None where the trace has none."""
    found = db.execute(
        "SELECT uid FROM run WHERE user = ? AND cluster = ? AND uid IS NOT NULL AND acting"
        " ORDER BY end_time DESC LIMIT 1",
        (user, cluster),
    ).fetchone()
    return None if found is None else int(found[0])


def _statement(template: str, criteria: Criteria, uid: int | None) -> tuple[str, dict[str, str | int | float | None]]:
    need, params = _need(criteria)
    params |= {
        "cluster": criteria.cluster,
        "since": criteria.since,
        "until": criteria.until,
        "uid": uid,
        "min_elapsed": criteria.min_elapsed,
        "min_cpu_use": criteria.min_cpu_use,
        "unknown_counts": criteria.unknown_counts,
        "recorded_only": criteria.recorded_only,
        "cpus_per_gpu": criteria.cpus_per_gpu,
        "checkpoint_code": criteria.checkpoint_code,
    }
    return template.format(runs=_RUNS.format(need=need)), params


def _need(criteria: Criteria) -> tuple[str, dict[str, str | int | float | None]]:
    """SQL: the limit `menu_steps` over elapsed, the menu's last at most; elapsed itself beyond the menu."""
    menu = sorted(set(criteria.menu))
    params: dict[str, str | int | float | None] = {}
    cases = []
    for step, limit in enumerate(menu):
        params[f"upto{step}"] = limit
        params[f"need{step}"] = menu[min(step + criteria.menu_steps - 1, len(menu) - 1)]
        cases.append(f"WHEN elapsed <= :upto{step} THEN :need{step}")
    return (f"CASE {' '.join(cases)} ELSE elapsed END" if cases else "elapsed"), params
