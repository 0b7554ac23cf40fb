"""Traces of jobs with steps, for reports of what jobs used."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from adminkit.job import Job, Step
from tests.support.builders import HOUR, MONDAY, job, make_trace

GIB: Final = 1 << 30


def make_used(
    path: Path, jobs: Iterable[Job], steps: Iterable[Step] = (), nodes: Iterable[tuple[str, int, int]] = ()
) -> Path:
    """A trace of these jobs and steps, and nodes as (name, CPUs, GPUs)."""
    make_trace(path, jobs)
    names = [field.name for field in fields(Step)]
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            f"INSERT INTO step ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})",
            (asdict(step) for step in steps),
        )
        db.executemany(
            "INSERT INTO node (cluster, node, since, present, cpus, gpus) VALUES ('aaic', ?, 0, 1, ?, ?)", nodes
        )
    return path


def step_of(one: Job, name: str = "batch", **changes: Any) -> Step:
    """A step as long as its run."""
    given = {"tasks": 1, "start_time": one.start_time, "end_time": one.end_time, "elapsed": one.elapsed, **changes}
    return Step(one.cluster, one.job_id_raw, one.submit_time, name, one.source, **given)


def jobstats(nodes: object) -> str:
    """As Jobstats writes into AdminComment."""
    return "JS1:" + base64.b64encode(gzip.compress(json.dumps({"nodes": nodes}).encode(), mtime=0)).decode()


def some_used() -> tuple[list[Job], list[Step]]:
    """Jobs whose use is known in every way, in part or not at all; GPUs by Slurm, by Jobstats, idle."""
    told = jobstats({
        "n1": {"gpu_utilization": {"0": 80, "1": 40}, "gpu_used_memory": {"0": 30 * GIB, "1": 10 * GIB},
               "gpu_total_memory": {"0": 40 * GIB, "1": 40 * GIB}},
    })  # fmt: skip
    jobs = [
        *(
            job(n, elapsed=HOUR * (1 + n % 3), cpu_time=HOUR * n * 0.5, mem=64 * GIB, user="ada" if n % 2 else "bob",
                gpus=1 if n % 3 else 4)
            for n in range(1, 13)
        ),
        job(13, gpus=2, elapsed=2 * HOUR, cpu_time=4.0 * HOUR, req_mem=32 * GIB, admin_comment=told),
        job(14, gpus=0, queue="cpu", cpu_time=7.0 * HOUR, mem=16 * GIB),
        job(15, queue="cpu", gpus=None, cpus=None),
        job(16, queue="gq-short", admin_comment="JS1:not base64"),
        job(17, state="FAILED"),
    ]  # fmt: skip
    steps = [step_of(one, mem_used=(n % 7 + 1) * 4 * GIB, gpus_used=one.gpus * (n % 5) / 5)
             for n, one in enumerate(jobs[:12])]  # fmt: skip
    steps += [
        step_of(jobs[12], mem_used=8 * GIB, gpus_used=2.0),
        step_of(jobs[12], "0", tasks=4, max_rss=GIB, mem_used=4 * GIB),
        step_of(jobs[12], "1", tasks=4, start_time=MONDAY + 3 * HOUR, end_time=MONDAY + 4 * HOUR, max_rss=9 * GIB),
        step_of(jobs[13], max_rss=12 * GIB),
    ]
    return jobs, steps


def some_programs(hostile: str) -> list[Job]:
    """Jobs of several frameworks, containers, programs and names; some of which nothing is known."""

    def one(number: int, **cells: Any) -> Job:
        return job(number, elapsed=HOUR + number * 600, **cells)

    return [
        *(one(n, framework="torchrun", container="apptainer", program="train.sh", job_name="train", gpus=8)
          for n in range(1, 6)),
        *(one(n, framework="mpi", program="solve", job_name="md", user="bob", gpus=4) for n in range(6, 10)),
        *(one(n, job_name="eval", gpus=1, user="bob" if n % 2 else "ada") for n in range(10, 20)),
        one(20, job_name=hostile, program=hostile, framework=hostile, container=hostile, gpus=1),
        one(21, gpus=None, cpus=None, user=None),
        one(22, job_name="endless", time_limit=None, limit_kind="unlimited"),
        one(23, job_name="train", state="FAILED"),
    ]  # fmt: skip
