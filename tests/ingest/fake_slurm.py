"""A Slurm of five programs that answer from a JSON file: for failures and moments that a real one cannot be brought to.

slurm = FakeSlurm(folder, monkeypatch)
slurm.jobs = [job(1, end=1700000000)]      # what slurmdbd knows
slurm.rules = [{"program": "sacct", "wider": 3600, "exit": 1, "says": "sacct: error: slow"}]
slurm.asked()                              # the windows sacct was asked for
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

_PROGRAM = r"""#!%(python)s -IS
import calendar, json, sys, time
from pathlib import Path

folder = Path(%(folder)r)
name, args = Path(sys.argv[0]).name, sys.argv[1:]
state = json.loads((folder / "state.json").read_text())
after = dict(zip(args, args[1:]))


def clock(text):
    return calendar.timegm(time.strptime(text, "%%Y-%%m-%%dT%%H:%%M:%%S"))


since, until = (clock(after[flag]) if flag in after else None for flag in ("-S", "-E"))
with (folder / "asked.log").open("a") as log:
    log.write(json.dumps([name, since, until, after.get("-s", ""), after.get("-j", ""), "-X" in args]) + "\n")
for rule in state["rules"]:
    narrow = "wider" in rule and (since is None or until - since <= rule["wider"])
    if rule["program"] != name or narrow or (since is None and name == "sacct"):
        continue
    time.sleep(rule.get("sleep", 0))
    if "says" in rule:
        print(rule["says"], file=sys.stderr)
    if "exit" in rule:
        sys.exit(rule["exit"])
if name == "squeue":
    print("CLUSTER: alpha")
    for job, submit, said in state["comments"]:
        print(f"{job:<20}\x1f{submit:<20}\x1f{said:<1100}\x1f")
elif name == "sdiag":
    print("DBD Agent queue size: %%d" %% state["backlog"])
elif name == "scontrol" and "config" in args:
    print("ClusterName             = alpha")
elif name == "scontrol":
    print("PartitionName=gq DefaultTime=01:00:00 MaxTime=3-00:00:00 TotalNodes=4 Default=YES")
elif name == "sacctmgr" and "configuration" in args:
    booted = time.strftime("%%Y-%%m-%%dT%%H:%%M:%%S", time.gmtime(state["booted"]))
    print("SlurmDBD configuration:\nBOOT_TIME = " + booted + "\nPurgeJobAfter = " + state["purge"])
elif name == "sacctmgr" and "user" in args:
    pass
elif name == "sacctmgr":
    print("\n".join(state["clusters"]))
elif name == "sacct" and "--helpformat" in args:
    print(" ".join(state["fields"]))
elif name == "sacct":
    short = {"COMPLETED": "CD", "TIMEOUT": "TO", "FAILED": "F", "RUNNING": "R", "PENDING": "PD", "REVOKED": "RV"}
    short |= {"REQUEUED": "RQ", "CANCELLED": "CA"}
    states, ids = after.get("-s", "").split(","), after.get("-j", "").split(",")
    for job in state["jobs"]:
        if "." in job["JobID"] and "-X" in args:
            continue
        if job["Cluster"] != after["-M"]:
            continue
        end, known = job["End"], short[job["State"]]
        over = end != "Unknown" and known in states and since <= int(end) <= until
        going = end == "Unknown" and known in states
        named = not after.get("-j") or job["JobIDRaw"] in ids
        if named and (over or going or not after.get("-s")):
            print("".join(job.get(field, "") + "\x1f" for field in after["-o"].split(",")))
"""


def job(number: int, end: int | None = None, state: str = "COMPLETED", **cells: str) -> dict[str, str]:
    """One run as sacct's cells; without an end it is RUNNING."""
    start = (end or 1_700_000_000) - 600
    return {
        "JobID": str(number), "JobIDRaw": str(number), "Cluster": "alpha", "DBIndex": str(number), "User": "user1",
        "Partition": "gq", "State": state if end else "RUNNING", "Submit": str(start - 5), "Eligible": str(start - 5),
        "Start": str(start), "End": str(end) if end else "Unknown", "ElapsedRaw": "600", "TimelimitRaw": "120",
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
        self.backlog = 0
        self.purge = "NONE"
        self.clusters = ["alpha"]
        self.booted = 1_600_000_000
        self.fields = [*job(1)]

    def write(self) -> None:
        """What it answers from now on."""
        state = {
            "jobs": self.jobs,
            "comments": self.comments,
            "rules": self.rules,
            "backlog": self.backlog,
            "purge": self.purge,
            "clusters": self.clusters,
            "booted": self.booted,
            "fields": self.fields,
        }
        (self.folder / "state.json").write_text(json.dumps(state))
        (self.folder / "asked.log").write_text("")

    def asked(self, steps: bool = False) -> list[tuple[int, int, str]]:
        """(since, until, job ids) of every question for rows that have ended, or that were named, in order."""
        found = []
        for line in (self.folder / "asked.log").read_text().splitlines():
            name, since, until, states, ids, jobs_only = json.loads(line)
            if name == "sacct" and since is not None and jobs_only is not steps and (ids or states.startswith("CD")):
                found.append((since, until, ids))
        return found
