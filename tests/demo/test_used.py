"""What the look-alike's jobs used: steps, command lines and habits that no job depends on."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from statistics import fmean, pstdev

import pytest

from adminkit.demo import generate
from adminkit.demo.used import uses
from adminkit.job import Job, Step
from tests.support.study import made, study

Used = list[tuple[Job, tuple[Step, ...]]]


@pytest.fixture(scope="module")
def used() -> Used:
    return [(job, use.steps) for job, use in uses(study(), generate.SEED)]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(made(tmp_path_factory))) as db:
        yield db


def test_no_job_used_more_than_it_had_and_none_looks_idle_to_points(used: Used) -> None:
    for job, steps in used:
        assert 0.02 < sum(one.cpu_time for one in steps) / (job.elapsed * job.cpus) <= 1.02
        assert sum(one.gpus_used for one in steps) <= job.gpus
        assert 0 < steps[-1].mem_used <= job.mem
        assert steps[-1].max_rss <= steps[-1].mem_used
        assert [one.step for one in steps] == (["batch"] if job.nodes == 1 else ["batch", "0"])
        assert {(one.start_time, one.end_time) for one in steps} == {(job.start_time, job.end_time)}


def test_a_program_of_a_user_uses_about_as_much_as_before(used: Used) -> None:
    shares = defaultdict(list)
    for job, steps in used:
        shares[job.user, job.job_name, job.queue, job.gpus, job.nodes].append(steps[-1].gpus_used / job.gpus)
    several = [one for one in shares.values() if len(one) >= 10]
    everything = [share for one in several for share in one]
    assert fmean(map(pstdev, several)) < 0.3 * pstdev(everything)
    assert 0.05 < sum(fmean(one) == 0 for one in several) / len(several) < 0.2, "some never find a GPU"


@pytest.mark.parametrize(
    ("query", "told", "why"),
    [
        ("SELECT count(*) FROM job", 55_127, "steps are no jobs"),
        ("SELECT count(*) FROM step", 55_127 + 343, "multi-node jobs have one that is theirs"),
        ("SELECT count(*) FROM rejected", 0, "every line is read"),
        ("SELECT count(*) FROM run WHERE interactive", 0, "all are batch jobs"),
        ("SELECT count(*) FROM job WHERE cpu_time IS NULL OR program IS NULL OR submitted_by <> 'sbatch'", 0, "known"),
        ("SELECT count(*) FROM job WHERE framework IS NOT NULL AND req_gpus = 1", 0, "for several GPUs"),
        ("SELECT count(*) FROM job WHERE nodes > 1 AND framework IS NOT 'mpi'", 0, "nodes need one"),
        ("SELECT count(DISTINCT container) FROM job", 1, "singularity"),
        ("SELECT count(*) FROM (SELECT user FROM job GROUP BY user HAVING count(DISTINCT container IS NULL) > 1)", 0,
         "a user's habit"),
        ("SELECT count(*) FROM step WHERE gpus_used IS NULL OR mem_used IS NULL OR max_rss IS NULL", 0, "measured"),
        ("SELECT count(*) FROM job JOIN (SELECT job_id_raw, sum(cpu_time) AS spent FROM step GROUP BY 1)"
         " USING (job_id_raw) WHERE spent <> cpu_time", 0, "a job's is its steps'"),
    ],
)  # fmt: skip
def test_the_trace_has_it(trace: sqlite3.Connection, query: str, told: int, why: str) -> None:
    assert trace.execute(query).fetchone() == (told,), why
