"""Submit a workload to its cluster at its offsets, wait for its end and read what slurmctld knows of it."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from adminkit.slurm.cluster import parse_limit
from tests.cluster.harness.cluster import FINISHED
from tests.cluster.harness.processes import ClusterError
from tests.simulate_real.cluster import Shaped
from tests.simulate_real.runs import Row, Run
from tests.simulate_real.workloads import Job, Workload

#: Seconds after which a run hangs.
LIMIT: Final = 1200.0
_TIMES: Final = ("Submit", "Eligible", "Start", "End")
_SUBMITTED: Final = re.compile(r"\] _slurm_rpc_submit_batch_job: JobId=(\d+) (?:SLUID=\S+ )?InitPrio=(\d+)")
_ALLOCATED: Final = re.compile(r"\] sched: Allocate JobId=(\d+) ")
_LIMITS: Final = re.compile(r"^JobId=(\d+) .*? TimeLimit=(\S+) TimeMin=(\S+) ", re.MULTILINE)
#: What sdiag says of the two loops, and the words for it in a run's head.
_SDIAG: Final = (
    ("main mean µs", r"Main schedule statistics.*?Mean cycle:\s+(\d+)"),
    ("main max µs", r"Main schedule statistics.*?Max cycle:\s+(\d+)"),
    ("main cycles", r"Main schedule statistics.*?Total cycles:\s+(\d+)"),
    ("backfill mean µs", r"Backfilling stats.*?Mean cycle:\s+(\d+)"),
    ("backfill max µs", r"Backfilling stats.*?Max cycle:\s+(\d+)"),
    ("backfill cycles", r"Backfilling stats.*?Total cycles:\s+(\d+)"),
    ("backfill tests", r"Backfilling stats.*?Depth Mean:\s+(\d+)"),
    ("backfilled", r"Backfilling stats.*?Total backfilled jobs \(since last slurm start\):\s+(\d+)"),
)


def words(job: Job) -> list[str]:
    """sbatch's options for a job."""
    found = ["-J", str(job.number), "-p", ",".join(job.queues), "-t", str(job.limit // 60), f"--uid={job.user}"]
    found += [
        "-N",
        str(job.nodes),
        "--ntasks-per-node=1",
        "-c",
        str(job.cpus),
        f"--mem={job.mem}",
        f"--nice={job.nice}",
    ]
    if job.gpus:
        found.append(f"--gres=gpu{job.gpu_type and ':'}{job.gpu_type}:{job.gpus}")
    if job.whole:
        found.append("--exclusive")
    if job.soft is not None:
        found.append(f"--time-min={job.soft // 60}")
    return found


def drive(cluster: Shaped, workload: Workload, head: Mapping[str, str]) -> Run:
    """One run; `head` is what the caller knows of it. ClusterError when it does not end."""
    began = next_second()
    ids, late = submit_all(cluster, workload.jobs, began, words)
    until_ended(cluster)
    rows = rows_of(cluster.ask("scontrol", "-o", "show", "jobs"), ids, int(began), Log(cluster))
    more = {"latest submission": f"{late:.1f} s behind", **counts(cluster.ask("sdiag"))}
    return Run({**head, **more}, tuple(rows))


def submit_all(
    cluster: Shaped, jobs: Iterable[Job], began: float, said: Callable[[Job], list[str]]
) -> tuple[dict[int, Job], float]:
    """Each job at its offset with what is `said` to sbatch: the jobs by Slurm's ids, and how late the latest was."""
    ids: dict[int, Job] = {}
    late = 0.0
    for job in jobs:
        pause = began + job.offset - time.time()
        if pause > 0:
            time.sleep(pause)
        late = max(late, -pause)
        ids[cluster.submit(f"exec sleep {job.sleep}", *said(job))] = job
    return ids, late


def next_second() -> float:
    """Wait for one of the clock's."""
    now = time.time()
    whole = float(int(now) + 2)
    time.sleep(whole - now)
    return whole


def until_ended(cluster: Shaped) -> None:
    """Ask seldom: each answer takes slurmctld's time."""
    end = time.monotonic() + LIMIT
    while cluster.ask("squeue", "-h", "-t", "PD,R,CG", "-o", "%i"):
        if time.monotonic() > end:
            raise ClusterError(f"the workload did not end within {LIMIT:g} s\n{cluster.tail('slurmctld.log')}")
        time.sleep(2)


def rows_of(told: str, ids: Mapping[int, Job], began: int, log: Log) -> list[Row]:
    """Those of `scontrol show jobs` in `ids`. ClusterError where one is missing, never ran or was restarted."""
    found: dict[int, Row] = {}
    for line in told.splitlines():
        one = dict(word.partition("=")[::2] for word in line.split())
        job = int(one["JobId"])
        if job not in ids:
            continue
        if one["JobState"] not in FINISHED or one.get("Restarts", "0") != "0" or one["StartTime"] == "Unknown":
            raise ClusterError(f"job {job} ({one['JobName']}): {one['JobState']}, Reason={one.get('Reason')}")
        submit, eligible, start, end = (_epoch(one[f"{word}Time"]) - began for word in _TIMES)
        number = ids[job].number
        found[number] = Row(
            number,
            submit,
            eligible,
            start,
            end,
            one["JobState"],
            log.priority[job],
            log.by(job),
            one["NodeList"],
        )
    if missing := {job.number for job in ids.values()} - set(found):
        raise ClusterError(f"slurmctld no longer knows {sorted(missing)[:5]}")
    return [found[number] for number in sorted(found)]


def limits_of(told: str) -> dict[int, tuple[int | None, int | None]]:
    """The limit and the soft limit of each job of `scontrol show jobs`, seconds.

    Trap: both stand behind Reason, at which keyvalue.records() ends.
    """
    return {int(job): (parse_limit(limit), parse_limit(soft)) for job, limit, soft in _LIMITS.findall(told)}


def _epoch(word: str) -> int:
    return calendar.timegm(time.strptime(word, "%Y-%m-%dT%H:%M:%S"))


class Log:
    """What slurmctld's log says of each job: its first priority, and which loop started it."""

    def __init__(self, cluster: Shaped) -> None:
        text = (cluster.home / "log/slurmctld.log").read_text(errors="replace")
        self.priority = {int(job): int(priority) for job, priority in _SUBMITTED.findall(text)}
        self._main = frozenset(map(int, _ALLOCATED.findall(text)))

    def by(self, job: int) -> str:
        """Trap: 26.05 has no line for a job that the backfill loop starts."""
        return "main" if job in self._main else "backfill"


def counts(sdiag: str) -> dict[str, str]:
    found = {name: re.search(pattern, sdiag, re.DOTALL) for name, pattern in _SDIAG}
    return {name: match[1] for name, match in found.items() if match}
