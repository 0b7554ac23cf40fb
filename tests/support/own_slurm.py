"""A Slurm that answers one user: sacct with runs and steps, squeue with open jobs, scontrol with a name and a queue.

slurm = OwnSlurm(folder, monkeypatch)
slurm.jobs = [run(1, end=NOW - 60)]
slurm.steps = [step(1, "batch", mem="2G")]
slurm.queue = [queued(7, state="PD", Reason="Priority")]
slurm.down = ["sacct"]                     # these fail, as where slurmdbd or slurmctld is away
slurm.asked("sacct")                       # the words of each question, in order
"""

from __future__ import annotations

import ast
import marshal
import os
import pwd
import sys
from pathlib import Path
from typing import Any

import pytest

from adminkit.slurm.show_config import forget

_PROGRAM = r"""#!%(python)s -IS
import marshal, os, sys, time  # nothing more is imported, which would take twice as long

folder = %(folder)r
name, args = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(folder + "/state", "rb") as file:
    state = marshal.load(file)
with open(folder + "/asked.log", "a") as file:
    file.write(ascii([name, args]) + "\n")
os.environ["TZ"] = "UTC0"
time.tzset()
after = dict(zip(args, args[1:]))
seal = os.environ.get("SLURM_TIME_FORMAT", "").removeprefix("%%s")
if name == "sacct" and args == ["-V"]:
    print("slurm " + state["release"])
    sys.exit(0)
if name in state["down"]:
    print(f"{name}: error: " + state["says"], file=sys.stderr)
    sys.exit(1)


def clock(text):
    date, _, hours = text.partition("T")
    return int(time.mktime((*map(int, date.split("-")), *map(int, hours.split(":")), 0, 0, 0)))


def sealed(text, is_time):
    return str(text) + seal if is_time and str(text).isdigit() else str(text)


if name == "scontrol" and "config" in args:
    print("ClusterName             = alpha")
elif name == "scontrol":
    print("PartitionName=gq DefaultTime=01:00:00 MaxTime=3-00:00:00 TotalNodes=4 Default=YES")
elif name == "sacctmgr":
    print("\n".join(state["clusters"]))
elif name == "squeue":
    print("CLUSTER: alpha")
    out = []
    for job in state["queue"]:
        if after["-u"] != str(job["uid"]):
            continue
        for word in after["-O"].split(","):
            field, _, rest = word.partition(":")
            digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
            shown = sealed(job.get(field, "N/A"), field.endswith("Time") and field[:4] in ("Subm", "Star"))
            out.append((shown[: int(digits)].ljust(int(digits)) if int(digits) else shown) + rest[len(digits) :])
        out.append("\n")
    sys.stdout.write("".join(out))
elif name == "sacct" and args == ["--helpformat"]:
    print(" ".join(sorted({field for job in state["jobs"] for field in job} - set(state["lacks"]))))
elif name == "sacct":
    mark = next(word.partition("=")[2] for word in args if word.startswith("--delimiter="))
    if state["most_days"] is not None:
        if clock(after["-E"]) - clock(after["-S"]) > state["most_days"] * 86400:
            print("sacct: error: slurmdbd: Too wide of a date range in query", file=sys.stderr)
            sys.exit(1)
    fields = after["-o"].split(",")
    if strange := [one for one in fields if one.partition("%%")[0] in state["lacks"]]:
        print(f'sacct: fatal: Invalid field requested: "{strange[0]}"', file=sys.stderr)
        sys.exit(1)
    ids = after["-j"].split(",") if "-j" in after else None
    if ids is not None and state["steps_refused"]:
        print("sacct: error: slurmdbd: Getting response to message type: DBD_GET_JOBS_COND", file=sys.stderr)
        sys.exit(1)
    rows = []
    since = clock(after["-S"])
    for job in state["jobs"]:
        if job["End"] != "Unknown" and int(job["End"]) < since:
            continue
        steps = [] if "-X" in args else state["steps"]
        rows += [job] + [one for one in steps if one["JobID"].partition(".")[0] == job["JobID"]]
    for job in rows:
        if not state["ignores_user"] and "-u" in after and "UID" in job and after["-u"] != str(job["UID"]):
            continue
        if ids is not None and job["JobIDRaw"].partition(".")[0] not in ids:
            continue
        cells = [sealed(job.get(f.partition("%%")[0], ""), "%%" in f) for f in fields]
        sys.stdout.buffer.write(("".join(cell + mark for cell in cells) + "\n").encode("utf-8", "surrogateescape"))
"""
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
        "uid": os.geteuid(), "JobArrayID": number, "StateCompact": state, "Partition": "gq", "TimeLimit": "1:00:00",
        "TimeUsed": "10:00" if state == "R" else "0:00", "SubmitTime": 1_700_000_000, "StartTime": "N/A",
        "NumNodes": 1, "NumCPUs": 8, "Reason": "None", "Name": "train", **cells,
    }  # fmt: skip


class OwnSlurm:
    """sacct, squeue, scontrol and sacctmgr, alone on PATH; no trace, no settings, a cache folder of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        for name in ("sacct", "squeue", "scontrol", "sacctmgr"):
            program = folder / "bin" / name
            program.write_text(_PROGRAM % {"python": sys.executable, "folder": str(folder)})
            program.chmod(0o755)
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
        (self.folder / "state").write_bytes(marshal.dumps({word: getattr(self, word) for word in words}))
        (self.folder / "asked.log").write_text("")

    def asked(self, name: str) -> list[list[str]]:
        """The words of every question to that program, but for the one for its release."""
        said = [ast.literal_eval(line) for line in (self.folder / "asked.log").read_text().splitlines()]
        return [words for program, words in said if program == name and words != ["-V"]]
