"""A Slurm of five programs that answer from a file: for failures and moments that a real one cannot be brought to.

slurm = FakeSlurm(folder, monkeypatch)
slurm.jobs = [job(1, end=1700000000)]      # what slurmdbd knows
slurm.rules = [{"program": "sacct", "wider": 3600, "exit": 1, "says": "sacct: error: slow"}]
slurm.asked()                              # the windows sacct was asked for
slurm.marks()                              # what each question for jobs was told by
"""

from __future__ import annotations

import ast
import marshal
import sys
from pathlib import Path
from typing import Any

import pytest

_PROGRAM = r"""#!%(python)s -IS
import marshal, os, sys, time  # started some thousand times: nothing more is imported, which would take twice as long

folder = %(folder)r
name, args = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(folder + "/state", "rb") as file:
    state = marshal.load(file)
after = dict(zip(args, args[1:]))


def clock(text):
    date, _, hours = text.partition("T")  # of UTC, whatever the environment says
    return int(time.mktime((*map(int, date.split("-")), *map(int, hours.split(":")), 0, 0, 0)))


def write(log, what):
    with open(folder + "/" + log, "a") as file:
        file.write(repr(what) + "\n")


os.environ["TZ"] = "UTC0"
time.tzset()
since, until = (clock(after[flag]) if flag in after else None for flag in ("-S", "-E"))
write("asked.log", [name, since, until, after.get("-s", ""), after.get("-j", ""), "-X" in args])
for rule in state["rules"]:
    # The last second is asked for too, but for runs that are named.
    narrow = "wider" in rule and (since is None or until + ("-j" not in after) - since <= rule["wider"])
    another = rule["program"] != name or rule.get("has", name) not in (name, *args)
    if another or narrow or (since is None and name == "sacct"):
        continue
    time.sleep(rule.get("sleep", 0))
    if "says" in rule:
        print(rule["says"], file=sys.stderr)
    if "exit" in rule:
        sys.exit(rule["exit"])
if name == "squeue":
    print("CLUSTER: alpha")
    mark = after["-O"].partition(",")[0].removeprefix("JobID:0")
    seal = os.environ["SLURM_TIME_FORMAT"].removeprefix("%%s")
    for job, submit, said in state["comments"]:
        print(f"{job}{mark}{submit}{seal}{mark}{said}{mark}")
elif name == "sdiag":
    if state["clock"] is not None:
        print("sdiag output at Thu Jan  1 00:00:00 1970 (%%d)" %% state["clock"])
    print("DBD Agent queue size: %%d" %% state["backlog"])
elif name == "scontrol" and "config" in args:
    print("ClusterName             = alpha\nSchedulerParameters     = bf_window=2880\nSLURM_VERSION = 24.11.5")
elif name == "scontrol" and "node" in args:
    print(state["nodes"])
elif name == "scontrol":
    print("PartitionName=gq DefaultTime=01:00:00 MaxTime=3-00:00:00 TotalNodes=4 Default=YES")
elif name == "sacctmgr" and "configuration" in args:
    booted = time.strftime("%%Y-%%m-%%dT%%H:%%M:%%S", time.gmtime(state["booted"]))
    print("SlurmDBD configuration:\nBOOT_TIME = " + booted)
    print("PurgeJobAfter = " + state["purge"] if state["purge"] is not None else "")
elif name == "sacctmgr" and "user" in args:
    pass
elif name == "sacctmgr" and "event" in args:
    seal = os.environ["SLURM_TIME_FORMAT"].removeprefix("%%s")
    after = clock(next(word.partition("=")[2] for word in args if word.startswith("start=")))
    write("events.log", after)
    for node, start, end, what, who, why in state["events"]:
        if end is None or end > after:
            print(f"alpha|{node}|{start}{seal}|{'Unknown' if end is None else f'{end}{seal}'}|{what}|{who}|{why}")
elif name == "sacctmgr":
    print("\n".join(state["clusters"]))
elif name == "sacct" and "--helpformat" in args:
    print(" ".join(state["fields"]))
elif name == "sacct":
    short = {"COMPLETED": "CD", "TIMEOUT": "TO", "FAILED": "F", "RUNNING": "R", "PENDING": "PD", "REVOKED": "RV"}
    short |= {"REQUEUED": "RQ", "CANCELLED": "CA"}
    mark = next(word.partition("=")[2] for word in args if word.startswith("--delimiter="))
    seal = os.environ["SLURM_TIME_FORMAT"].removeprefix("%%s")
    words = {"delimiter": mark, "seal": seal, "words": args, "fields": after["-o"], "states": after.get("-s", "")}
    write("marks.log", {**words, "until": until, "at": time.time()})

    def cell(job, field):
        name, _, width = field.partition("%%")
        text = job.get(name, "")
        return text + seal if width and text.isdigit() and text != job.get("unsealed") else text

    states, ids = after.get("-s", "").split(","), after.get("-j", "").split(",")
    for job in state["jobs"]:
        forged = "forged" in job and "CD" in states
        if "forged" in job and not forged or "." in job["JobID"] and "-X" in args and not forged:
            continue
        if job["Cluster"] != after["-M"] and not forged:
            continue
        end, known = job["End"], short[job["State"]]
        over = end != "Unknown" and known in states and since <= int(end) <= until
        going = end == "Unknown" and known in states
        named = not after.get("-j") or job["JobIDRaw"] in ids
        if forged or named and (over or going or not after.get("-s")):
            print("".join(cell(job, field) + mark for field in after["-o"].split(",")))
"""


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


class FakeSlurm:
    """sacct, sacctmgr, scontrol, sdiag and squeue, alone on PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        for name in ("sacct", "sacctmgr", "scontrol", "sdiag", "squeue"):
            program = folder / "bin" / name
            program.write_text(_PROGRAM % {"python": sys.executable, "folder": str(folder)})
            program.chmod(0o755)
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

    def write(self) -> None:
        """What it answers from now on."""
        state = {
            "jobs": self.jobs,
            "comments": self.comments,
            "rules": self.rules,
            "nodes": self.nodes,
            "events": self.events,
            "backlog": self.backlog,
            "clock": self.clock,
            "purge": self.purge,
            "clusters": self.clusters,
            "booted": self.booted,
            "fields": self.fields,
        }
        (self.folder / "state").write_bytes(marshal.dumps(state))
        for name in ("asked.log", "marks.log", "events.log"):
            (self.folder / name).write_text("")

    def asked(self, steps: bool = False) -> list[tuple[int, int, str]]:
        """(since, until, job ids) of every question for rows that ended in [since, until), or were named, in order."""
        found = []
        for name, since, until, states, ids, jobs_only in self._logged("asked.log"):
            if name == "sacct" and since is not None and jobs_only is not steps and (ids or states.startswith("CD")):
                found.append((since, until + (not ids), ids))
        return found

    def marks(self) -> list[dict[str, Any]]:
        """What every question for jobs was told by, in order: delimiter, seal, words, fields, states, until, at."""
        return self._logged("marks.log")

    def events_since(self) -> list[int]:
        """From when on events of nodes were asked for, in order."""
        return self._logged("events.log")

    def _logged(self, name: str) -> list[Any]:
        return [ast.literal_eval(line) for line in (self.folder / name).read_text().splitlines()]
