"""A Slurm that answers one user: sacct with runs and steps, squeue with open jobs, scontrol with a name and a queue.

slurm = OwnSlurm(folder, monkeypatch)
slurm.jobs = [run(1, end=NOW - 60)]
slurm.steps = [step(1, "batch", mem="2G")]
slurm.queue = [queued(7, state="PD", Reason="Priority")]
slurm.down = ["sacct"]                     # these fail, as where slurmdbd or slurmctld is away
slurm.asked("sacct")                       # the words of each question, in order
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from adminkit.slurm.show_config import forget
from tests.support.answered import Answer, Question, answered, seal_of, seconds

HOUR = 3600
ME = pwd.getpwuid(os.geteuid()).pw_name


def run(number: int, end: int, elapsed: int = HOUR, limit: int = 4 * HOUR, **cells: Any) -> dict[str, Any]:
    """A run of this process's user, as sacct's cells: one CPU of eight busy, 8 GiB, a GPU."""
    start = end - elapsed
    return {
        "JobID": str(number), "JobIDRaw": str(number), "Cluster": "alpha", "User": ME, "UID": os.geteuid(),
        "Partition": "gq", "State": "COMPLETED", "Submit": start - 30, "Eligible": start - 30, "Start": start,
        "End": end, "ElapsedRaw": elapsed, "TimelimitRaw": limit // 60, "DerivedExitCode": "0:0",
        "AllocTRES": "cpu=8,mem=8G,node=1,gres/gpu=1", "JobName": "train", **cells,
    }  # fmt: skip


def step(number: int, name: str, **cells: Any) -> dict[str, Any]:
    """A step that ran for an hour; TRESUsageInTot, TotalCPU and the like are for the caller."""
    start = cells.get("Start", 1_700_000_000)
    return {
        "JobID": f"{number}.{name}", "JobIDRaw": f"{number}.{name}", "Cluster": "alpha", "NTasks": 1, "Submit": start,
        "Start": start, "End": start + HOUR, "ElapsedRaw": HOUR, "State": "COMPLETED", "JobName": name, **cells,
    }  # fmt: skip


def queued(number: int, state: str = "R", **cells: Any) -> dict[str, Any]:
    """An open job, as squeue's fields."""
    return {
        "uid": os.geteuid(), "UserID": os.geteuid(), "JobArrayID": number, "StateCompact": state, "Partition": "gq",
        "TimeLimit": "1:00:00", "TimeUsed": "10:00" if state == "R" else "0:00", "SubmitTime": 1_700_000_000,
        "StartTime": "N/A", "NumNodes": 1, "NumCPUs": 8, "Reason": "None", "Name": "train", "JobID": number,
        "State": {"R": "RUNNING"}.get(state, "PENDING"), **cells,
    }  # fmt: skip


@dataclass
class Site:
    """What slurmdbd and slurmctld know of one user, and what they were asked."""

    jobs: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    queue: list[dict[str, Any]]
    down: list[str]
    says: str
    release: str
    most_days: int | None
    lacks: list[str]
    ignores_user: bool
    clusters: list[str]
    steps_refused: bool
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def answer(self, asked: Question) -> Answer:
        name, args = asked.name, asked.args
        self.asked.append((name, args))
        if name == "sacct" and args == ["-V"]:
            return Answer(f"slurm {self.release}\n")
        if name in self.down:
            return Answer(err=f"{name}: error: {self.says}\n", code=1)
        after = dict(pairwise(args))
        match name:
            case "scontrol" if "config" in args:
                return Answer("ClusterName             = alpha\n")
            case "scontrol":
                return Answer("PartitionName=gq DefaultTime=01:00:00 MaxTime=3-00:00:00 TotalNodes=4 Default=YES\n")
            case "sacctmgr":
                return Answer("\n".join(self.clusters) + "\n")
            case "squeue" if not ("-j" not in after or any(self.open_jobs(after, ""))):
                return Answer(err="slurm_load_jobs error: Invalid job id specified\n", code=1)
            case "squeue":
                return Answer("CLUSTER: alpha\n" + "".join(self.open_jobs(after, seal_of(asked))))
            case _ if args == ["--helpformat"]:
                return Answer(" ".join(sorted({name for job in self.jobs for name in job} - set(self.lacks))) + "\n")
        if refused := self.refusal(after):
            return Answer(err=f"{refused}\n", code=1)
        return Answer("".join(self.runs(asked, after)))

    def open_jobs(self, after: Mapping[str, str], seal: str) -> Iterator[str]:
        for job in self.queue:
            if "-u" in after and after["-u"] != str(job["uid"]):
                continue
            if "-j" in after and after["-j"] != str(job["JobArrayID"]).partition("_")[0]:
                continue
            for word in after["-O"].split(","):
                name, _, rest = word.partition(":")
                digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
                is_time = name.endswith("Time") and name[:4] in ("Subm", "Star")
                shown = sealed(job.get(name, "N/A"), seal if is_time else "")
                yield (shown[: int(digits)].ljust(int(digits)) if int(digits) else shown) + rest[len(digits) :]
            yield "\n"

    def refusal(self, after: Mapping[str, str]) -> str:
        """Why sacct refuses this question; empty where it answers."""
        most = self.most_days
        if most is not None and seconds(after["-E"]) - seconds(after["-S"]) > most * 86_400:
            return "sacct: error: slurmdbd: Too wide of a date range in query"
        if strange := [one for one in after["-o"].split(",") if one.partition("%")[0] in self.lacks]:
            return f'sacct: fatal: Invalid field requested: "{strange[0]}"'
        if "-j" in after and self.steps_refused:
            return "sacct: error: slurmdbd: Getting response to message type: DBD_GET_JOBS_COND"
        return ""

    def runs(self, asked: Question, after: Mapping[str, str]) -> Iterator[str]:
        mark = next(word.partition("=")[2] for word in asked.args if word.startswith("--delimiter="))
        since, seal, ids = seconds(after["-S"]), seal_of(asked), after["-j"].split(",") if "-j" in after else None
        for job in self.jobs:
            if job["End"] != "Unknown" and int(job["End"]) < since:
                continue
            steps = [] if "-X" in asked.args else self.steps
            for row in (job, *(one for one in steps if one["JobID"].partition(".")[0] == job["JobID"])):
                if not self.ignores_user and "-u" in after and "UID" in row and after["-u"] != str(row["UID"]):
                    continue
                if ids is not None and row["JobIDRaw"].partition(".")[0] not in ids:
                    continue
                cells = (column.partition("%") for column in after["-o"].split(","))
                yield "".join(sealed(row.get(name, ""), seal if width else "") + mark for name, width, _ in cells)
                yield "\n"


def sealed(text: object, seal: str) -> str:
    return str(text) + seal if str(text).isdigit() else str(text)


class OwnSlurm:
    """sacct, squeue, scontrol and sacctmgr, alone on PATH; no trace, no settings, a cache folder of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        answered(folder / "bin", ("sacct", "squeue", "scontrol", "sacctmgr"), lambda asked: self._state.answer(asked))
        monkeypatch.setenv("PATH", str(folder / "bin"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
        for name in ("ADMINKIT_DB", "ADMINKIT_CONFIG", "COLUMNS"):
            monkeypatch.delenv(name, raising=False)
        forget()
        self.jobs: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.queue: list[dict[str, Any]] = []
        self.down: list[str] = []
        self.says = "Unable to contact slurmdbd: Connection refused"
        self.release = "24.11.5"
        self.most_days: int | None = None  # MaxQueryTimeRange
        self.lacks: list[str] = []  # fields that this sacct no longer has
        self.ignores_user = False
        self.clusters = ["alpha"]
        self.steps_refused = False
        self.write()

    @property
    def copy(self) -> Path:
        """Where the copy of one's jobs is kept."""
        return self.folder / "cache" / "adminkit" / "jobs.db"

    def write(self) -> None:
        """What it answers from now on; the questions so far are forgotten."""
        words = ("jobs", "steps", "queue", "down", "says", "release", "most_days", "lacks", "ignores_user",
                 "clusters", "steps_refused")  # fmt: skip
        self._state = Site(**deepcopy({word: getattr(self, word) for word in words}))

    def asked(self, name: str) -> list[list[str]]:
        """The words of every question to that program, but for the one for its release."""
        return [words for program, words in self._state.asked if program == name and words != ["-V"]]
