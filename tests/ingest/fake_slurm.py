"""A Slurm of five programs that answer as a test says: for failures and moments that a real one cannot be brought to.

slurm = FakeSlurm(folder, monkeypatch)
slurm.jobs = [job(1, end=1700000000)]      # what slurmdbd knows
slurm.rules = [{"program": "sacct", "wider": 3600, "exit": 1, "says": "sacct: error: slow"}]
slurm.asked()                              # the windows sacct was asked for
slurm.marks()                              # what each question for jobs was told by
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.answered import Answer, Question, answered, seal_of, seconds

SHORT = {
    "COMPLETED": "CD", "TIMEOUT": "TO", "FAILED": "F", "RUNNING": "R", "PENDING": "PD", "REVOKED": "RV",
    "REQUEUED": "RQ", "CANCELLED": "CA",
}  # fmt: skip
#: Tests set the clock of this process.
_sleep, _time = time.sleep, time.time


def job(number: int, end: int | None = None, state: str = "COMPLETED", **cells: str) -> dict[str, str]:
    """One run as sacct's cells; without an end it is RUNNING."""
    start = (end or 1_700_000_000) - 600
    return {
        "JobID": str(number), "JobIDRaw": str(number), "Cluster": "alpha", "DBIndex": str(number), "User": "user1",
        "Partition": "gq", "State": state if end else "RUNNING", "Submit": str(start - 5), "Eligible": str(start - 5),
        "Start": str(start), "End": str(end) if end else "Unknown", "ElapsedRaw": "600", "TimelimitRaw": "120",
        "DerivedExitCode": "0:0",
        "AllocTRES": "cpu=4,mem=4G,node=1,gres/gpu=1", "JobName": "train", **cells,
    }  # fmt: skip


@dataclass
class Site:
    """What slurmdbd and slurmctld know, and what they were asked."""

    jobs: list[dict[str, str]]
    rules: list[dict[str, Any]]
    comments: list[tuple[int, int, str]]
    nodes: str
    events: list[tuple[str, int, int | None, str, str, str]]
    backlog: int
    clock: int | None
    purge: str | None
    clusters: list[str]
    booted: int
    fields: list[str]
    asked: list[tuple[str, int | None, int | None, str, str, bool]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    events_since: list[int] = field(default_factory=list)

    def answer(self, asked: Question) -> Answer:
        name, args = asked.name, asked.args
        after = dict(pairwise(args))
        since, until = (seconds(after[flag]) if flag in after else None for flag in ("-S", "-E"))
        self.asked.append((name, since, until, after.get("-s", ""), after.get("-j", ""), "-X" in args))
        err = ""
        for rule in self.rules:
            # The last second is asked for too, but for runs that are named.
            span = None if since is None or until is None else until + ("-j" not in after) - since
            narrow = "wider" in rule and (span is None or span <= rule["wider"])
            another = rule["program"] != name or rule.get("has", name) not in (name, *args)
            if another or narrow or (since is None and name == "sacct"):
                continue
            _sleep(rule.get("sleep", 0))
            err += f"{rule['says']}\n" if "says" in rule else ""
            if "exit" in rule:
                return Answer(err=err, code=rule["exit"])
        return Answer("".join(f"{line}\n" for line in self.lines(asked, after)), err)

    def lines(self, asked: Question, after: Mapping[str, str]) -> Iterator[str]:
        """What a program says; `after`: what is behind each of its arguments."""
        match asked.name:
            case "squeue":
                yield "CLUSTER: alpha"
                mark, seal = after["-O"].partition(",")[0].removeprefix("JobID:0"), seal_of(asked)
                for number, submit, text in self.comments:
                    yield f"{number}{mark}{submit}{seal}{mark}{text}{mark}"
            case "sdiag":
                if self.clock is not None:
                    yield f"sdiag output at Thu Jan  1 00:00:00 1970 ({self.clock})"
                yield f"DBD Agent queue size: {self.backlog}"
            case "scontrol" if "config" in asked.args:
                yield from ("ClusterName             = alpha", "SchedulerParameters     = bf_window=2880")
                yield "SLURM_VERSION = 24.11.5"
            case "scontrol" if "node" in asked.args:
                yield self.nodes
            case "scontrol":
                yield "PartitionName=gq DefaultTime=01:00:00 MaxTime=3-00:00:00 TotalNodes=4 Default=YES"
            case "sacctmgr" if "configuration" in asked.args:
                yield "SlurmDBD configuration:"
                yield "BOOT_TIME = " + time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.booted))
                yield "PurgeJobAfter = " + self.purge if self.purge is not None else ""
            case "sacctmgr" if "event" in asked.args:
                yield from self.node_events(asked)
            case "sacctmgr" if "user" not in asked.args:
                yield "\n".join(self.clusters)
            case "sacct" if "--helpformat" in asked.args:
                yield " ".join(self.fields)
            case "sacct":
                yield from self.runs(asked, after)

    def node_events(self, asked: Question) -> Iterator[str]:
        seal = seal_of(asked)
        begin = seconds(next(word.partition("=")[2] for word in asked.args if word.startswith("start=")))
        self.events_since.append(begin)
        for node, start, end, what, who, why in self.events:
            if end is None or end > begin:
                yield f"alpha|{node}|{start}{seal}|{'Unknown' if end is None else f'{end}{seal}'}|{what}|{who}|{why}"

    def runs(self, asked: Question, after: Mapping[str, str]) -> Iterator[str]:
        mark = next(word.partition("=")[2] for word in asked.args if word.startswith("--delimiter="))
        since, until, seal = seconds(after["-S"]), seconds(after["-E"]), seal_of(asked)
        columns, states, ids = after["-o"].split(","), after.get("-s", "").split(","), after.get("-j", "").split(",")
        words = {"delimiter": mark, "seal": seal, "words": asked.args, "fields": after["-o"]}
        self.marks.append({**words, "states": after.get("-s", ""), "until": until, "at": _time()})

        def cell(job: Mapping[str, str], column: str) -> str:
            name, _, width = column.partition("%")
            text = job.get(name, "")
            return text + seal if width and text.isdigit() and text != job.get("unsealed") else text

        for one in self.jobs:
            forged = "forged" in one and "CD" in states
            if not forged and ("forged" in one or ("." in one["JobID"] and "-X" in asked.args)):
                continue
            if one["Cluster"] != after["-M"] and not forged:
                continue
            end, known = one["End"], SHORT[one["State"]] in states
            over, going = known and end != "Unknown" and since <= int(end) <= until, known and end == "Unknown"
            named = not after.get("-j") or one["JobIDRaw"] in ids
            if forged or (named and (over or going or not after.get("-s"))):
                yield "".join(cell(one, column) + mark for column in columns)


class FakeSlurm:
    """sacct, sacctmgr, scontrol, sdiag and squeue, alone on PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        answered(folder / "bin", ("sacct", "sacctmgr", "scontrol", "sdiag", "squeue"), self._answer)
        monkeypatch.setenv("PATH", str(folder / "bin"))
        self.jobs: list[dict[str, str]] = []
        self.rules: list[dict[str, Any]] = []
        self.comments: list[tuple[int, int, str]] = []  # of open jobs: (JobIDRaw, Submit, AdminComment)
        self.nodes = "NodeName=n1 CPUTot=40 RealMemory=1000 Gres=gpu:a100:4 AvailableFeatures=ib Partitions=gq"
        self.events: list[tuple[str, int, int | None, str, str, str]] = []  # node, start, end, state, user, reason
        self.backlog = 0
        self.clock: int | None = None  # slurmctld's; None: it does not say
        self.purge: str | None = "NONE"  # None: it does not say
        self.clusters = ["alpha"]
        self.booted = 1_600_000_000
        self.fields = [*job(1)]
        self._state: Site | None = None

    def write(self) -> None:
        """What it answers from now on; the questions so far are forgotten."""
        names = ("jobs", "rules", "comments", "nodes", "events", "backlog", "clock", "purge", "clusters", "booted",
                 "fields")  # fmt: skip
        self._state = Site(**deepcopy({name: getattr(self, name) for name in names}))

    def asked(self, steps: bool = False) -> list[tuple[int, int, str]]:
        """(since, until, job ids) of every question for rows that ended in [since, until), or were named, in order."""
        found = []
        for name, since, until, states, ids, jobs_only in self._written.asked:
            if name != "sacct" or since is None or until is None or jobs_only is steps:
                continue
            if ids or states.startswith("CD"):
                found.append((since, until + (not ids), ids))
        return found

    def marks(self) -> list[dict[str, Any]]:
        """What every question for jobs was told by, in order: delimiter, seal, words, fields, states, until, at."""
        return self._written.marks

    def events_since(self) -> list[int]:
        """From when on events of nodes were asked for, in order."""
        return self._written.events_since

    @property
    def _written(self) -> Site:
        assert self._state is not None, "write() was not called"
        return self._state

    def _answer(self, asked: Question) -> Answer:
        return self._written.answer(asked)
