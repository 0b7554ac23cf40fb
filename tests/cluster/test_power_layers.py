"""A power budget kept by a resource of resources.yaml that counts on each node, on a real slurmctld that has them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adminkit.slurm.licences import licences
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import release
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import HEAD, Ruled, ruling

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(release() < (25, 11), reason="resources.yaml counts by node since Slurm 25.11"),
]
POWER = f"{HEAD}[power]\nbudget_w = 1000\ngpu_w = 250\n"
#: Two racks of two nodes with 750 W each, and 1000 W for both.
LAYERS = """---
- resource: watts
  mode: MODE_3
  layers:
    - nodes: ["n[1-2]"]
      count: 750
    - nodes: ["n[3-4]"]
      count: 750
    - nodes: ["n[1-4]"]
      count: 1000
"""


@pytest.fixture(scope="module")
def ruled(outside: Listing) -> Iterator[Ruled]:
    with private_slurm() as booted, ruling(booted) as found:
        conf = found.cluster.home / "slurm.conf"
        lines = conf.read_text().splitlines()
        planned = [f"{line},bf_licenses" if line.startswith("SchedulerParameters=") else line for line in lines]
        conf.write_text("\n".join([*planned, ""]))
        layers = found.cluster.home / "resources.yaml"
        layers.write_text(LAYERS)
        layers.chmod(0o644)
        found.cluster.restart_ctld()
        found.cluster.until_idle()
        found.policy.write_text(POWER)
        said = found.adminkit("policy", "install", "--apply", "--policy", found.policy).stdout
        assert "power: watts comes from resources.yaml and counts on each node" in said, said
        yield found


@pytest.fixture(autouse=True)
def cleared(ruled: Ruled) -> Iterator[None]:
    yield
    ruled.clear()
    ruled.cluster.until_idle()


def run(ruled: Ruled, *options: str) -> int:
    said = ruled.run("sbatch", "-o", "/dev/null", "-t", "5", *options, "--wrap", "sleep 600")
    assert said.accepted and said.job is not None, said
    return said.job


def told(ruled: Ruled, job: int) -> str:
    return ruled.job(job)["Licenses"].strip()


def used(ruled: Ruled) -> list[int]:
    """Of each layer, the racks first."""
    text = ruled.cluster.ask("scontrol", "-o", "show", "licenses")
    return [
        int(line.partition("Used=")[2].split()[0]) for line in text.splitlines() if line.startswith("LicenseName=watts")
    ]


def test_what_slurmctld_says_of_it(ruled: Ruled, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ruled.cluster.env().items():
        monkeypatch.setenv(name, value)
    there = licences()
    assert (there.total, there.mode, there.planned) == ({"watts": 1000}, {"watts": 3}, True)


def test_a_job_above_the_budget_waits_until_another_ends(ruled: Ruled) -> None:
    """Four GPUs are all of the budget, wherever they are; a rack has three GPUs' worth."""
    wide = run(ruled, "--gpus-per-node=1", "-N", "3")
    ruled.cluster.wait(wide, "RUNNING")
    assert told(ruled, wide) == "watts:250" and used(ruled)[-1] == 750, "on each of its three nodes"
    two = run(ruled, "--gres=gpu:2")
    until("it to be looked at", lambda: ruled.job(two)["Reason"] in ("Resources", "Licenses", "Priority"), 60)
    assert told(ruled, two) == "watts:500"
    one = run(ruled, "--gres=gpu:1", "-H")

    assert ruled.update(two, "Licenses=").accepted
    assert told(ruled, two) == "watts:500", "its owner cannot take them off"
    ruled.update(one, "Licenses=watts:1")
    assert told(ruled, one) == "watts:250"
    ruled.update(wide, "Licenses=")
    assert told(ruled, wide) == "watts:250", "nor of a job that runs"

    ruled.cluster.ask("scancel", str(wide))
    ruled.cluster.wait(two, "RUNNING")
    assert used(ruled)[-1] == 500
    refused = ruled.sbatch("--gpus-per-node=2", "-N", "3")
    assert not refused.accepted and "count as 1,500 W" in refused.text.replace("1500", "1,500"), refused


def test_a_rack_holds_no_more_than_its_own(ruled: Ruled) -> None:
    three = run(ruled, "--gres=gpu:3", "-w", "n1")
    ruled.cluster.wait(three, "RUNNING")
    near = run(ruled, "--gres=gpu:1", "-w", "n2")
    far = run(ruled, "--gres=gpu:1", "-w", "n3")
    ruled.cluster.wait(far, "RUNNING")
    assert ruled.cluster.ask("squeue", "-h", "-j", str(near), "-o", "%t").strip() == "PD"
    ruled.cluster.ask("scancel", str(three))
    ruled.cluster.wait(near, "RUNNING")


def test_who_gives_up_the_gpus_may_then_take_the_watts_off(ruled: Ruled) -> None:
    """Slurm's own count says so only after the update: of a job with --gpus the same update takes nothing away."""
    for option, left in (("--gres=gpu:2", "(null)"), ("--gpus=2", "watts:500")):
        job = run(ruled, option, "-H")
        assert ruled.update(job, "TresPerNode=gres/gpu:0").accepted
        assert told(ruled, job) == "watts:500", option
        ruled.update(job, "Licenses=")
        assert told(ruled, job) == left, option
