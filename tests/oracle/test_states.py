"""`report states`, computed once more from its page."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.job import Job
from adminkit.reports import states
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import MONDAY, job, make_trace

COLUMNS = (
    "queue, state, reason, exit_code, exit_signal, uid, cancelled_by, start_time, end_time, elapsed, gpus, req_gpus, "
    "cpus, req_cpus, node_list"
)
#: A filter of DuckDB for each column of the report that counts, as the page has them.
NEVER = (
    "(coalesce(ran, 0) = 0 AND (start_time IS NULL OR coalesce(end_time <= start_time, false) AND node_list IS NULL))"
)
SYSTEM = """(coalesce(state IN ('NODE_FAIL', 'BOOT_FAIL', 'LAUNCH_FAILED', 'RECONFIG_FAIL'), false)
    OR coalesce(state = 'FAILED' AND exit_signal = 54, false)
    OR coalesce(state = 'FAILED' AND reason IN ('JobLaunchFailure', 'NodeDown', 'SystemFailure', 'Prolog'), false))"""
PARAMETERS = f"""(NOT {SYSTEM} AND (
    coalesce(state = 'FAILED' AND ran <= 60 AND exit_code IN (2, 126, 127), false)
    OR coalesce(state = 'FAILED' AND ran <= 60 AND exit_signal IN (52, 53), false)
    OR coalesce({NEVER} AND state IN ('FAILED', 'CANCELLED', 'DEADLINE') AND regexp_matches(reason,
        '^(BadConstraints|PartitionNodeLimit|PartitionTimeLimit|InvalidAccount|InvalidQOS|AccountNotAllowed'
        || '|QOSNotAllowed|ReservationInvalid|MaxMemPerLimit)$|Max.*PerJob'), false)))"""
STUDY = "coalesce(state IN ('COMPLETED', 'TIMEOUT') AND ran IS NOT NULL, false)"
COUNTED = {
    "jobs": "true",
    "success": "state = 'COMPLETED'",
    "cancelled_by_user": "state = 'CANCELLED' AND uid = cancelled_by",
    "cancelled_by_others": "state = 'CANCELLED' AND uid <> cancelled_by",
    "cancelled": "state = 'CANCELLED' AND (uid IS NULL OR cancelled_by IS NULL)",
    "timeout": "state = 'TIMEOUT'",
    "failed": "state = 'FAILED'",
    "node_failure": "state IN ('NODE_FAIL', 'BOOT_FAIL')",
    "out_of_memory": "state = 'OUT_OF_MEMORY'",
    "preempted": "state = 'PREEMPTED'",
    "requeued": "state = 'REQUEUED'",
    "deadline": "state = 'DEADLINE'",
    "never_started": NEVER,
    "normal": f"{STUDY} AND ran > 60 AND state = 'COMPLETED'",
    "out_of_time": f"{STUDY} AND ran > 60 AND state = 'TIMEOUT'",
    "short": f"{STUDY} AND ran <= 60",
    "wrong_parameters": PARAMETERS,
    "system_failure": SYSTEM,
    "other_ends": f"NOT {STUDY} AND NOT {SYSTEM} AND NOT {PARAMETERS}",
}
HOURS = {"gpu_hours": "coalesce(gpus, req_gpus)", "cpu_hours": "coalesce(cpus, req_cpus)"}
PARTS = {"queue": "queue", "month": "strftime(make_timestamp(end_time * 1000000), '%Y-%m')"}


def recomputed(other: Any, part: str) -> dict[Any, dict[str, Any]]:
    """Value of the part -> column -> value."""
    sums = [f"count(*) FILTER ({where}) AS {name}" for name, where in COUNTED.items()]
    for name, size in HOURS.items():
        for column, also in ((name, "true"), (f"{name}_unsuccessful", "state IS DISTINCT FROM 'COMPLETED'")):
            known = f"count(*) FILTER (ran > 0) = 0 OR count(*) FILTER (ran > 0 AND {size} IS NOT NULL) > 0"
            total = f"coalesce(sum(ran * {size}) FILTER ({also}), 0) / 3600.0"
            sums.append(f"CASE WHEN {known} THEN {total} END AS {column}")
    rows = other.execute(f"""SELECT {PARTS[part]} AS value, {", ".join(sums)} FROM (
        SELECT *, CASE WHEN elapsed BETWEEN 0 AND 2147483646 THEN elapsed END AS ran FROM job
        WHERE end_time IS NOT NULL OR state NOT IN ('PENDING', 'RUNNING', 'SUSPENDED', 'RESIZING')
            OR state IS NULL AND start_time IS NULL AND elapsed >= 0) GROUP BY 1""")
    names = [one[0] for one in rows.description][1:]
    return {value: dict(zip(names, found, strict=True)) for value, *found in rows.fetchall()}


def assert_agree(path: Path, other: Any, part: str) -> None:
    query = Query(Filter(states=(), min_elapsed=-1, checkpoint_code=85), 0, str(path), Config(), part)
    with reader(path) as db:
        report = states.SPEC.view(states.SPEC.measure(db, query), query)
    wanted = recomputed(other, part)
    rows = {row[part]: row for row in report.records()[:-1]}
    assert {None if value is None else str(value) for value in wanted} == set(rows)
    for value, columns in wanted.items():
        for name, one in columns.items():
            assert rows[value][name] == (None if one is None else pytest.approx(one, rel=1e-9)), (value, name)
    total = report.records()[-1]
    for name in COUNTED:
        assert total[name] == sum(columns[name] for columns in wanted.values())


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["lookalike", "pozidriv", "kth", pytest.param("ricc", marks=pytest.mark.soak)])
def test_the_page_alone_gives_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str, part: str
) -> None:
    path = traces(name)
    assert_agree(path, jobs_in(path, COLUMNS), part)


def any_job(number: int, rng: random.Random) -> Job:
    """A run of any state, of which anything may be unknown."""
    states = (
        "COMPLETED", "TIMEOUT", "FAILED", "FAILED", "CANCELLED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
        "REQUEUED", "DEADLINE", "PENDING", "RUNNING", "LAUNCH_FAILED", "REVOKED", None,
    )  # fmt: skip
    reasons = (
        None, "None", "BadConstraints", "NodeDown", "Prolog", "QOSMaxNodePerJobLimit", "Resources", "MaxMemPerLimit",
    )  # fmt: skip
    state = rng.choice(states)
    started = rng.random() < 0.7
    return job(
        number, state=state, reason=rng.choice(reasons), queue=rng.choice(("gq", "debug", None)),
        start_time=MONDAY if started else None,
        elapsed=rng.choice((None, -1, 0, 59, 60, 61, 5000, 2**31 - 1, 2**31)) if started else rng.choice((None, 0)),
        end_time=None if rng.random() < 0.1 else MONDAY + rng.randint(0, 90 * 86_400),
        exit_code=rng.choice((None, 0, 1, 2, 126, 127)), exit_signal=rng.choice((None, 0, 9, 52, 53, 54)),
        uid=rng.choice((None, 5, 6)), cancelled_by=rng.choice((None, 0, 5, 6)),
        gpus=rng.choice((None, 0, 1, 8)), req_gpus=rng.choice((None, 2)), cpus=rng.choice((None, 4)),
    )  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_so_it_does_where_anything_is_unknown(tmp_path: Path, jobs_in: Callable[[Path, str], Any], part: str) -> None:
    rng = random.Random(18)
    path = make_trace(tmp_path / "t.db", [any_job(number, rng) for number in range(1, 2001)])
    assert_agree(path, jobs_in(path, COLUMNS), part)
