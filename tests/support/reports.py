"""Small reports, for tests of how they are shown and of what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any, Final

from adminkit.config import Config
from adminkit.config import Energy as Metering
from adminkit.job import Job
from adminkit.render.report import Report
from adminkit.reports import (
    accuracy,
    arrivals,
    efficiency,
    energy,
    extensions,
    feedback,
    frameworks,
    io,
    names,
    parallelism,
    planned,
    restarts,
    states,
    users,
    utilization,
    wait,
    waste,
)
from adminkit.reports.spec import Query, ReportSpec
from adminkit.stats.arrivals import arrivals as measure_arrivals
from adminkit.stats.select import Filter
from adminkit.stats.utilization import utilization as measure_utilization
from adminkit.trace.connect import reader
from tests.support import effects
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.ends import some_bad_nodes, some_ends
from tests.support.energies import make_metered
from tests.support.extended import make_extended
from tests.support.file_waits import some_file_waits
from tests.support.gaps import some_waste
from tests.support.hours import some_arrivals, some_use
from tests.support.uses import make_used, some_programs, some_used

#: A name that harms what does not watch out: markup of every kind, a terminal's escape, a mirror for text.
HOSTILE = "$x$<script>|\x1b[31m`x`\n*red*\u202e [bold]</script>"

QUEUES = [("aaic", "gq", 0, HOUR, 72 * HOUR), ("aaic", "gq-short", 0, HOUR, 3 * HOUR)]


def some_jobs() -> list[Job]:
    """Forty jobs of two queues, one of a third without known limits, and some that do not count."""
    gq = [
        job(n, elapsed=HOUR // 6 * n, time_limit=72 * HOUR if n % 3 else 24 * HOUR, limit_source="unknown", gpus=n % 5)
        for n in range(1, 31)
    ]
    short = [job(n, queue="gq-short", elapsed=300 * (n - 30), time_limit=3 * HOUR) for n in range(31, 40)]
    return [
        *gq,
        *short,
        job(40, queue="gq-short", state="TIMEOUT", elapsed=3 * HOUR + 30, time_limit=3 * HOUR),
        job(41, queue="debug", elapsed=90, time_limit=600, gpus=None, nodes=2),
        job(42, state="FAILED"),
        job(43, elapsed=10),
        job(44, time_limit=None, limit_kind="unlimited"),
        job(45, het_job=45, het_offset=0, nodes=2, gpus=16),
        job(46, het_job=45, het_offset=1, nodes=1, gpus=8),
        job(47, ckpt_at=MONDAY + HOUR, ckpt_heard=1, ckpt_requeues=0, ckpt_end="done"),
    ]


def some_chains() -> list[Job]:
    """A training in three pieces, one that is deaf, one preempted, an array whose task goes on, and a plain job."""
    limit, lead = 4 * HOUR, 300
    end = {"ckpt_heard": 1, "elapsed": limit - lead + 40}
    return [
        *chain(1, [
            {"state": "REQUEUED", "ckpt_at": limit - lead, "ckpt_requeues": 1, "ckpt_end": "more", **end},
            {"state": "REQUEUED", "ckpt_at": limit - lead, "ckpt_requeues": 1, **end, "elapsed": limit + 12},
            {"state": "COMPLETED", "elapsed": HOUR, "ckpt_requeues": 2},
        ]),
        *chain(2, [
            {"state": "TIMEOUT", "elapsed": limit + 9, "ckpt_at": limit - lead, "ckpt_heard": 0, "ckpt_requeues": 0},
        ], user="bob", queue="gq-short"),
        *chain(3, [
            {"state": "REQUEUED", "elapsed": 2 * HOUR},
            {"state": "FAILED", "ckpt_at": limit - lead, "ckpt_requeues": 0, "ckpt_end": "refused", **end},
        ], user="bob"),
        *chain(4, [
            {"state": "REQUEUED", "ckpt_at": limit - lead, "ckpt_requeues": 1, "ckpt_end": "more", **end},
            {"state": "PENDING", "elapsed": 0},
        ], job_id="9_4", array_job=9, array_task=4),
        job(5),
    ]  # fmt: skip


def chain(number: int, runs: list[dict[str, Any]], **common: Any) -> list[Job]:
    """The runs of one job, ten minutes between them. `ckpt_at` counts from the run's start."""
    found, submit = [], MONDAY + number * 60
    for run in runs:
        start = submit + 600
        given = {**common, **run, "submit_time": submit, "start_time": start, "end_time": start + run["elapsed"]}
        if "ckpt_at" in run:
            given["ckpt_at"] += start
        if run["state"] == "PENDING":
            given |= {"start_time": None, "end_time": None, "elapsed": None}
        found.append(job(number, **given))
        submit = start + run["elapsed"]
    return found


def some_planned() -> list[Job]:
    """Two queues with soft limits: needs on both sides of them, a start ahead of a wide job, and two jobs delayed."""
    node = iter(range(100))

    def one(number: int, need: int, soft: int | None, **changes: Any) -> Job:
        start = changes.pop("start_time", MONDAY + number * 600)
        word = "" if soft is None else f",soft={soft}"
        given = {
            "start_time": start, "eligible_time": start - 120, "end_time": start + need, "elapsed": need,
            "flags": "SchedMain", "admin_comment": f"ak1:lim={4 * HOUR},src=e{word}", "limit_original": 4 * HOUR,
            "node_list": f"gn{next(node):02}",
        }  # fmt: skip
        return job(number, **{**given, **changes})

    begin = MONDAY + 20 * HOUR
    waits = {"eligible_time": begin - HOUR, "flags": "SchedMain"}
    return [
        *(one(number, number * 150, 1800, user="ada" if number % 3 else "bob") for number in range(1, 21)),
        one(30, 900, 1800, start_time=begin, node_list="gw1", flags="SchedBackfill"),
        one(31, HOUR, None, start_time=begin + 2 * HOUR, node_list="gw[1-4]", nodes=4, **waits),
        one(32, 2 * HOUR, 1800, start_time=begin, node_list="gs1", queue="gq-short", flags="SchedBackfill"),
        one(33, HOUR, None, start_time=begin + 2 * HOUR + 20, node_list="gs1", queue="gq-short", user="eve",
            eligible_time=begin + HOUR),
        one(34, 600, 1200, queue="gq-short", state="FAILED", node_list=None, flags=None),
        job(35, state="CANCELLED", start_time=None, elapsed=0, admin_comment="ak1:lim=14400,src=e,soft=1200"),
        job(36),
    ]  # fmt: skip


def some_months() -> list[Job]:
    """Five months: a user who becomes more accurate, one who does not, and three of whom little can be said."""
    month = 30 * 24 * HOUR

    def one(number: int, nth: int, user: str | None, elapsed: int, **changes: Any) -> Job:
        return job(number, user=user, elapsed=elapsed, end_time=MONDAY + nth * month + number * 60, **changes)

    number = iter(range(1, 1000))
    return [
        *(
            one(next(number), m, "ada", 900 + n * 60 + m * 60 + (m == 4) * 2 * HOUR)
            for m in range(5)
            for n in range(12)
        ),
        *(one(next(number), m, "bob", HOUR // 2 + n * 600 * (m % 2), gpus=8) for m in range(5) for n in range(10)),
        *(one(next(number), m, "eve", HOUR, gpus=None, cpus=None) for m in (3, 4) for n in range(6)),
        one(next(number), 2, None, HOUR, time_limit=None, limit_kind="unlimited"),
        one(next(number), 2, HOSTILE, 2 * HOUR),
        one(next(number), 2, "ada", 50),
    ]


def some_waits() -> list[Job]:
    """Two queues whose jobs waited for them, or for everything else that Slurm has a word for; some left out."""
    reasons = [
        "JobArrayTaskLimit", "Dependency", "QOSMaxGRESPerUser", "MaxJobsPerAccount", "AssocGrpCpuLimit", "JobHeldUser",
        "BeginTime", "Licenses",
    ]  # fmt: skip

    def one(number: int, waited: int, **changes: Any) -> Job:
        start = MONDAY + number * 5 * HOUR
        return job(
            number, **{"start_time": start, "eligible_time": start - waited, "end_time": start + HOUR, **changes}
        )

    short = (one(n, 20 * (n % 7), time_limit=HOUR, gpus=1 + n % 2) for n in range(1, 41))
    long = (one(n, 600 * (n % 9), time_limit=72 * HOUR, gpus=1 + n % 4, user="bob") for n in range(41, 81))
    return [
        *short,
        *long,
        *(one(100 + n, 100 * n, reason=reason) for n, reason in enumerate(reasons)),
        one(120, 4 * HOUR, queue="cpu", gpus=0, nodes=2, time_limit=None, limit_kind="unlimited"),
        one(121, 5 * HOUR, queue="cpu", gpus=0, time_limit=None, limit_kind="partition", reason="Priority"),
        one(122, 6 * HOUR, queue="cpu", gpus=0, time_limit=None, limit_kind="unknown", source="text"),
        one(123, -90),
        one(124, 60, elapsed=None, end_time=None, state="RUNNING"),
        one(125, 0, eligible_time=None),
        one(126, 7200, elapsed=0, end_time=MONDAY + 126 * 5 * HOUR, state="CANCELLED"),
        one(
            127,
            0,
            start_time=None,
            eligible_time=MONDAY - 2 * HOUR,
            elapsed=None,
            end_time=None,
            state="PENDING",
            seen_open=MONDAY,
        ),
    ]


def query(chosen: Filter | None = None, by: str = "queue", **own: Any) -> Query:
    chosen = chosen or Filter(checkpoint_code=85)
    return Query(chosen, MONDAY, "/var/lib/adminkit/trace.db", Config(), by, own, pictures=True)


def report_of(spec: ReportSpec[Any], trace: Path, asked: Query) -> Report:
    with reader(trace) as db:
        return spec.view(spec.measure(db, asked), asked)


def accuracy_of(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Report:
    return report_of(accuracy.SPEC, make_trace(path / "t.db", jobs, QUEUES), query(chosen))


def parallelism_of(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Report:
    return report_of(parallelism.SPEC, make_trace(path / "t.db", jobs, QUEUES), query(chosen))


def restarts_of(path: Path, jobs: list[Job], chosen: Filter | None = None, job_id: str | None = None) -> Report:
    chosen = replace(chosen or Filter(checkpoint_code=85), states=(), min_elapsed=-1)
    return report_of(restarts.SPEC, make_trace(path / "t.db", jobs, QUEUES), query(chosen, job=job_id))


def planned_of(path: Path, jobs: list[Job], chosen: Filter | None = None, by: str = "queue") -> Report:
    chosen = replace(chosen or Filter(checkpoint_code=85), states=(), min_elapsed=-1)
    return report_of(planned.SPEC, make_trace(path / "t.db", jobs, QUEUES), query(chosen, by))


def states_of(path: Path, jobs: list[Job], chosen: Filter | None = None, by: str = "queue") -> Report:
    chosen = replace(chosen or Filter(checkpoint_code=85), states=(), min_elapsed=-1)
    return report_of(states.SPEC, make_trace(path / "t.db", jobs, QUEUES), query(chosen, by))


def users_of(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Report:
    return report_of(users.SPEC, make_trace(path / "t.db", jobs, QUEUES), query(chosen))


def wait_of(path: Path, jobs: list[Job], chosen: Filter | None = None, by: str = "queue", **own: Any) -> Report:
    asked = query(chosen, by, **{"req_limit": None, "gpus": None, **own})
    return report_of(wait.SPEC, make_trace(path / "t.db", jobs, QUEUES), asked)


def arrivals_of(path: Path, jobs: list[Job], chosen: Filter | None = None, by: str = "hour") -> Report:
    """On a host whose clock is UTC's."""
    asked = query(replace(chosen or Filter(checkpoint_code=85), states=(), min_elapsed=-1), by)
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return arrivals.SPEC.view(measure_arrivals(db, asked.filter, by, asked.now, UTC), asked)


def utilization_of(trace: Path, by: str = "day") -> Report:
    """On the last of three days, on a host whose clock is UTC's."""
    asked = query(Filter(states=(), min_elapsed=-1, checkpoint_code=85), by)
    with reader(trace) as db:
        found = measure_utilization(db, asked.filter, by, MONDAY + 70 * HOUR, UTC)
        return utilization.SPEC.view(found, asked)


def waste_query() -> Query:
    """Ten hours after the first start."""
    return replace(query(Filter(["aaic"], states=(), min_elapsed=-1, checkpoint_code=85)), now=MONDAY + 10 * HOUR)


def metered_query(by: str = "queue") -> Query:
    """With all factors, of rows however they ended."""
    asked = query(Filter(states=(), min_elapsed=-1, checkpoint_code=85), by, most=2)
    return replace(asked, settings=Config(energy=Metering(co2=400.0, price=0.25)))


def pieces_of(path: Path, jobs: list[Job], job_id: str) -> Report:
    return restarts_of(path, jobs, job_id=job_id)


def feedback_of(path: Path, jobs: list[Job], letters: dict[int, int]) -> Report:
    """Of users some of whom are the hold-out."""
    asked = query(Filter(["aaic"], checkpoint_code=85), days=28)
    return feedback.SPEC.view(effects.measured(path / "t.db", jobs, letters, effects.HELD.__contains__), asked)


_DAY: Final = Filter(since=MONDAY, until=MONDAY + 86_400, clusters=["aaic"], checkpoint_code=85)
_EVERY: Final = Filter(states=(), min_elapsed=-1, checkpoint_code=85)
#: Each report of the catalogue, of a trace that shows all it can say; and of an empty one.
REVIEWED: Final[dict[str, tuple[Callable[[Path], Report], Callable[[Path], Report]]]] = {
    "accuracy": (lambda path: accuracy_of(path, some_jobs(), _DAY), lambda path: accuracy_of(path, [])),
    "parallelism": (
        lambda path: parallelism_of(
            path, [*some_jobs(), job(50, gpus=8, framework="torchrun", container="enroot")], _DAY
        ),
        lambda path: parallelism_of(path, []),
    ),
    "restarts": (lambda path: restarts_of(path, some_chains(), _DAY), lambda path: restarts_of(path, [])),
    "feedback": (
        lambda path: feedback_of(path, *effects.sample(1, gain=0.15)),
        lambda path: feedback_of(path, [], {}),
    ),
    "wait": (lambda path: wait_of(path, some_waits()), lambda path: wait_of(path, [])),
    "arrivals": (lambda path: arrivals_of(path, some_arrivals()), lambda path: arrivals_of(path, [])),
    "utilization": (
        lambda path: utilization_of(some_use(path / "t.db")),
        lambda path: utilization_of(make_trace(path / "t.db")),
    ),
    "waste": (
        lambda path: report_of(waste.SPEC, some_waste(path / "t.db"), waste_query()),
        lambda path: report_of(waste.SPEC, make_trace(path / "t.db"), waste_query()),
    ),
    "soft-limits": (lambda path: planned_of(path, some_planned()), lambda path: planned_of(path, [])),
    "extensions": (
        lambda path: report_of(extensions.SPEC, make_extended(path / "t.db"), query(_EVERY)),
        lambda path: report_of(extensions.SPEC, make_trace(path / "t.db"), query(_EVERY)),
    ),
    "states": (lambda path: states_of(path, some_ends(), _DAY), lambda path: states_of(path, [])),
    "states-node": (
        lambda path: states_of(path, some_bad_nodes(), by="node"),
        lambda path: states_of(path, [], by="node"),
    ),
    "users": (lambda path: users_of(path, some_months()), lambda path: users_of(path, [])),
    "efficiency": (
        lambda path: report_of(efficiency.SPEC, make_used(path / "t.db", *some_used()), query()),
        lambda path: report_of(efficiency.SPEC, make_used(path / "t.db", []), query()),
    ),
    "energy": (
        lambda path: report_of(energy.SPEC, make_metered(path / "t.db"), metered_query()),
        lambda path: report_of(energy.SPEC, make_trace(path / "t.db"), metered_query()),
    ),
    "io": (
        lambda path: report_of(io.SPEC, make_trace(path / "t.db", some_file_waits(HOSTILE)), query(by="user", most=4)),
        lambda path: report_of(io.SPEC, make_trace(path / "t.db", []), query(by="user", most=4)),
    ),
    "frameworks": (
        lambda path: report_of(
            frameworks.SPEC, make_trace(path / "t.db", some_programs(HOSTILE)), query(by="framework")
        ),
        lambda path: report_of(frameworks.SPEC, make_trace(path / "t.db", []), query(by="framework")),
    ),
    "names": (
        lambda path: report_of(names.SPEC, make_trace(path / "t.db", some_programs(HOSTILE)), query(most=5)),
        lambda path: report_of(names.SPEC, make_trace(path / "t.db", []), query(most=5)),
    ),
}
