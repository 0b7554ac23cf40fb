"""Jobs of --requeue=expedite, which Slurm puts back and holds when their script fails, with the checkpoint plugin."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import Job, Watched, proctrack
from tests.cluster.harness.checkpoint import watched as watching
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import release
from tests.cluster.harness.operator import adminkit

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(release() < (25, 11), reason="--requeue=expedite is of Slurm 25.11 and newer"),
]
MANY = 200
LEAD = 15
#: Names of the jobs that the plugin does not put back, with what they run, what they ask for and why it does not.
NOT_PUT_BACK = {
    "often enough": ("{train} code=85\n", "requeue=1", "the most allowed"),
    "before the signal": ("exit 85\n", "requeue=3", "before it was sent the signal"),
    "failed": ("{train} code=3\n", "requeue=3", "SIGTERM to"),
}


@dataclass(frozen=True)
class Ended:
    """The jobs of this file, at rest."""

    watched: Watched
    many: list[Job]
    others: dict[str, Job]


def submit(watched: Watched, script: str, request: str) -> Job:
    options = ("-t", "1", "--open-mode=append", "--requeue=expedite")
    return watched.submit(script, *options, wish=f"TERM@{LEAD},{request}")


def at_rest(watched: Watched) -> bool:
    return not watched.cluster.ask("squeue", "-h", "-t", "R,CG,PD", "-o", "%i")


@pytest.fixture(scope="module")
def ended(outside: Listing) -> Iterator[Ended]:
    with private_slurm(proctrack(), nodes=13, SlurmctldParameters="enable_expedited_requeue") as cluster:
        watched = watching(cluster)
        watched.configure("quiet=5", "poll=5")
        others = {name: submit(watched, script, request) for name, (script, request, _) in NOT_PUT_BACK.items()}
        many = [submit(watched, "{train} runs=2 code=85\n", "requeue=3") for _ in range(MANY)]
        watched.until("every job to end or to be held", lambda: at_rest(watched), 600)
        yield Ended(watched, many, others)


def test_none_of_two_hundred_jobs_that_the_plugin_puts_back_is_held(ended: Ended) -> None:
    shown = [ended.watched.shown(job) for job in ended.many]
    assert Counter((one["JobState"], one["Restarts"]) for one in shown) == {("COMPLETED", "1"): MANY}
    assert {len(job.times("start")) for job in ended.many} == {2}
    assert not [job.said for job in ended.many if any("holds" in line for line in job.said)]


@pytest.mark.parametrize("name", NOT_PUT_BACK)
def test_a_job_that_is_not_put_back_is_held_by_slurm_and_says_so(ended: Ended, name: str) -> None:
    job = ended.others[name]
    code = re.search(r"\d+", NOT_PUT_BACK[name][0])
    assert code is not None
    assert ended.watched.state(job) == "REQUEUE_HOLD"
    assert NOT_PUT_BACK[name][2] in job.said[-2]
    assert job.said[-1].startswith(f"Slurm holds the job, which exited with code {code[0]} and asked for --requeue")


def test_a_job_that_ended_while_slurmctld_was_away_is_put_back_and_not_held(ended: Ended) -> None:
    """Each of them: whatever slurmctld hears first, the exit code or the plugin."""
    watched = ended.watched
    jobs = [submit(watched, "{train} runs=2 code=85\n", "requeue=3") for _ in range(8)]
    watched.until("all to run", lambda: all(job.times("start") for job in jobs))
    time.sleep(30)
    watched.cluster.stop_ctld()
    watched.until("all to hear it", lambda: all(job.times("heard") for job in jobs))
    time.sleep(8)  # longer than the plugin waits before slurmstepd tells of the end
    watched.cluster.start_ctld()
    watched.until("all to run again", lambda: at_rest(watched), 180)
    assert Counter(watched.state(job) for job in jobs) == {"COMPLETED": len(jobs)}, [job.said for job in jobs]
    assert {len(job.times("start")) for job in jobs} == {2}


def test_the_trace_has_what_ran_and_counts_no_hold_as_a_restart(ended: Ended, tmp_path: Path) -> None:
    """sacct shows no run that was never eligible, so a job that is held for good ends in a run that ended REQUEUED."""
    db = tmp_path / "trace.db"
    adminkit(ended.watched.cluster, db, "sync", "--since", "1h")
    found = {}
    with closing(sqlite3.connect(db)) as trace:
        for name, job in ended.others.items():
            columns = "state, exit_code, ckpt_end, continues, elapsed"
            select = f"SELECT {columns} FROM run WHERE job_id_raw = {job.id} ORDER BY submit_time"
            found[name] = [row[:4] for row in trace.execute(select) if row[4] is not None]
    assert found == {
        "often enough": [("REQUEUED", 0, "more", 0), ("REQUEUED", 85, "max", 1)],
        "before the signal": [("REQUEUED", 85, None, 0)],
        "failed": [("REQUEUED", 3, "failed", 0)],
    }
    report = adminkit(ended.watched.cluster, db, "report", "restarts", "--by", "ended", "--format", "json").stdout
    groups = {row["ended"]: row for row in json.loads(report)["rows"]}
    assert [groups["max"][key] for key in ("jobs", "runs", "put_back")] == [1, 2, 1]
    assert [groups["requeued"][key] for key in ("jobs", "runs", "put_back")] == [1, 1, 0]
