"""Job names that fail again and again, and users who submit very many jobs within an hour."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from adminkit.stats.select import Filter, select

HOUR: Final = 3600
#: States in which a program of the user's ended by itself, and badly.
FAILED: Final = ("FAILED", "OUT_OF_MEMORY")
_USED: Final = "coalesce(elapsed, 0) * size_units"
_FAILING: Final = """
SELECT cluster, user, job_name, count(*), count(*) FILTER (WHERE {failed}),
    count(*) FILTER (WHERE state = 'OUT_OF_MEMORY'), total({used}) FILTER (WHERE {failed}),
    coalesce(max(end_time) FILTER (WHERE state = 'COMPLETED'), 0)
FROM run WHERE {where} AND user IS NOT NULL AND job_name IS NOT NULL
GROUP BY cluster, user, job_name
HAVING count(*) FILTER (WHERE {failed}) >= :least AND count(*) FILTER (WHERE {failed}) >= :share * count(*)
ORDER BY 7 DESC, cluster, user, job_name
"""
#: An array is one submission.
_FLOODS: Final = """
SELECT cluster, user, count(*), max(jobs), sum(jobs), sum(elapsed) FROM (
    SELECT cluster, user, count(*) AS jobs, total(elapsed) AS elapsed
    FROM run WHERE {where} AND user IS NOT NULL AND array_job IS NULL AND coalesce(het_offset, 0) = 0
    GROUP BY cluster, user, submit_time / :hour HAVING count(*) >= :least
) GROUP BY cluster, user ORDER BY 4 DESC, cluster, user
"""


@dataclass(frozen=True, slots=True)
class Failing:
    """A user's runs of one name. `used` is unit-seconds of those that failed."""

    cluster: str
    user: str
    job_name: str
    runs: int
    failed: int
    out_of_memory: int
    used: float
    completed_last: int  # epoch seconds, the last success's end; 0: none


@dataclass(frozen=True, slots=True)
class Flood:
    """Hours in which a user submitted very many jobs one by one."""

    cluster: str
    user: str
    hours: int
    most: int  # jobs in one hour
    jobs: int  # in all those hours
    elapsed: float  # seconds, their sum


def failing(db: sqlite3.Connection, chosen: Filter, least: int, share: float) -> list[Failing]:
    """Job names of which `least` runs and that share of all failed; what used most first. Every state is looked at."""
    selection = select(chosen, limits=False)
    failed = f"state IN ({', '.join(map(repr, FAILED))})"
    sql = _FAILING.format(failed=failed, used=_USED, where=selection.where)
    return [Failing(*row) for row in db.execute(sql, {**selection.params, "least": least, "share": share})]


def floods(db: sqlite3.Connection, chosen: Filter, least: int) -> list[Flood]:
    """Users with hours of `least` submissions or more; the fullest hour first."""
    selection = select(chosen, limits=False)
    sql = _FLOODS.format(where=selection.where)
    return [Flood(*row) for row in db.execute(sql, {**selection.params, "least": least, "hour": HOUR})]
