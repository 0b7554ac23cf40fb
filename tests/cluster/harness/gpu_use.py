"""A cluster whose slurmstepd measures GPUs through a stand-in for NVIDIA's library."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import build_spank
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import accounted

ROOT = Path(__file__).resolve().parents[3]
FAKE = ROOT / "tests/spank/fake_nvml.c"
#: Jobs start at once.
SCHEDULER = "sched_interval=1,batch_sched_delay=0,bf_interval=2"


@dataclass
class Measured:
    """A cluster whose slurmstepd measures GPUs every second, as `gpus` says."""

    cluster: Cluster
    folder: Path

    def gpus(self, *lines: str) -> None:
        """What the library answers from now on: "MINOR USE MEMORY OF WORD"."""
        new = self.folder / "gpus.new"
        new.write_text("".join(f"{line}\n" for line in lines))
        new.rename(self.folder / "gpus")

    def no_driver(self) -> None:
        (self.folder / "gpus").unlink(missing_ok=True)

    def configure(self, *words: str) -> None:
        state, library = self.cluster.home / "gpu-use", self.folder / "libnvidia-ml.so.1"
        line = f"optional {self.folder}/adminkit_gpu_use.so period=1 state={state} nvml={library} {' '.join(words)}\n"
        (self.cluster.home / "plugstack.conf").write_text(line)

    def sums(self, job: int) -> Path:
        return self.cluster.home / "gpu-use" / str(job)

    def samplers(self, job: int) -> list[int]:
        """The processes that read this job's GPUs."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if str(self.sums(job)).encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    @property
    def log(self) -> str:
        """slurmd's."""
        return "".join(path.read_text(errors="replace") for path in (self.cluster.home / "log").glob("slurmd*"))

    def ran(self, script: str, *options: str, state: str = "COMPLETED", **env: str) -> list[dict[str, int]]:
        """The words of a job that ended in that state; `env` is in its environment."""
        words = ("sbatch", "--parsable", "-o", "/dev/null", "-t", "5", *options, "--wrap", script)
        job = int(self.cluster.run(*words, user="games", env=env).text)
        self.cluster.wait(job, state)
        accounted(self.cluster, job, state)
        return self.words(job)

    def none_of(self, script: str, *options: str) -> list[str]:
        """The words that slurmctld has of a job as soon as it has completed."""
        job = self.cluster.submit(script, "-t", "5", *options, user="games")
        self.cluster.wait(job, "COMPLETED")
        comment = self.cluster.ask("scontrol", "show", "job", str(job))
        return re.findall(r"gu1:\S*", comment)

    def words(self, job: int) -> list[dict[str, int]]:
        comment = self.cluster.ask("sacct", "-X", "-n", "-P", "-o", "AdminComment", "-j", str(job)).strip()
        found = [one[4:] for one in comment.split() if one.startswith("gu1:")]
        return [{key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", one)} for one in found]


@contextmanager
def measured(nodes: int = 1) -> Iterator[Measured]:
    with private_slurm(nodes=nodes, SchedulerParameters=SCHEDULER) as booted:
        folder = build_spank(booted.home / "spank")
        library = folder / "libnvidia-ml.so.1"
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, FAKE], check=True)
        found = Measured(booted, folder)
        found.configure()
        yield found
