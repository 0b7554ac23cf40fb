"""How busy a job's GPUs are, on a real slurmd with a stand-in for NVIDIA's library: from the GPU to AdminComment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.harness.gpu_use import Measured, measured
from tests.cluster.harness.listing import Listing

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Measured]:
    with measured() as found:
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
        ("sleep 4", (), "0 0 0 81920 ok", "it has no GPU"),
        ("true", ("--gres=gpu:1",), "0 50 0 81920 ok", "it ended within the first period"),
        ("sleep 4", ("--gres=gpu:1",), "0 0 0 81920 lost", "the GPU was lost"),
        ("sleep 4", ("--gres=gpu:1",), "5 0 0 81920 ok", "the driver does not know the GPU"),
        ("sleep 4", ("--gres=gpu:1",), "0 0 0 81920 mig", "the GPU is divided"),
        ("sleep 4", ("--gres=gpu:1",), "0 0 0 81920 crash", "the driver takes down who calls it"),
        ("sleep 4", ("--gres=gpu:1",), "0 0 0 81920 slow", "the driver is slow"),
        ("sleep 4", ("--gres=gpu:1",), "", "there is no GPU"),
        ("sleep 4", ("--gres=gpu:1",), None, "there is no driver"),
    ],
)
def test_what_is_not_measured_leaves_no_word_and_no_mark_on_the_job(
    site: Measured, script: str, options: tuple[str, ...], gpus: str | None, why: str
) -> None:
    if gpus is None:
        site.no_driver()
    else:
        site.gpus(gpus)
    assert site.none_of(script, *options) == [], why


def test_the_log_says_once_why_the_gpus_of_a_job_are_not_measured(site: Measured) -> None:
    site.no_driver()
    before = site.log.count("NVML does not start")
    site.ran("sleep 4", "--gres=gpu:1")
    assert site.log.count("NVML does not start") == before + 1


def test_a_gpu_that_is_never_in_use_has_no_last_use(site: Measured) -> None:
    site.gpus("0 0 0 81920 ok")
    (word,) = site.ran("sleep 5", "--gres=gpu:1")
    assert (word["busy"], word["used"], "last" in word) == (0, 0, False)


def test_a_job_cannot_choose_what_is_measured(site: Measured) -> None:
    """Its GPU is idle; others are busy, and its words say so.

    Trap: from 26.05 on slurmd puts back a job with values in --export whose user has no login shell, so they are in the
    environment of sbatch.
    """
    site.gpus("0 0 0 81920 ok", "1 100 0 81920 ok")
    lie = "gu1:at=1,to=9999999999,node=0,gpus=1,s=99,busy=99,used=1"
    chosen = dict.fromkeys(("CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "GPU_DEVICE_ORDINAL"), "1")
    script = '[ "$LD_LIBRARY_PATH" = /tmp ] && sleep 5'
    (word,) = site.ran(script, "--gres=gpu:1", "-J", lie, "--comment", lie, LD_LIBRARY_PATH="/tmp", **chosen)
    assert (word["gpus"], word["busy"]) == (1, 0)
