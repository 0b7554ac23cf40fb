"""A mix of every way a job can end, for tests that compare what adminkit stored with what sacct says.

    jobs = run(cluster)          # about 100 s: slurmctld looks at time limits every 30 s
    jobs.ids["array"]            # the (first) job id of a kind

Every kind is listed in `KINDS` with the states its runs end in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.cluster.harness.cluster import FINISHED, Cluster, Word
from tests.cluster.harness.processes import until

#: kind -> the states of its job rows in sacct -X -D, in the order of job id and submission.
KINDS: Final[dict[str, tuple[str, ...]]] = {
    "completed": ("COMPLETED",),
    "cpu only": ("COMPLETED",),
    "default limit": ("COMPLETED",),
    "no limit": ("COMPLETED",),
    "other account": ("COMPLETED",),
    "by root": ("COMPLETED",),
    "interactive": ("COMPLETED",),
    "steps": ("COMPLETED",),
    "multi-node": ("COMPLETED",),
    "suspended": ("COMPLETED",),
    "failed": ("FAILED",),
    "codes above 128": ("FAILED",),
    "signalled": ("FAILED",),
    "timeout": ("TIMEOUT",),
    "timeout with steps": ("TIMEOUT",),
    "cancelled before": ("CANCELLED",),
    "cancelled during": ("CANCELLED",),
    "cancelled by root": ("CANCELLED",),
    "node failure": ("NODE_FAIL",),
    "requeued": ("REQUEUED", "COMPLETED"),
    "array": ("COMPLETED", "COMPLETED", "FAILED", "COMPLETED"),
    "array cancelled": ("CANCELLED",),  # one row, 9_[1-2], never eligible: sacct without -s leaves it out
    "het": ("COMPLETED", "COMPLETED"),
    "name with bars": ("COMPLETED",),
    "name with newlines": ("COMPLETED",),
    "name with delimiters": ("COMPLETED",),
    "name of invalid UTF-8": ("COMPLETED",),
    "name in Japanese": ("COMPLETED",),
    "long name": ("COMPLETED",),
}

#: In a job: wait until slurmctld has the ends of its steps. Trap: a job that ends before has none of their exit codes.
STEPS_OVER: Final = "while squeue -h -s -j $SLURM_JOB_ID -o %i | grep -q '[.][0-9]'; do sleep 0.2; done"

NAMES: Final[dict[str, bytes]] = {
    "name with bars": b"a|b||c|",
    "name with newlines": b"two\nlines\n1|2|3",
    "name with delimiters": b"unit\x1fseparator\ttab",
    "name of invalid UTF-8": b"caf\xe9 \xff\xfe end",
    "name in Japanese": "学習 三回目".encode(),
    "long name": b"long " * 40,
}


@dataclass
class Workload:
    """The submitted jobs: kind -> (first) job id, and what is still to do to some of them."""

    cluster: Cluster
    ids: dict[str, int] = field(default_factory=dict)

    def finish(self, seconds: float = 240.0) -> None:
        """Wait until every job ended and slurmdbd was told."""
        end = time.monotonic() + seconds
        for job in self.ids.values():
            self.cluster.wait(job, FINISHED, max(1.0, end - time.monotonic()))
        self.cluster.settle()


def run(cluster: Cluster) -> Workload:
    """Submit the whole mix and wait for its end."""
    jobs = submit(cluster)
    jobs.finish()
    return jobs


def submit(cluster: Cluster) -> Workload:
    """Submit the whole mix, as several users; what must happen to running jobs has happened on return."""
    jobs = Workload(cluster)
    _long(jobs)
    _short(jobs)
    _named(jobs)
    _interfere(jobs)
    return jobs


def _long(jobs: Workload) -> None:
    """First those that end last, and those that something is done to while they run."""
    add = _adder(jobs)
    add("timeout", "sleep 600", "-p", "debug", "-t", "1", "--gres=gpu:1", user="games")
    add("timeout with steps", "srun sleep 600", "-p", "debug", user="news")
    add("node failure", "sleep 600", "-w", "n4", "--no-requeue", "--gres=gpu:8", "-p", "gq-short", user="backup")
    add("requeued", 'test "$SLURM_RESTART_COUNT" && sleep 1 || sleep 600', "-t", "10", "--requeue", "-w", "n1")
    add("cancelled during", "sleep 600", "-t", "2:00:00", "--gres=gpu:2", "-w", "n1", user="games")
    add("cancelled by root", "srun sleep 600", "-p", "gq-long", "-w", "n2", user="www-data")
    add("suspended", "sleep 40", "-w", "n2", "-t", "30", user="news")
    add("cancelled before", "true", "--begin=now+3hours", "-t", "5", "--gres=gpu:4", user="news")
    add("array cancelled", "true", "--hold", "--array=1-2", "-t", "5", user="games")


def _short(jobs: Workload) -> None:
    add = _adder(jobs)
    add("completed", "sleep 2", "-t", "10", "--gres=gpu:2", "-c", "2", user="games")
    add("cpu only", "sleep 1", "-t", "1-00:00:00", "-n", "2", "--mem=1200M", user="news")
    add("default limit", "sleep 1", "--gres=gpu:1", user="backup")
    add("no limit", "sleep 1", "-p", "free", user="games")
    add("other account", "sleep 1", "-A", "physics", "-t", "3:00:00", "-p", "gq-short", user="backup")
    add("by root", "sleep 1", "-t", "20", "--comment", "a|comment\nof two lines")
    add("steps", f"srun sleep 1; srun -n1 sh -c 'exit 4'; {STEPS_OVER}; exit 0", "-n", "2", "-t", "15", user="www-data")
    add("multi-node", "srun sleep 1", "-N", "3", "--gres=gpu:4", "-p", "gq-middle", "-x", "n4", user="backup")
    add("failed", "exit 3", "-t", "10", user="games")
    add("codes above 128", f"srun -n1 sh -c 'exit 143'; {STEPS_OVER}; exit 200", "-t", "10", user="games")
    add("signalled", "kill -SEGV $$", "-t", "10", user="news")
    add("array", 'test "$SLURM_ARRAY_TASK_ID" != 5', "--array=1,3,5,7%2", "-t", "7", "--gres=gpu:1", user="games")
    jobs.ids["het"] = _het(jobs.cluster)
    jobs.ids["interactive"] = _interactive(jobs.cluster)


def _named(jobs: Workload) -> None:
    for kind, name in NAMES.items():
        _adder(jobs)(kind, "true", "-t", "5", b"--job-name=" + name, user="games")


def _interfere(jobs: Workload) -> None:
    cluster, ids = jobs.cluster, jobs.ids
    for kind in ("requeued", "cancelled during", "cancelled by root", "suspended", "node failure"):
        cluster.wait(ids[kind], "RUNNING", 60.0)
    cluster.ask("scontrol", "suspend", str(ids["suspended"]))
    cluster.fail_node("n4")
    time.sleep(2)  # so that each has run for a while
    cluster.ask("scontrol", "resume", str(ids["suspended"]))
    cluster.ask("scontrol", "requeue", str(ids["requeued"]))
    cluster.ask("scancel", str(ids["cancelled during"]), user="games")
    cluster.ask("scancel", str(ids["cancelled by root"]))
    # Trap: of a job that is cancelled before slurmdbd knows it, the moment of its end is stored as its start.
    known = f"select 1 from {cluster.name}_job_table where id_job = {ids['cancelled before']}"
    until("slurmdbd to know the job", lambda: cluster.sql(known), 60.0)
    cluster.ask("scancel", str(ids["cancelled before"]), user="news")
    cluster.ask("scancel", str(ids["array cancelled"]), user="games")
    cluster.wait(ids["node failure"], "NODE_FAIL")
    cluster.resume_node("n4")


def _adder(jobs: Workload) -> Callable[..., None]:
    def add(kind: str, script: str, *options: Word, user: str | None = None) -> None:
        jobs.ids[kind] = jobs.cluster.submit(script, *options, user=user)

    return add


def _het(cluster: Cluster) -> int:
    """A het job of two components, 1 and 2 GPUs."""
    script = cluster.work / "het.sh"
    script.write_text("#!/bin/sh\nsrun --het-group=0,1 sleep 1\n")
    script.chmod(0o755)
    first = ("sbatch", "--parsable", "-o", "/dev/null", "-t", "10", "--gres=gpu:1", "-N1")
    answer = cluster.ask(*first, ":", "-t", "10", "--gres=gpu:2", "-N1", script, user="games")
    return int(answer.partition(";")[0])


def _interactive(cluster: Cluster) -> int:
    """An srun without sbatch; it has ended when this returns."""
    return int(cluster.ask("srun", "-n1", "-t", "10", "sh", "-c", "echo $SLURM_JOB_ID", user="news"))
