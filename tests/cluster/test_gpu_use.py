"""How busy a job's GPUs are, on a real slurmd with a stand-in for NVIDIA's library: from the GPU to AdminComment."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import build_spank
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import accounted

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
