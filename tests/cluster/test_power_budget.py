"""A power budget kept by licences, on a real slurmctld."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import HEAD, Ruled, ruling

pytestmark = pytest.mark.cluster
#: Three GPUs' worth.
POWER = f"{HEAD}[power]\nbudget_w = 750\ngpu_w = 250\n"


@pytest.fixture(scope="module")
def ruled(outside: Listing) -> Iterator[Ruled]:
    with private_slurm(nodes=1) as booted, ruling(booted) as found:
        yield found


def licences(ruled: Ruled, job: int | None) -> str:
    return ruled.job(job)["Licenses"].strip()


def run(ruled: Ruled, *options: str, script: str = "sleep 600") -> int:
    said = ruled.run("sbatch", "-o", "/dev/null", "-t", "5", *options, "--wrap", script)
    assert said.accepted and said.job is not None, said
    return said.job


def change(ruled: Ruled, job: int, gpus: int) -> None:
    """As an operator, in the words of this release."""
    word = ruled.job(job)["TresPerNode"].strip()
    done = ruled.update(
        job, f"Gres=gpu:{gpus}" if word.startswith("gres:") else f"TresPerNode=gres/gpu:{gpus}", user=None
    )
    assert done.accepted, done


def test_there_is_no_budget_before_slurmctld_has_the_licence(ruled: Ruled) -> None:
    """Slurm would refuse every job that names it."""
    ruled.policy.write_text(POWER)
    said = ruled.adminkit("policy", "install", "--apply", "--policy", ruled.policy).stdout
    assert "power: slurmctld has no licence watts: add Licenses=watts:750 to slurm.conf" in said, said
    assert "power: add bf_licenses to SchedulerParameters" in said, said
    job = ruled.sbatch("--gres=gpu:1")
    assert job.accepted and licences(ruled, job.job) == "(null)"
    refused = ruled.sbatch("--licenses=watts:1")
    assert not refused.accepted, "Slurm knows no such licence"
    ruled.clear()


def test_a_job_above_the_budget_waits_until_another_ends(ruled: Ruled) -> None:
    conf = ruled.cluster.home / "slurm.conf"
    text = conf.read_text()
    lines = [line for line in text.splitlines() if not line.startswith("SchedulerParameters=")]
    before = next((line for line in text.splitlines() if line.startswith("SchedulerParameters=")), "")
    conf.write_text("\n".join([*lines, f"{before},bf_licenses" if before else "SchedulerParameters=bf_licenses",
                               "Licenses=watts:750,matlab:2", ""]))  # fmt: skip
    ruled.cluster.restart_ctld()
    ruled.cluster.until_idle()
    ruled.rules(POWER)

    two = run(ruled, "--gres=gpu:2")
    ruled.cluster.wait(two, "RUNNING")
    other = run(ruled, "--gres=gpu:2", "--licenses=matlab:1,watts:1")
    assert (licences(ruled, two), licences(ruled, other)) == ("watts:500", "matlab:1,watts:500")
    until("it to wait for watts", lambda: ruled.job(other)["Reason"] == "Licenses", 60)
    cpus = run(ruled, "-H", "--licenses=watts:750")
    assert licences(ruled, cpus) == "(null)", "a job without GPUs takes no watts from others"

    assert ruled.update(other, "Licenses=").accepted
    assert licences(ruled, other) == "watts:500", "its owner cannot take them off"
    assert ruled.update(other, "Licenses=matlab:1").accepted
    assert licences(ruled, other) == "matlab:1,watts:500"
    ruled.update(two, "Licenses=")
    assert licences(ruled, two) == "watts:500", "nor of a job that runs"
    change(ruled, other, 1)
    assert licences(ruled, other) == "matlab:1,watts:250", "an operator gave it fewer GPUs"
    change(ruled, other, 2)
    assert licences(ruled, other) == "matlab:1,watts:500"
    for words in ("TresPerNode=gres/gpu:0", "TresPerNode=gres:gpu:0", "Gres=none", "TresPerNode=gpu:1"):
        ruled.update(other, words)
        facts = ruled.job(other)
        had = re.search(r"gres/gpu=(\d+)", facts.get("ReqTRES") or facts["TRES"])  # from 24.11 on, and before
        watts = re.search(r"watts:(\d+)", licences(ruled, other))
        assert int(watts[1] if watts else 0) >= 250 * int(had[1] if had else 0), words
    change(ruled, other, 2)

    ruled.cluster.ask("scancel", str(two))
    ruled.cluster.wait(other, "RUNNING")
    refused = ruled.sbatch("--gres=gpu:4")
    assert not refused.accepted and "count as 1000 W, but all jobs together may draw only 750 W" in refused.text
    shown = ruled.adminkit("policy", "try", "--policy", ruled.policy, "--gpus", "2", "-p", "gq", "--time", "10").stdout
    assert "licences     watts:500" in shown, shown
    ruled.clear()
