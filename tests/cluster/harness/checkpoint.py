"""A cluster that loads the checkpoint plugin, jobs that note when they hear its signal, and what became of them."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.harness.cluster import Cluster, Word
from tests.cluster.harness.config import CGROUPS
from tests.cluster.harness.machine import PREFIX, has_cgroup_v2
from tests.cluster.harness.processes import until

ROOT = Path(__file__).resolve().parents[3]

#: What a job runs: installs its handler, then waits. Appends "start T PID" and "heard T PID" (T in epoch seconds) to
#: the file it is given, and leaves with a code of its choice. Every word but the first is an option.
TRAINER = r"""#!/usr/bin/python3 -S
import os, signal, sys, time

place, options = sys.argv[1], dict(word.split("=") for word in sys.argv[2:])

def write(word):
    with open(place, "a") as file:
        file.write("%s %.2f %d\n" % (word, time.time(), os.getpid()))

def heard(number, frame):
    write("heard")
    if "code" in options:
        time.sleep(float(options.get("takes", 0)))
        os._exit(int(options["code"]))

if "apart" in options:  # a daemon: its parents have ended, and it has a session of its own
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
if "runs" in options:  # done in the run of that number
    started = open(place).read().count("start") if os.path.exists(place) else 0
    if started + 1 >= int(options["runs"]):
        write("start")
        sys.exit(0)
name = options.get("signal", "TERM")
number = getattr(signal, "SIG" + name)
if options.get("how") == "sigwait":
    signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    write("start")
    signal.sigwait({number})
    heard(number, None)
elif options.get("how") != "deaf":
    signal.signal(number, heard)
if "also" in options:
    signal.signal(getattr(signal, "SIG" + options["also"]), lambda number, frame: write("also"))
if options.get("workers"):  # they inherit the handler, as a data loader's do
    for _ in range(int(options["workers"])):
        if os.fork() == 0:
            break
    else:
        write("start")
else:
    write("start")
end = time.time() + float(options.get("lasts", 600))
while time.time() < end:
    time.sleep(0.2)
sys.exit(int(options.get("ends", 0)))
"""


def build_spank(into: Path) -> Path:
    """The folder with the plugins and their programs, built as an operator would; once, for all who use the same
    headers of Slurm.
    """
    header = Path(PREFIX, "include/slurm/spank.h").stat()
    out = ROOT / f"build/spank-cluster/{header.st_size}-{header.st_mtime_ns}"
    out.mkdir(parents=True, exist_ok=True)
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-s", "-C", str(ROOT / "spank"), f"SLURM_PREFIX={PREFIX}", f"OUT={out}"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        into.mkdir(parents=True, exist_ok=True)
        for made in (*out.glob("*.so"), *out.glob("adminkit-*")):
            shutil.copy(made, into)
    return into


def build(into: Path) -> Path:
    """The checkpoint plugin."""
    return build_spank(into) / "adminkit_ckpt.so"


@dataclass(frozen=True)
class Job:
    """One submitted job and where it writes."""

    id: int
    log: Path
    output: Path
    hint: str  # what sbatch said

    def times(self, word: str) -> list[float]:
        """When its processes wrote `word`, start or heard, in the order of time."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return sorted(float(line.split()[1]) for line in lines if line.startswith(word))

    @property
    def said(self) -> list[str]:
        """What the plugin said in the job's output."""
        text = self.output.read_text(errors="replace") if self.output.exists() else ""
        return [line.partition("adminkit: ")[2] for line in text.splitlines() if "adminkit: " in line]


@dataclass
class Watched:
    """A booted cluster whose slurmstepd loads the plugin."""

    cluster: Cluster
    plugin: Path
    count: int = field(default=0)

    def configure(self, *words: str, optional: bool = True) -> None:
        """The plugin's line in plugstack.conf; steps that start from now on read it."""
        kind = "optional" if optional else "required"
        line = f"{kind} {self.plugin} state={self.cluster.home}/ckpt {' '.join(words)}\n"
        (self.cluster.home / "plugstack.conf").write_text(line)

    def submit(
        self,
        script: str,
        *options: Word,
        wish: str | None = None,
        user: str = "games",
        env: Mapping[str, str] | None = None,
    ) -> Job:
        """sbatch a bash script in which {log} is the job's file and {train} the trainer writing to it."""
        self.count += 1
        work = self.cluster.work
        log, output = work / f"job-{self.count}.log", work / f"job-{self.count}.out"
        trainer = work / "train.py"
        if not trainer.exists():
            trainer.write_text(TRAINER)
            trainer.chmod(0o755)
        text = "#!/bin/bash\n" + script.replace("{train}", f"{trainer} {log}").replace("{log}", str(log)) + "\n"
        whole = {**(env or {}), **({"ADMINKIT_CKPT": wish} if wish is not None else {})}
        command = ("sbatch", "--parsable", "--mem=100", "-o", output, *options)
        done = self.cluster.run(*command, user=user, env=whole, input=text.encode())
        assert done.code == 0, done.err
        return Job(int(done.text.partition(";")[0]), log, output, done.err.decode())

    def shown(self, job: Job | int) -> dict[str, str]:
        """scontrol's fields of a job; of an array's, the first task."""
        number = job if isinstance(job, int) else job.id
        text = self.cluster.ask("scontrol", "-o", "show", "job", str(number)).splitlines()[0]
        return dict(re.findall(r"(\S+?)=(.*?)(?= \S+?=|$)", text))

    def state(self, job: Job) -> str:
        return self.shown(job)["JobState"]

    def end(self, job: Job) -> float:
        """When slurmctld says that the job will end, or ended, in epoch seconds."""
        done = self.cluster.run(
            "squeue", "-h", "-a", "-t", "all", "-j", str(job.id), "-o", "%e", env={"SLURM_TIME_FORMAT": "%s"}
        )
        return float(done.text)

    def limit_at(self, job: Job) -> float:
        """Start and limit of the job's latest run, added up: the moment of its end, in epoch seconds."""
        done = self.cluster.run(
            "squeue", "-h", "-a", "-t", "all", "-j", str(job.id), "-o", "%S %l", env={"SLURM_TIME_FORMAT": "%s"}
        )
        start, limit = done.text.split()
        minutes, seconds = limit.split(":")[-2:]
        return float(start) + 60 * int(minutes) + int(seconds)

    def until(self, what: str, ready: Callable[[], object], seconds: float = 60.0) -> None:
        until(what, ready, seconds, pause=0.5)

    def ended(self, *jobs: Job, seconds: float = 180.0) -> None:
        """Wait until all of them have ended for good."""

        def done() -> bool:
            listed = ",".join(str(job.id) for job in jobs)
            return self.cluster.ask("squeue", "-h", "-t", "PD,R,S,CG", "-j", listed, "-o", "%i") == ""

        self.until("the jobs to end", done, seconds)


def proctrack() -> str:
    """cgroup, where stock Slurm reaches least, on a host whose cgroups can be written to; containers have none."""
    return "cgroup" if has_cgroup_v2() or os.access(CGROUPS / "freezer", os.W_OK) else "linuxproc"


def watched(cluster: Cluster) -> Watched:
    """The plugin built and loaded by `cluster`, without words in plugstack.conf."""
    folder = cluster.home / "spank"
    shutil.rmtree(folder, ignore_errors=True)
    found = Watched(cluster, build(folder))
    found.configure()
    return found
