"""The numbers of the findings on jobs, computed once more from their pages; of intervals, that the number is inside."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.feedback.site_findings import QUEUES, USERS
from adminkit.findings.finding import Finding
from adminkit.job import Job, Step
from adminkit.reports.findings import Scope, gather
from adminkit.stats.select import clusters
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.uses import make_used, step_of

NOW = 4_000_000_000
COLUMNS = (
    "cluster, user, queue, job_name, state, reason, submit_time, eligible_time, start_time, end_time, elapsed, "
    "limit_original, time_limit, limit_source, exit_code, restarts, gpus, req_gpus, cpus, req_cpus, nodes, req_nodes, "
    "node_list, array_job, het_offset, container"
)
#: The look-alike's queues: default and maximum limit, seconds (docs/demo.md).
LIMITS = {
    "gq": (HOUR, 72 * HOUR),
    "gq-short": (HOUR, 3 * HOUR),
    "gq-middle": (72 * HOUR, 168 * HOUR),
    "gq-long": (72 * HOUR, 336 * HOUR),
}
VIEWS = """
CREATE VIEW every AS SELECT *, nullif(greatest(coalesce(limit_original, 0), coalesce(time_limit, 0)), 0) AS lim,
    coalesce(gpus, req_gpus) AS g, coalesce(nodes, req_nodes) AS n, coalesce(cpus, req_cpus) AS c,
    CASE WHEN coalesce(gpus, req_gpus) > 0 THEN coalesce(gpus, req_gpus) END AS gunit,
    CASE WHEN coalesce(gpus, req_gpus) > 0 OR coalesce(cpus, req_cpus) = 0 THEN NULL
        ELSE coalesce(cpus, req_cpus) END AS cunit,
    CASE WHEN gunit IS NOT NULL THEN 'gpu' WHEN cunit IS NOT NULL THEN 'cpu' END AS resource,
    coalesce(gunit, cunit, 1) AS unit,
    NOT coalesce(exit_code = 85 OR restarts > 0, false) AS plain
FROM job WHERE end_time IS NOT NULL;
CREATE VIEW counted AS SELECT *, least(elapsed, lim) AS used FROM every
    WHERE state IN ('COMPLETED', 'TIMEOUT') AND elapsed > 60 AND plain AND lim > 0;
"""
USE = 'count(*), count(DISTINCT "user"), sum(lim * unit), sum(used * unit)'


def found(path: Path, kinds: tuple[str, ...]) -> list[Finding]:
    with reader(path) as db:
        scope = Scope(since=0, until=NOW, now=NOW, clusters=clusters(db), everybody=True)
        return gather(db, Config(), scope, kinds)


def loaded(other: Any) -> Any:
    other.execute(VIEWS)
    return other


def resource(one: Finding) -> str | None:
    """Of a finding about the runs on one resource."""
    if one.stake is None:
        return None
    return "gpu" if one.stake.gpu_seconds is not None else "cpu"


def hours(of: str | None, **seconds: float) -> dict[str, float]:
    return {} if of is None else {("cpu_" if of == "cpu" else "") + name: value for name, value in seconds.items()}


def agree(one: Finding, wanted: dict[str, float | None], *stake: float | None) -> None:
    """`stake`: GPU-seconds and CPU-seconds."""
    for name, value in wanted.items():
        told = one.evidence[name]
        assert told == (None if value is None else pytest.approx(value, rel=1e-9)), (one.kind, one.subject, name)
    if stake:
        told = (one.stake.gpu_seconds, one.stake.cpu_seconds) if one.stake else (None, None)
        assert [value or 0 for value in told] == pytest.approx([value or 0 for value in stake], rel=1e-9), one.subject


def of_queue(other: Any, queue: str | None, where: str = "true") -> tuple[float, ...]:
    row = other.execute(f"SELECT {USE} FROM counted WHERE queue IS NOT DISTINCT FROM ? AND {where}", [queue]).fetchone()
    return tuple(value or 0 for value in row)


def on_one(other: Any, one: Finding, where: str = "true") -> tuple[float, ...]:
    of = resource(one)
    return of_queue(other, one.subject.queue, f"resource IS NOT DISTINCT FROM {of!r} AND {where}" if of else where)


def both(of: str | None, seconds: float) -> tuple[float | None, float | None]:
    return (None, seconds) if of == "cpu" else (seconds if of else None, None)


def over_asked(other: Any, one: Finding) -> None:
    jobs, users, reserved, used = on_one(other, one)
    wanted = {"jobs": jobs, "users": users, "used_fraction": used / reserved}
    agree(one, wanted | hours(resource(one), reserved=reserved, used=used), *both(resource(one), reserved - used))


def habit(other: Any, one: Finding) -> None:
    most = LIMITS[one.subject.queue or ""][1]
    jobs, *_ = on_one(other, one)
    many, users, reserved, used = on_one(other, one, f"lim >= {most}")
    wanted = {"jobs": jobs, "at_maximum": many, "share": many / jobs, "users": users, "max_limit": most}
    agree(one, {**wanted, "used_fraction": used / reserved}, *both(resource(one), reserved - used))


def default_limit(other: Any, one: Finding) -> None:
    default = LIMITS[one.subject.queue or ""][0]
    jobs, *_ = on_one(other, one)
    many, users, reserved, used = on_one(other, one, "limit_source = 'default'")
    wanted = {"jobs": jobs, "at_default": many, "share": many / jobs, "users": users, "default_limit": default}
    agree(one, {**wanted, "used_fraction": used / reserved}, *both(resource(one), reserved - used))


def max_limit(other: Any, one: Finding) -> None:
    most, enough = LIMITS[one.subject.queue or ""][1], one.evidence["enough"]
    jobs, *_ = of_queue(other, one.subject.queue)
    longer, *_ = of_queue(other, one.subject.queue, f"(elapsed > {enough} OR state = 'TIMEOUT' AND elapsed >= {most})")
    stake = other.execute(
        "SELECT sum(greatest(lim - $1, 0) * gunit), sum(greatest(lim - $1, 0) * cunit) FROM counted WHERE queue = $2",
        [enough, one.subject.queue],
    ).fetchone()
    agree(one, {"jobs": jobs, "max_limit": most, "longer": longer, "share": longer / jobs}, *stake)
    assert enough <= most / 2
    assert one.evidence["share_low"] <= longer / jobs <= one.evidence["share_high"] <= 0.1


def queue_fit(other: Any, one: Finding) -> None:
    most, shorter = LIMITS[one.subject.queue or ""][1], LIMITS[one.subject.name or ""][1]
    jobs, *_ = of_queue(other, one.subject.queue)
    fits = f"""elapsed <= {shorter} AND unit IS NOT NULL
        AND coalesce(g, 0) <= (SELECT max(coalesce(g, 0)) FROM counted WHERE queue = ?)
        AND coalesce(n, 1) <= (SELECT max(coalesce(n, 1)) FROM counted WHERE queue = ?)"""
    fit, *ran = other.execute(
        f"SELECT count(*), sum(elapsed * gunit), sum(elapsed * cunit) FROM counted WHERE queue = ? AND {fits}",
        [one.subject.queue, one.subject.name, one.subject.name],
    ).fetchone()
    agree(one, {"jobs": jobs, "fit": fit, "share": fit / jobs, "max_limit": most, "other_limit": shorter}, *ran)


def waits(other: Any, one: Finding) -> None:
    """Buckets of limits end at 15 min, 1, 4, 12, 24, 72 and 168 h; of sizes at powers of two, up to 1024."""
    bucket = "CASE " + " ".join(
        f"WHEN {{0}} <= {hours * 3600} THEN {nth}" for nth, hours in enumerate((0.25, 1, 4, 12, 24, 72, 168))
    ) + " ELSE 7 END"  # fmt: skip
    size = "CASE WHEN g > 0 THEN least(ceil(log2(g)), 11) ELSE 100 + least(ceil(log2(coalesce(c, n))), 11) END"
    row = other.execute(
        f"""WITH run AS (SELECT greatest(start_time - eligible_time, 0) AS wait, eligible_time // 86400 AS day,
                {size} AS size, {bucket.format("lim")} AS asked, {bucket.format("elapsed")} AS needed
            FROM every WHERE queue IS NOT DISTINCT FROM ? AND state = 'COMPLETED' AND plain AND lim > 0
                AND (reason IS NULL OR reason IN ('None', 'Priority', 'Resources'))
                AND NOT (end_time <= start_time AND elapsed <= 0 AND node_list IS NULL)),
        compared AS (SELECT size, asked AS bucket, avg(wait) AS mean FROM run GROUP BY 1, 2
            HAVING count(*) >= 30 AND count(DISTINCT day) >= 10)
        SELECT count(*), sum(wait), sum(wait - mean) FROM run JOIN compared
            ON run.size = compared.size AND needed = bucket WHERE asked > needed""",
        [one.subject.queue],
    ).fetchone()
    jobs, wait, avoided = row
    agree(one, {"jobs": jobs, "wait": wait, "share": avoided / wait})
    assert one.evidence["avoided"] == pytest.approx(avoided, rel=1e-6)
    assert one.evidence["avoided_low"] <= avoided <= one.evidence["avoided_high"]


def failing(other: Any, one: Finding) -> None:
    bad = "state IN ('FAILED', 'OUT_OF_MEMORY')"
    runs, failed, memory, gpu, cpu, last = other.execute(
        f"""SELECT count(*), count(*) FILTER ({bad}), count(*) FILTER (state = 'OUT_OF_MEMORY'),
            sum(elapsed * gunit) FILTER ({bad}), sum(elapsed * cunit) FILTER ({bad}),
            max(end_time) FILTER (state = 'COMPLETED')
        FROM every WHERE "user" = ? AND job_name = ?""",
        [one.subject.user, one.subject.name],
    ).fetchone()
    wanted = {"runs": runs, "failed": failed, "share": failed / runs, "out_of_memory": memory}
    used = hours("gpu" if gpu else None, used=gpu) | hours("cpu" if cpu else None, used=cpu)
    agree(one, {**wanted, **used, "completed_last": last}, gpu, cpu)
    assert one.verdict == ("memory" if memory > failed / 2 else "failing")


def flood(other: Any, one: Finding) -> None:
    hours, most, jobs, elapsed = other.execute(
        """SELECT count(*), max(jobs), sum(jobs), sum(elapsed) / sum(jobs) FROM (
            SELECT count(*) AS jobs, sum(elapsed) AS elapsed FROM every
            WHERE "user" = ? AND array_job IS NULL AND coalesce(het_offset, 0) = 0
            GROUP BY submit_time // 3600 HAVING count(*) >= 500)""",
        [one.subject.user],
    ).fetchone()
    agree(one, {"hours": hours, "most": most, "jobs": jobs, "elapsed": elapsed})


def images(other: Any, one: Finding) -> None:
    runs, starts, users, short, elapsed = other.execute(
        """SELECT count(*), sum(n), count(DISTINCT "user"), count(*) FILTER (elapsed <= 600), avg(elapsed)
        FROM every WHERE container = ? AND n > 0 AND elapsed IS NOT NULL""",
        [one.subject.name],
    ).fetchone()
    wanted = {"runs": runs, "starts": starts, "users": users, "short": short, "share": short / runs}
    agree(one, {**wanted, "elapsed": elapsed})
    assert starts >= 1000 and short >= runs / 2


CHECKS: dict[str, Callable[[Any, Finding], None]] = {
    "over_asked": over_asked, "habit": habit, "default_limit": default_limit, "max_limit": max_limit,
    "queue_fit": queue_fit, "waits": waits, "failing": failing, "flood": flood,
    "images": images,
}  # fmt: skip
SAID = {"over_asked", "habit", "default_limit", "max_limit", "queue_fit", "waits"}


def assert_agree(path: Path, other: Any, kinds: tuple[str, ...] = tuple(CHECKS)) -> set[str]:
    """The kinds of which there was a finding."""
    made = found(path, kinds)
    for one in made:
        CHECKS[one.kind](other, one)
    return {one.kind for one in made}


@pytest.mark.parametrize("name", ["lookalike", "pozidriv", "kth", pytest.param("ricc", marks=pytest.mark.soak)])
def test_the_pages_alone_give_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str
) -> None:
    path = traces(name)
    other = loaded(jobs_in(path, COLUMNS))
    told = assert_agree(path, other)
    if name == "lookalike":
        assert told == SAID
    large = other.execute("SELECT queue FROM counted GROUP BY queue, resource HAVING count(*) >= 100").fetchall()
    assert sorted(one.subject.queue or "" for one in found(path, ("over_asked",))) == sorted(q or "" for (q,) in large)


def test_so_they_do_of_failures_floods_and_images(tmp_path: Path, jobs_in: Callable[[Path, str], Any]) -> None:
    rng = random.Random(18)

    def any_job(number: int) -> Job:
        user, gpus = rng.choice(("ada", "bob")), rng.choice((None, 0, 1, 8))
        return job(
            number, user=user, job_name=rng.choice(("a", "b", "c")), gpus=gpus, req_gpus=None, nodes=rng.choice((1, 2)),
            cpus=rng.choice((None, 1, 16)), req_cpus=None,
            state=rng.choice(("COMPLETED", "FAILED", "FAILED", "FAILED", "OUT_OF_MEMORY") if user == "ada" else
                             ("COMPLETED", "OUT_OF_MEMORY", "OUT_OF_MEMORY", "CANCELLED")),
            elapsed=rng.choice((0, 30, 5000)), submit_time=MONDAY + rng.choice((0, 1, 5)) * HOUR + rng.randrange(HOUR),
            array_job=rng.choice((None, None, None, 7)), het_offset=rng.choice((None, 0, 1)),
        )  # fmt: skip

    containers = (None, "a.sif", "docker://b", "c.sif")
    made = [replace(any_job(n), container=rng.choice(containers[: 2 + n % 3])) for n in range(1, 6001)]
    path = make_trace(tmp_path / "t.db", made)
    other = loaded(jobs_in(path, COLUMNS))
    assert assert_agree(path, other, ("failing", "flood", "images")) == {"failing", "flood", "images"}


def is_bundle(steps: list[Step]) -> bool:
    """As the page of `report parallelism` says it."""
    at_work = [
        (one, float(one.end_time - one.start_time))
        for one in steps
        if one.step not in ("batch", "extern", "interactive") and one.start_time is not None
        and one.end_time is not None and one.end_time > one.start_time
        and (one.cpu_time is None or one.cpu_time >= 0.02 * (one.end_time - one.start_time))
    ]  # fmt: skip
    alone = [(one, time) for one, time in at_work if one.nodes == 1 and one.gpus is not None and one.gpus <= 1]
    whole = sum(time * max(one.gpus or 1, 1) for one, time in at_work)
    spans = sorted((one.start_time or 0, one.end_time or 0) for one, _ in alone)
    together = any(b[0] < max(a[1] for a in spans[:nth]) for nth, b in enumerate(spans) if nth)
    return sum(time for _, time in alone) >= 0.9 * whole and together


def test_so_they_do_of_bundles(tmp_path: Path) -> None:
    rng = random.Random(18)
    jobs, steps = [], []
    for number in range(1, 1501):
        one = job(number, user=rng.choice(("ada", "bob")), gpus=rng.choice((1, 4, 8)), nodes=rng.choice((1, 1, 2)))
        jobs.append(one)
        for nth in range(rng.randint(0, 4)):
            start = MONDAY + rng.randrange(HOUR)
            end = rng.choice((None, start, *[start + rng.randint(1, HOUR)] * 6))
            steps.append(step_of(
                one, rng.choice(("batch", str(nth), str(nth))) if nth == 0 else str(nth), start_time=start,
                end_time=end, cpu_time=rng.choice((None, 0.0, 500.0)), gpus=rng.choice((1, 1, 1, 1, 1, 0, 4, None)),
                nodes=rng.choice((1, 1, 1, 1, 1, 2)),
            ))  # fmt: skip
    path = make_used(tmp_path / "t.db", jobs, steps)
    told = {one.subject.user: one.evidence for one in found(path, ("bundle",))}
    for user in ("ada", "bob"):
        several = [one for one in jobs if one.user == user and ((one.gpus or 0) > 1 or (one.nodes or 0) > 1)]
        bundles = [one for one in several if is_bundle([s for s in steps if s.job_id_raw == one.job_id_raw])]
        held = sum((one.elapsed or 0) * (one.gpus or 0) for one in bundles)
        assert told[user] == {"runs": len(several), "bundles": len(bundles), "gpu_seconds": held}


def test_every_kind_has_its_own_check_here_or_where_its_report_is_checked() -> None:
    """Bundles are checked above, bad nodes in test_bad_nodes.py, who runs over in tests/stats/test_extensions.py, who
    waits for files in tests/stats/test_file_waits.py; the others print what `report efficiency` and `report users` do.
    """
    elsewhere = {"bad_node", "bundle", "idle_gpus", "io_bound", "memory", "month", "run_over"}
    assert {*QUEUES, *USERS} - set(CHECKS) == elsewhere
