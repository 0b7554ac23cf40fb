"""The records of a day: what sacct says of its jobs, and the site as Slurm describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.cluster.harness.ruled import Ruled
from tests.matrix.rows import ROOT
from tests.soft_real.history import CLUSTER, sacct
from tests.soft_real.workloads import Day, Habit, Past
from tests.tune_real.workloads import RECORDS, people

DATA: Final = ROOT / "tests/data/tune_real"
SITE: Final = "site.toml"
#: Those that `adminkit sync` asks for and that say something of a job which sleeps.
FIELDS: Final = (
    "Cluster", "JobID", "JobIDRaw", "JobName", "User", "UID", "Account", "Partition", "QOS", "Submit", "Eligible",
    "Start", "End", "ElapsedRaw", "State", "ExitCode", "Priority", "TimelimitRaw", "NNodes", "ReqNodes", "NCPUS",
    "ReqCPUS", "ReqMem", "AllocTRES", "ReqTRES", "NodeList",
)  # fmt: skip
#: From the beginning of a day to that of the next, in a trace: a day that is about a hundred times as fast.
APART: Final = 900
_DAY: Final = 86_400
_TIMES: Final = ("Submit", "Eligible", "Start", "End")
#: Ids of one day in a trace, where each cluster began with 1.
_IDS: Final = 100_000


def name(seed: int) -> str:
    """Of the file."""
    return f"{seed}.sacct.txt"


def told(ruled: Ruled) -> str:
    """What sacct says of all that ran, once slurmdbd knows it; times in epoch seconds."""
    ruled.cluster.settle()
    command = ("sacct", "-a", "-P", "-X", "-D", "-S", "now-2hours", "-o", ",".join(FIELDS))
    listed = ruled.cluster.run(*command, env={"SLURM_TIME_FORMAT": "%s"})
    assert listed.code == 0, listed.err
    return listed.text


def site(ruled: Ruled, to: Path) -> None:
    """The file of --site, as `adminkit site` writes it."""
    ruled.adminkit("site", "--output", to)


def history(now: int) -> str:
    """Every run before `now` as sacct would have printed it: those of the people, then the six days, each APART from
    the next, and the last of them a day ago.
    """
    first = begin(now)
    parts = [sacct(people().past, first)]
    for number, seed in enumerate(RECORDS):
        parts.append(moved((DATA / name(seed)).read_text(), first + APART * number, _IDS * (number + 1)))
    return "".join(parts)


def begin(now: int) -> int:
    """When the first of the six days begins."""
    return now - _DAY - APART * (len(RECORDS) - 1)


def ahead(one: Day, at: int) -> str:
    """A day before it ran, as if no job of it waited."""
    jobs = zip(one.workload.jobs, one.names, strict=True)
    alone = [
        Past(
            Habit(job.user, name, job.queues[0], job.gpus, job.nodes, job.sleep, 0.0, job.limit, False),
            -job.offset,
            job.sleep,
        )
        for job, name in jobs
    ]
    return sacct(alone, at, _IDS * (len(RECORDS) + 1))


def moved(text: str, at: int, ids: int) -> str:
    """A day's records with the first submission at `at`, and job ids that are so much higher."""
    lines = [line.split("|") for line in text.splitlines()]
    place = {field: number for number, field in enumerate(lines[0])}
    later = at - min(int(cells[place["Submit"]]) for cells in lines[1:])
    for cells in lines[1:]:
        cells[place["Cluster"]] = CLUSTER
        for field in ("JobID", "JobIDRaw"):
            cells[place[field]] = str(int(cells[place[field]]) + ids)
        for field in _TIMES:
            cells[place[field]] = str(int(cells[place[field]]) + later)
    return "".join("|".join(cells) + "\n" for cells in lines)
