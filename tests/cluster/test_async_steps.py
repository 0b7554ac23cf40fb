"""The signal before the kill in steps of `srun --async`, which slurmstepd starts and no srun waits for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import Job, Watched, proctrack
from tests.cluster.harness.checkpoint import watched as watching
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import release

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(release() < (26, 5), reason="srun --async is of Slurm 26.05 and newer"),
]
#: Trap: a container may have 2048 threads by default, and each step takes some ten.
WAVES, JOBS, STEPS, LEAD = 2, 5, 20, 15
STEP = "srun --async -n1 --mem=5 --overlap -o none {train}"
MANY = f"for i in $(seq {STEPS}); do {STEP} code=0; done\nsleep 600 & wait\n"
#: The script ends by itself, some seconds after its step did.
MORE = f'{STEP} runs=2 code=85\n[ -n "$SLURM_RESTART_COUNT" ] || sleep 112\n'


@dataclass(frozen=True)
class Jobs:
    watched: Watched
    many: list[Job]
    more: Job


@pytest.fixture(scope="module")
def jobs(outside: Listing) -> Iterator[Jobs]:
    settings = {"SlurmctldParameters": "enable_stepmgr", "PrologFlags": "contain"}
    with private_slurm(proctrack(), **settings) as cluster:
        watched = watching(cluster)
        watched.configure("quiet=5", "poll=5")
        options = ("-t", "2", "--open-mode=append")
        more, many = watched.submit(MORE, *options, wish=f"TERM@{LEAD},requeue=2"), []
        for _ in range(WAVES):
            wave = [watched.submit(MANY, "-n2", *options, wish=f"TERM@{LEAD}") for _ in range(JOBS)]
            watched.ended(*wave, seconds=240)
            many += wave
        watched.ended(more)
        yield Jobs(watched, many, more)


def test_each_of_two_hundred_steps_hears_it_once_and_on_time(jobs: Jobs) -> None:
    for job in jobs.many:
        assert (len(job.times("start")), len(job.times("heard"))) == (STEPS, STEPS), job.output.read_text()
        before = [jobs.watched.limit_at(job) - at for at in job.times("heard")]
        assert all(LEAD - 3 <= span <= LEAD + 3 for span in before), sorted(before)


def test_the_code_of_such_a_step_puts_the_job_back(jobs: Jobs) -> None:
    shown = jobs.watched.shown(jobs.more)
    assert (shown["JobState"], shown["Restarts"]) == ("COMPLETED", "1"), jobs.more.output.read_text()
    assert ",rq=1,end=more" in shown["AdminComment"]
