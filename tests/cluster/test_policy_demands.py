"""Rules that a job keeps or breaks without a number in between, as users meet them."""

from __future__ import annotations

import pytest

from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import Ruled, rule

RULES = rule("long-batch", "gq-long", batch_only=True)


@pytest.fixture(autouse=True)
def in_force(ruled: Ruled) -> None:
    ruled.rules(RULES)


def test_a_queue_for_batch_jobs_takes_neither_srun_nor_salloc(ruled: Ruled) -> None:
    where = ("-p", "gq-long", "-t", "60")
    for command in (("srun", *where, "true"), ("salloc", *where, "true"), ("salloc", "--no-shell", *where),
                    ("srun", "-p", "gq-short,gq-long", "-t", "60", "true"),
                    ("salloc", "--no-shell", "-p", "gq", "-t", "60", ":", "-p", "gq-long", "-t", "60")):  # fmt: skip
        refused = ruled.run(*command)
        assert not refused.accepted, command
        assert "Write a script, with srun in it, and type: sbatch -p gq-long SCRIPT" in refused.text, refused
    assert ruled.sbatch(*where).accepted
    assert ruled.sbatch("--array=1-4", *where).accepted
    het = ruled.run("sbatch", "-H", "-o", "/dev/null", *where, ":", *where, "--wrap", "true")
    assert het.accepted, het
    bare = ruled.run("sbatch", "-H", "-o", "/dev/null", "--export=NONE", *where, ":", *where, "--wrap", "true")
    assert bare.accepted, bare


def test_srun_within_a_batch_job_is_no_submission(ruled: Ruled) -> None:
    job = ruled.cluster.submit("srun true && srun -n2 true", "-p", "gq-long", "-t", "5", "-n2", user="games")
    ruled.cluster.wait(job, "COMPLETED")


def test_an_allocation_cannot_move_to_a_queue_for_batch_jobs(ruled: Ruled) -> None:
    waiting = "salloc --no-shell --begin=now+1hour -p gq -t 60 >/dev/null 2>&1 & echo"
    ruled.run("sh", "-c", waiting)
    job = until("the allocation to wait", lambda: ruled.cluster.ask("squeue", "-h", "-t", "PD", "-o", "%A").strip(), 30)
    refused = ruled.update(int(job), "Partition=gq-long")
    assert "accounting/QOS policy" in refused.text, "22.05 shows an update Slurm's own words only"
    batch = ruled.sbatch("-p", "gq", "-t", "60").job
    assert ruled.update(batch, "Partition=gq-long").accepted
