"""Which runs continue each other, by what the real Slurm writes: preemption, failed nodes, requeues of every kind.

Beside them arrays that wait, and runs of scrontab.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.ending import steps_of
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import PREFIX, release
from tests.cluster.harness.operator import adminkit, one
from tests.cluster.harness.processes import until

#: The second task of an array waits in its first run, the others do not.
TASK: Final = '[ "$SLURM_ARRAY_TASK_ID" != 1 ] || [ -n "$SLURM_RESTART_COUNT" ] || sleep 200'
LISTED: Final = "1,3,5,7,11,20-29,40-50:3,60,62,64,66,68,70,72,74,76,78,80%2"
#: Waits in its first run only.
ONCE: Final = 'if [ -z "$SLURM_RESTART_COUNT" ]; then sleep 200; fi; sleep 1'
#: The state of a run that is put back after it had ended; None: it keeps its own.
OVER: Final = "REQUEUED" if release() < (26, 5) else None
SETTINGS: Final = {
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "RequeueExit": "42",
    "RequeueExitHold": "43",
    "ScronParameters": "enable",
    "MaxArraySize": "2000",
}


@dataclass(frozen=True)
class Site:
    """The jobs by the names that the tests know them by, and the trace."""

    cluster: Cluster
    jobs: dict[str, int]
    db: Path

    def rows(self, name: str, columns: str) -> list[tuple[object, ...]]:
        """Of all runs of a job, or of an array's tasks, in order."""
        with closing(sqlite3.connect(self.db)) as db:
            select = f"SELECT {columns} FROM run WHERE {self.jobs[name]} IN (job_id_raw, array_job, het_job)"
            return db.execute(f"{select} ORDER BY coalesce(array_task, het_offset), job_id_raw, submit_time").fetchall()


@pytest.fixture(scope="module")
def site(outside: Listing, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with private_slurm(nodes=3, **SETTINGS) as cluster:
        jobs = submit(cluster)
        disturb(cluster, jobs)
        finish(cluster, jobs)
        db = tmp_path_factory.mktemp("restarts") / "trace.db"
        adminkit(cluster, db, "sync", "--since", "1h")
        yield Site(cluster, jobs, db)


def submit(cluster: Cluster) -> dict[str, int]:
    """Everything that is put back, and what waits."""
    cluster.ask("scontrol", "update", "PartitionName=gq-short", "PriorityTier=10")

    def add(script: str, *options: str) -> int:
        return cluster.submit(script, "-p", "gq", "-t", "30", *options, user="games")

    small = ("-w", "n2")
    cron = cluster.run(str(scrontab(cluster)), "gq", "10", "ready", user="news").text
    return {
        "preempted": add(ONCE, "-w", "n1", "--exclusive"),
        "node failed": add(ONCE, "-w", "n3"),
        "not to be put back": add(ONCE, "-w", "n3", "--no-requeue"),
        "requeued": add(ONCE, *small),
        "held": add(ONCE, *small),
        "het": int(cluster.ask("sbatch", "--parsable", "-o", "/dev/null", "-n1", "-p", "gq", ":", "-n1", "-p", "gq",
                               "--wrap", ONCE, user="games")),
        "completed": add("sleep 1", *small),
        "failed": add("sleep 1; exit 3", *small),
        "exit code": add('[ -n "$SLURM_RESTART_COUNT" ] || exit 42', *small),
        "exit code, held": add('[ -n "$SLURM_RESTART_COUNT" ] || exit 43', *small),
        "array": cluster.submit(TASK, "-a", "0-2", "-p", "debug", "-t", "1", *small, user="games"),
        "cancelled": add("sleep 60", "-a", "0-467", "-H"),
        "scrontab": int(cron.split()[1]),
    }  # fmt: skip


def scrontab(cluster: Cluster) -> Path:
    """scrontab's question to slurmctld, as a program: Debian does not package scrontab itself."""
    library = next(Path(PREFIX, "lib").rglob("libslurmfull.so")).parent
    made, source = cluster.work / "crontab", str(Path(__file__).with_name("harness") / "crontab.c")
    command = ["cc", "-o", str(made), source, f"-I{PREFIX}/include", f"-L{library}", "-lslurmfull"]
    subprocess.run([*command, f"-Wl,-rpath,{library}"], check=True, capture_output=True)
    return made


def disturb(cluster: Cluster, jobs: dict[str, int]) -> None:
    for name in ("preempted", "node failed", "not to be put back", "requeued", "held", "het"):
        cluster.wait(jobs[name], "RUNNING")
    for name in ("completed", "failed"):
        cluster.wait(jobs[name])
    time.sleep(2)  # what is put back in the second of its start has the submission of before
    cluster.submit("sleep 2", "-p", "gq-short", "-w", "n1", "--exclusive", "-t", "5", user="news")
    for name in ("het", "requeued", "completed", "failed"):
        cluster.ask("scontrol", "requeue", str(jobs[name]))
    cluster.fail_node("n3")  # one of the het job's is on it
    cluster.ask("scancel", str(jobs["cancelled"]))
    cluster.ask("scontrol", "requeuehold", str(jobs["held"]))
    cluster.resume_node("n3")
    for name in ("held", "exit code, held"):
        until(
            f"{name} to be released", lambda job=jobs[name]: not cluster.run("scontrol", "release", str(job)).code, 60
        )


def finish(cluster: Cluster, jobs: dict[str, int]) -> None:
    array = jobs["array"]
    until("the task to reach its limit", lambda: "TIMEOUT" in cluster.states(array), 200)
    cluster.ask("scontrol", "requeue", f"{array}_1")
    for name, job in jobs.items():
        if name != "scrontab":
            cluster.wait(job, ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"))
    runs = ("sacct", "-X", "-D", "-n", "-P", "-o", "State", "-j", str(jobs["scrontab"]))
    until("scrontab's job to run twice", lambda: cluster.ask(*runs).count("REQUEUED") > 1, 200)
    # What is held is not eligible, and sacct shows it when it is.
    cluster.ask("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=test")
    for name, tasks in (("waits", "0-799"), ("waits with a limit", LISTED)):
        jobs[name] = cluster.submit("sleep 60", "-p", "gq", "-w", "n3", "-a", tasks, user="games")
        eligible = ("sacct", "-X", "-n", "-P", "-o", "Eligible", "-j", str(jobs[name]))
        until(f"{name} to be eligible", lambda asked=eligible: "T" in cluster.ask(*asked), 60)
    cluster.settle()
    time.sleep(1)


@pytest.mark.parametrize(
    ("name", "states", "why"),
    [
        ("preempted", ["PREEMPTED", "COMPLETED"], "by a job of a queue that goes first"),
        ("node failed", ["NODE_FAIL", "COMPLETED"], "Slurm puts it back by itself"),
        ("requeued", ["REQUEUED", "COMPLETED"], "while it ran"),
        ("held", ["REQUEUED", "COMPLETED"], "requeuehold, and released"),
        ("completed", [OVER or "COMPLETED", "COMPLETED"], "it had completed"),
        ("failed", [OVER or "FAILED", "FAILED"], "it had failed"),
        ("exit code", ["REQUEUED", "COMPLETED"], "RequeueExit"),
        ("exit code, held", ["REQUEUED", "COMPLETED"], "RequeueExitHold, and released"),
    ],
)
def test_a_run_that_slurm_puts_back_is_continued_by_the_next(
    site: Site, name: str, states: list[str], why: str
) -> None:
    found = site.rows(name, "state, continues, continued, checkpoint")
    assert found == [(states[0], 0, 1, 1), (states[1], 1, 0, 1)], why
    first, second = site.rows(name, "submit_time, previous_submit")
    assert second[1] == first[0] and first[1] is None, why


def test_restarts_are_counted_where_sacct_has_them(site: Site) -> None:
    known = "Restarts" in site.cluster.ask("sacct", "-e").split()
    for name in ("preempted", "node failed", "requeued", "completed", "exit code"):
        assert site.rows(name, "restarts") == ([(0,), (1,)] if known else [(None,), (None,)]), name


def test_a_job_that_is_not_to_be_put_back_has_one_run(site: Site) -> None:
    assert site.rows("not to be put back", "state, continues, continued") == [("NODE_FAIL", 0, 0)]


def test_components_of_a_het_job_are_put_back_each(site: Site) -> None:
    found = site.rows("het", "het_offset, state, continues")
    assert found == [(0, "REQUEUED", 0), (0, "COMPLETED", 1), (1, "REQUEUED", 0), (1, "COMPLETED", 1)]


def test_of_an_array_the_task_that_reached_its_limit_is_put_back(site: Site) -> None:
    found = site.rows("array", "array_task, state, continues, continued")
    assert found == [
        (0, "COMPLETED", 0, 0),
        (1, OVER or "TIMEOUT", 0, 1),
        (1, "COMPLETED", 1, 0),
        (2, "COMPLETED", 0, 0),
    ]


def test_runs_of_scrontab_are_jobs_of_their_own(site: Site) -> None:
    found = site.rows("scrontab", "state, continues, continued, checkpoint")
    assert len(found) >= 2
    assert {row[1:] for row in found} == {(0, 0, 0)}, found
    assert [row[0] for row in found[:2]] == ["REQUEUED", "REQUEUED"], "that is what Slurm says of them"


def test_restarts_has_every_job_that_was_put_back(site: Site) -> None:
    report = json.loads(adminkit(site.cluster, site.db, "report", "restarts", "--format", "json").stdout)
    overall = report["totals"][0] if "totals" in report else report["rows"][-1]
    assert (overall["restarted"], overall["runs"]) == (11, 22)


@pytest.mark.parametrize(
    ("name", "tasks", "why"),
    [
        ("waits", 800, "no task has begun"),
        (
            "waits with a limit",
            30,
            "gaps, steps and a limit, in more than the 64 characters that Slurm shows by itself",
        ),
        ("cancelled", 468, "under one row, before any of them began"),
    ],
)
def test_tasks_of_an_array_that_share_a_row_count_each(site: Site, name: str, tasks: int, why: str) -> None:
    assert site.rows(name, "array_tasks, tasks") == [(tasks, tasks)], why
    assert one(site.db, "SELECT count(*) FROM rejected") == 0


@pytest.mark.soak
def test_a_node_that_dies_is_noticed_and_its_jobs_are_put_back(outside: Listing, tmp_path: Path) -> None:
    """slurmd and all that runs under it are killed, as by a power cut; slurmctld finds out by itself."""
    with private_slurm(nodes=2, SlurmdTimeout="20") as cluster:
        jobs = {"node died": cluster.submit(ONCE, "-p", "gq", "-w", "n1", "-t", "30", user="games")}
        jobs["not put back"] = cluster.submit(ONCE, "-p", "gq", "-w", "n1", "-t", "30", "--no-requeue", user="games")
        for job in jobs.values():
            cluster.wait(job, "RUNNING")
        slurmd = cluster.ledger.find(f"{cluster.name}-slurmd-n1")
        assert slurmd
        died = (slurmd, *steps_of(cluster.folder))
        for number in (signal.SIGSTOP, signal.SIGKILL):  # all at once: none tells of another's death
            for process in died:
                os.kill(process.pid, number)
        until("slurmctld to notice", lambda: "down" in cluster.ask("sinfo", "-h", "-n", "n1", "-o", "%T"), 120)
        cluster.start_node("n1")
        cluster.resume_node("n1")
        for job in jobs.values():
            cluster.wait(job, ("COMPLETED", "NODE_FAIL"))
        cluster.settle()
        adminkit(cluster, tmp_path / "trace.db", "sync", "--since", "1h")
        site = Site(cluster, jobs, tmp_path / "trace.db")
        assert site.rows("node died", "state, continues, continued") == [("NODE_FAIL", 0, 1), ("COMPLETED", 1, 0)]
        assert site.rows("not put back", "state, continues, continued") == [("NODE_FAIL", 0, 0)]
