"""How busy a job's GPUs are, on a real slurmd with a stand-in for NVIDIA's library: from the GPU to AdminComment."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import build_spank
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import accounted
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "tests/spank/fake_nvml.c"


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

    def ran(self, script: str, *options: str, state: str = "COMPLETED") -> list[dict[str, int]]:
        """The words of a job that ended in that state."""
        job = self.cluster.submit(script, "-t", "5", *options, user="games")
        self.cluster.wait(job, state)
        accounted(self.cluster, job, state)
        return self.words(job)

    def words(self, job: int) -> list[dict[str, int]]:
        comment = self.cluster.ask("sacct", "-X", "-n", "-P", "-o", "AdminComment", "-j", str(job)).strip()
        found = [one[4:] for one in comment.split() if one.startswith("gu1:")]
        return [{key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", one)} for one in found]


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Measured]:
    with private_slurm(nodes=1) as booted:
        folder = build_spank(booted.home / "spank")
        library = folder / "libnvidia-ml.so.1"
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, FAKE], check=True)
        found = Measured(booted, folder)
        found.configure()
        yield found


def test_the_sums_of_a_job_are_in_its_comment(site: Measured) -> None:
    """One GPU half busy, one idle; a third is another job's."""
    site.gpus("0 50 1024 81920 ok", "1 0 0 81920 ok", "2 100 5 81920 ok")
    (word,) = site.ran("sleep 8", "--gres=gpu:2")
    assert (word["node"], word["gpus"], word["used"]) == (0, 2, 1)
    assert 2 * 4 <= word["s"] <= 2 * 9
    assert word["busy"] == pytest.approx(word["s"] / 4, abs=1)
    assert (word["mem"], word["of"]) == (1024, 2 * 81920)
    assert word["at"] <= word["last"] <= word["to"]


@pytest.mark.parametrize(
    ("script", "options", "gpus", "why"),
    [
        ("sleep 6", (), "0 0 0 81920 ok", "it has no GPU"),
        ("true", ("--gres=gpu:1",), "0 50 0 81920 ok", "it ended within the first period"),
        ("sleep 5", ("--gres=gpu:1",), "0 0 0 81920 lost", "the GPU was lost"),
        ("sleep 5", ("--gres=gpu:1",), "5 0 0 81920 ok", "the driver does not know the GPU"),
        ("sleep 5", ("--gres=gpu:1",), "0 0 0 81920 mig", "the GPU is divided"),
        ("sleep 5", ("--gres=gpu:1",), "0 0 0 81920 crash", "the driver takes down who calls it"),
        ("sleep 5", ("--gres=gpu:1",), "0 0 0 81920 slow", "the driver is slow"),
        ("sleep 5", ("--gres=gpu:1",), "", "there is no GPU"),
        ("sleep 5", ("--gres=gpu:1",), None, "there is no driver"),
    ],
)
def test_what_is_not_measured_leaves_no_word_and_no_mark_on_the_job(
    site: Measured, script: str, options: tuple[str, ...], gpus: str | None, why: str
) -> None:
    if gpus is None:
        site.no_driver()
    else:
        site.gpus(gpus)
    assert site.ran(script, *options) == [], why


def test_the_log_says_once_why_the_gpus_of_a_job_are_not_measured(site: Measured) -> None:
    site.no_driver()
    before = site.log.count("NVML does not start")
    site.ran("sleep 5", "--gres=gpu:1")
    assert site.log.count("NVML does not start") == before + 1


def test_a_gpu_that_is_never_in_use_has_no_last_use(site: Measured) -> None:
    site.gpus("0 0 0 81920 ok")
    (word,) = site.ran("sleep 5", "--gres=gpu:1")
    assert (word["busy"], word["used"], "last" in word) == (0, 0, False)


def test_a_run_that_is_put_back_has_its_own_sums(site: Measured) -> None:
    site.gpus("0 100 0 81920 ok")
    cluster = site.cluster
    job = cluster.submit("[ -e again ] || sleep 60; sleep 6", "-t", "5", "--gres=gpu:1", user="games")
    until("the first run to be measured", lambda: site.sums(job).exists(), 60)
    site.gpus("0 0 0 81920 ok")
    (cluster.work / "again").touch()
    cluster.ask("scontrol", "requeue", str(job))
    cluster.wait(job, "PENDING")
    time.sleep(2)  # slurmd takes no credential of the second in which the first run's was revoked
    cluster.ask("scontrol", "update", f"JobId={job}", "StartTime=now")
    cluster.wait(job, "COMPLETED")
    accounted(cluster, job, "COMPLETED")
    (word,) = site.words(job)
    assert word["busy"] == 0


def test_a_sampler_that_is_killed_starts_again(site: Measured) -> None:
    site.gpus("0 100 0 81920 ok")
    job = site.cluster.submit("sleep 9", "-t", "5", "--gres=gpu:1", user="games")
    until("the sampler to run", lambda: site.samplers(job), 60)
    os.kill(site.samplers(job)[0], signal.SIGKILL)
    site.cluster.wait(job, "COMPLETED")
    accounted(site.cluster, job, "COMPLETED")
    (word,) = site.words(job)
    assert word["s"] == word["busy"] > 3
    assert site.samplers(job) == []


def test_a_job_that_reaches_its_limit_has_the_last_word_before_it(site: Measured) -> None:
    """When its batch step ends, slurmctld takes no word any more."""
    site.configure("report=10")
    site.gpus("0 100 0 81920 ok")
    job = site.cluster.submit("sleep 300", "-t", "1", "--gres=gpu:1", user="games")
    site.cluster.wait(job, "TIMEOUT")
    accounted(site.cluster, job, "TIMEOUT")
    (word,) = site.words(job)
    assert word["s"] > 30
    site.configure()


def test_prometheus_gets_a_line_for_each_gpu_while_the_job_runs(site: Measured, tmp_path: Path) -> None:
    site.configure(f"textfile={tmp_path}")
    left = tmp_path / "adminkit_gpu_use_99999.prom"
    left.write_text("of a job whose slurmstepd was killed")
    os.utime(left, (1, 1))
    site.gpus("0 25 0 81920 ok", "1 0 0 81920 lost")
    job = site.cluster.submit("sleep 6", "-t", "5", "--gres=gpu:2", user="games")
    path = tmp_path / f"adminkit_gpu_use_{job}.prom"
    until("the file", path.exists, 60)
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert lines == [
        f'adminkit_gpu_use_ratio{{job="{job}",gpu="0",uuid="GPU-00000000-0000-0000-0000-000000000000"}} 0.2500'
    ]
    site.cluster.wait(job, "COMPLETED")
    until("the file to go", lambda: not path.exists(), 60)
    assert not left.exists()
    site.configure()


def test_a_job_cannot_choose_what_is_measured(site: Measured) -> None:
    """Its GPU is idle; others are busy, and its words say so."""
    site.gpus("0 0 0 81920 ok", "1 100 0 81920 ok")
    lie = "gu1:at=1,to=9999999999,node=0,gpus=1,s=99,busy=99,used=1"
    chosen = "ALL,CUDA_VISIBLE_DEVICES=1,SLURM_JOB_GPUS=1,SLURM_STEP_GPUS=1,GPU_DEVICE_ORDINAL=1,LD_LIBRARY_PATH=/tmp"
    (word,) = site.ran("sleep 5", "--gres=gpu:1", "-J", lie, "--comment", lie, f"--export={chosen}")
    assert (word["gpus"], word["busy"]) == (1, 0)
