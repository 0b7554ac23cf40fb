"""A look-alike of the AAIC trace: 55,127 synthetic GPU jobs of five months whose figures are the study's.

Pure and deterministic: the same seed gives the same jobs on every machine. docs/demo.md says what is exact,
what is close and what is invented. times.py has the study's figures, users.py who submits what and when, nodes.py where
and when it starts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from adminkit.demo import times
from adminkit.demo.meter import metered
from adminkit.demo.nodes import GPUS_PER_NODE, NODES, Request, place
from adminkit.demo.used import uses
from adminkit.demo.users import BEGIN, END, USERS, Run, runs
from adminkit.job import Job, Step
from adminkit.slurm.site import Site, SiteNode, SiteQueue, SiteScheduler
from adminkit.trace.comment_words import RECORD

__all__ = ["BEGIN", "CLUSTER", "COLUMNS", "END", "QUEUES", "SEED", "SITE", "jobs", "sacct_text"]

CLUSTER: Final = "aaic-demo"
SEED: Final = 2018

#: Queue -> (default limit in seconds, maximum limit in seconds, nodes). Every queue may use every node.
QUEUES: Final = {name: (queue.default_limit, queue.max_limit, NODES) for name, queue in times.MODEL.items()}

CPUS_PER_GPU: Final = 5
_MEM_PER_GPU: Final = 48 * 2**30
_FIRST_JOB: Final = 1204
_EPILOG: Final = 8  # seconds a node is kept after a job's end

_NODE: Final = SiteNode(
    "gpu001",
    GPUS_PER_NODE * CPUS_PER_GPU,
    GPUS_PER_NODE * _MEM_PER_GPU,
    {"p100": GPUS_PER_NODE},
    queues=frozenset(QUEUES),
)
SITE: Final = Site(
    CLUSTER,
    tuple(
        SiteQueue(name, default, most, total_nodes=nodes, is_default=name == next(iter(QUEUES)))
        for name, (default, most, nodes) in QUEUES.items()
    ),
    nodes=tuple(replace(_NODE, name=f"gpu{number:03}") for number in range(1, NODES + 1)),
    scheduler=SiteScheduler(epilog=_EPILOG),
)

#: sacct's field names, in the order printed. Times are epoch seconds, TimelimitRaw is minutes.
COLUMNS: Final = (
    "JobID", "JobIDRaw", "Cluster", "DBIndex", "User", "UID", "Group", "Account", "Partition", "QOS", "State",
    "ExitCode", "DerivedExitCode", "Priority", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "Suspended",
    "TimelimitRaw", "ReqNodes", "ReqCPUS", "ReqMem", "ReqTRES", "AllocNodes", "AllocCPUS", "AllocTRES", "NodeList",
    "Restarts", "AdminComment", "NTasks", "TotalCPU", "MaxRSS", "TRESUsageInTot", "SubmitLine", "JobName",
)  # fmt: skip


def jobs(seed: int = SEED) -> Iterator[Job]:
    """Every job, in the order of job_id_raw, which is the order of submission. Takes about three seconds."""
    rng = Random(seed)
    people = _people(rng)
    asked = runs(rng)
    eligible = [run.submit_time + _held(run, rng) for run in asked]
    suspended = [rng.randint(60, 1800) if rng.random() < 0.001 else 0 for _ in asked]
    requests = [
        Request(
            user=run.habit.user,
            ready=ready + 1 + int(rng.lognormvariate(math.log(12), 1)),
            busy=run.elapsed + pause + _EPILOG,
            nodes=run.habit.nodes,
            gpus_per_node=run.habit.gpus_per_node,
        )
        for run, ready, pause in zip(asked, eligible, suspended, strict=True)
    ]
    ids = _job_ids(asked, rng)
    placed = place(requests)
    for index, nth in enumerate(sorted(range(len(asked)), key=lambda nth: ids[nth])):
        course = Course(eligible[nth], *placed[nth], suspended[nth])
        yield _job(index + 1, ids[nth], people[asked[nth].habit.user], asked[nth], course)


class Person(NamedTuple):
    """One user as the accounting knows them."""

    user: str
    uid: int
    group: str
    account: str


class Course(NamedTuple):
    """The course of one job after its submission. Times are epoch seconds."""

    eligible_time: int
    start_time: int
    node_numbers: list[int]
    suspended: int


def _job(db_index: int, ids: tuple[int, int], person: Person, run: Run, course: Course) -> Job:
    number, array = ids
    gpus = run.habit.nodes * run.habit.gpus_per_node
    typed = run.habit.time_limit != QUEUES[run.habit.queue][0]
    return Job(
        cluster=CLUSTER,
        job_id_raw=number,
        submit_time=run.submit_time,
        db_index=db_index,
        job_id=str(number) if run.array_task is None else f"{array}_{run.array_task}",
        array_job=None if run.array_task is None else array,
        array_task=run.array_task,
        user=person.user,
        uid=person.uid,
        group=person.group,
        account=person.account,
        queue=run.habit.queue,
        qos="normal",
        job_name=run.habit.job_name,
        state="TIMEOUT" if run.timed_out else "COMPLETED",
        exit_code=0,
        exit_signal=0,
        derived_exit_code=0,
        priority=1000 + (course.start_time - course.eligible_time) // 60,
        restarts=0,
        eligible_time=course.eligible_time,
        start_time=course.start_time,
        end_time=course.start_time + run.elapsed + course.suspended,
        elapsed=run.elapsed,
        suspended=course.suspended,
        time_limit=run.habit.time_limit,
        limit_kind="finite",
        limit_source="explicit" if typed else "default",
        limit_original=run.habit.time_limit if typed else None,
        req_nodes=run.habit.nodes,
        req_cpus=gpus * CPUS_PER_GPU,
        req_gpus=gpus,
        req_mem=gpus * _MEM_PER_GPU,
        nodes=run.habit.nodes,
        cpus=gpus * CPUS_PER_GPU,
        gpus=gpus,
        gpu_type="p100",
        mem=gpus * _MEM_PER_GPU,
        node_list=node_list(course.node_numbers),
        admin_comment=f"{RECORD.prefix}:lim={run.habit.time_limit if typed else 'none'},src={'e' if typed else 'd'}",
    )


def sacct_text(jobs: Iterable[Job], delimiter: str = "\x1f", seed: int = SEED) -> Iterator[bytes]:
    """The jobs and their steps as `sacct -P --noconvert` prints them, one line at a time, header first.

    `seed` is of what they used.
    """
    yield (delimiter.join(COLUMNS) + "\n").encode()
    for job, use in metered(uses(jobs, seed)):
        yield (delimiter.join(_cells(job, use.steps, use.submit_line)) + "\n").encode()
        for step in use.steps:
            yield (delimiter.join(_step_cells(job, step)) + "\n").encode()


def _cells(job: Job, steps: Sequence[Step], submit_line: str) -> tuple[str, ...]:
    tres = f"gres/gpu={job.req_gpus},mem={_mebibytes(job.req_mem)},node={job.req_nodes}"
    cpus = f"billing={job.req_cpus},cpu={job.req_cpus}"
    energy = "" if job.energy is None else f",energy={job.energy}"
    cells = (
        job.job_id, job.job_id_raw, job.cluster, job.db_index, job.user, job.uid, job.group, job.account, job.queue,
        job.qos, job.state, f"{job.exit_code}:{job.exit_signal}", f"{job.derived_exit_code}:0", job.priority,
        job.submit_time, job.eligible_time, job.start_time, job.end_time, job.elapsed, _clock(job.suspended or 0),
        (job.time_limit or 0) // 60, job.req_nodes, job.req_cpus, _mebibytes(job.req_mem), f"{cpus},{tres}",
        job.nodes, job.cpus, f"{cpus},gres/gpu:{job.gpu_type}={job.gpus},{tres}{energy}", job.node_list,
        job.restarts, job.admin_comment, "", _clock(sum(int(step.cpu_time or 0) for step in steps)), "", "",
        submit_line, job.job_name,
    )  # fmt: skip
    return tuple(map(str, cells))


def _step_cells(job: Job, step: Step) -> tuple[str, ...]:
    """A step has no user, queue, limit or request of its own."""
    cpus = (job.cpus or 0) * (step.gpus or 0) // (job.gpus or 1)
    spent = _clock(int(step.cpu_time or 0))
    busy = f"gres/gpuutil={round(100 * (step.gpus_used or 0))}"
    filled = {
        "JobID": f"{job.job_id}.{step.step}", "JobIDRaw": f"{job.job_id_raw}.{step.step}", "Cluster": job.cluster,
        "State": step.state, "ExitCode": "0:0", "Submit": step.start_time, "Start": step.start_time,
        "End": step.end_time, "ElapsedRaw": step.elapsed, "AllocNodes": step.nodes, "AllocCPUS": cpus,
        "AllocTRES": f"cpu={cpus},gres/gpu:{job.gpu_type}={step.gpus},gres/gpu={step.gpus},node={step.nodes}",
        "NTasks": step.tasks, "TotalCPU": spent, "MaxRSS": f"{(step.max_rss or 0) // 1024}K",
        "TRESUsageInTot": f"cpu={spent},{busy},mem={(step.mem_used or 0) // 1024}K", "JobName": step.step_name,
    }  # fmt: skip
    return tuple(str(filled.get(name, "")) for name in COLUMNS)


def _people(rng: Random) -> list[Person]:
    """The busiest first. Names say nothing about how busy somebody is."""
    numbers = rng.sample(range(1, USERS + 1), USERS)
    groups = [rng.randint(1, 8) for _ in numbers]
    return [
        Person(f"user{number:03}", 5000 + number, f"group{group}", f"project{group}{rng.choice('ab')}")
        for number, group in zip(numbers, groups, strict=True)
    ]


def _held(run: Run, rng: Random) -> int:
    """Seconds until a job may start: a few wait for another job or an hour."""
    return int(rng.lognormvariate(8, 1)) if rng.random() < 0.01 and run.array_task is None else 0


def _job_ids(asked: list[Run], rng: Random) -> list[tuple[int, int]]:
    """(JobIDRaw, the array's id) per run. As in Slurm, an array's last task keeps the array's own id.

    Gaps are the jobs that the study does not count.
    """
    tasks = Counter(run.batch for run in asked)
    first: dict[int, int] = {}  # batch -> its array's id
    ids = []
    number = _FIRST_JOB
    for run in asked:
        if run.array_task is None or run.batch not in first:
            first[run.batch] = number = number + rng.choice((1, 1, 1, 2, 4))
            number += 0 if run.array_task is None else tasks[run.batch] - 1
        array = first[run.batch]
        last = run.array_task is None or run.array_task + 1 == tasks[run.batch]
        ids.append((array if last else array + 1 + (run.array_task or 0), array))
    return ids


def node_list(nodes: list[int]) -> str:
    """[0, 1, 2, 6] -> gpu[001-003,007]; one node is gpu001."""
    ranges: list[list[int]] = []
    for node in nodes:
        if ranges and ranges[-1][1] == node:
            ranges[-1][1] = node + 1
        else:
            ranges.append([node + 1, node + 1])
    if len(nodes) == 1:
        return f"gpu{nodes[0] + 1:03}"
    return "gpu[" + ",".join(f"{a:03}" if a == b else f"{a:03}-{b:03}" for a, b in ranges) + "]"


def _mebibytes(size: int | None) -> str:
    return f"{(size or 0) // 2**20}M"


def _clock(seconds: int) -> str:
    days, seconds = divmod(seconds, 86_400)
    if days:
        return f"{days}-{_clock(seconds)}"
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
