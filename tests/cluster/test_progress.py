"""How far a run came and on how many joules, on a real slurmd: from the job to sacct, the trace and its reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import Watched, watched
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.meter import SETTINGS, Meter
from tests.cluster.harness.operator import accounted, adminkit, one
from tests.examples.running import PYTHON, has_torch

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parents[2]
PROGRESS, EXAMPLE = ROOT / "adminkit/progress.py", ROOT / "docs/examples/progress"


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[tuple[Watched, Meter]]:
    """One node with the plugin and an energy counter that is fed by hand."""
    with private_slurm(nodes=1, **SETTINGS) as booted:
        found = watched(booted)
        meter = Meter(booted)
        try:
            yield found, meter
        finally:
            meter.stop()


def ran(cluster: Cluster, script: str, *options: str, state: str = "COMPLETED") -> int:
    job = cluster.submit(script, "-t", "5", *options, user="games")
    cluster.wait(job, state)
    accounted(cluster, job, state)
    return job


def word(cluster: Cluster, job: int) -> str:
    return cluster.ask("sacct", "-X", "-n", "-P", "-D", "-o", "AdminComment", "-j", str(job)).strip()


TRAINING = """
from progress import Progress
progress = Progress()
for _ in range(1000):
    progress.step()
progress.write()
"""
#: (what the job does, the word that is left, why)
CASES = [
    ('echo 12345 > "$ADMINKIT_PROGRESS"', "pf1:it=12345", "a line of shell"),
    ("python3 -S counted.py", "pf1:it=1000", "the file that is copied"),
    ("true", "", "it says nothing"),
    ('echo "7 $(id)" > "$ADMINKIT_PROGRESS"', "", "no number"),
    ('head -c 100000000 /dev/zero > "$ADMINKIT_PROGRESS"', "", "100 MB"),
    ('echo 5 > "$ADMINKIT_PROGRESS"; chmod 000 "$ADMINKIT_PROGRESS"', "", "what its user may not read"),
    ('rm -rf "$ADMINKIT_PROGRESS"; ln -s /etc/hostname "$ADMINKIT_PROGRESS"', "", "nothing goes in its place"),
    ('ADMINKIT_PROGRESS=/etc/passwd; echo 9 > "$ADMINKIT_PROGRESS"', "", "another file"),
]  # fmt: skip


def test_what_a_job_wrote_is_in_sacct_and_nothing_else_is(site: tuple[Watched, Meter]) -> None:
    """All at once; whatever a job puts there, it ends as it would have."""
    cluster = site[0].cluster
    (cluster.work / "progress.py").write_text(PROGRESS.read_text())
    (cluster.work / "counted.py").write_text(TRAINING)
    jobs = [cluster.submit(f"{script}; exit 0", "-t", "5", user="games") for script, _, _ in CASES]
    for job in jobs:
        cluster.wait(job, "COMPLETED")
        accounted(cluster, job, "COMPLETED")
    assert {(word(cluster, job), why) for job, (_, _, why) in zip(jobs, CASES, strict=True)} == {
        (expected, why) for _, expected, why in CASES
    }
    left = [path.name for path in (cluster.home / "spool").rglob("job*") if path.is_dir()]
    assert left == [], "slurmd removes the jobs' folders"


@pytest.mark.skipif(not has_torch(), reason="not run: apt-get install python3-torch")
def test_a_training_of_pytorch_tells_its_steps(site: tuple[Watched, Meter]) -> None:
    cluster = site[0].cluster
    (cluster.work / "progress.py").write_text(PROGRESS.read_text())
    (cluster.work / "learn.py").write_text((EXAMPLE / "train.py").read_text())
    job = ran(cluster, f"OMP_NUM_THREADS=1 {PYTHON} learn.py 300", "--mem=600")
    assert word(cluster, job) == "pf1:it=300"


def test_a_run_that_is_put_back_has_its_own_count(site: tuple[Watched, Meter]) -> None:
    """Two runs: the first counts and is put back by us, the second says nothing."""
    cluster = site[0].cluster
    script = """trap 'exit 85' TERM
if [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then echo 41 > "$ADMINKIT_PROGRESS"; sleep 600 & wait; fi"""
    job = cluster.submit(
        script, "-t", "1", "--ckpt-signal=TERM@15", "--ckpt-requeue=1", "--ckpt-target=shell", user="games"
    )
    cluster.wait(job, "COMPLETED")
    accounted(cluster, job, "COMPLETED")
    first, second = word(cluster, job).splitlines()
    assert first.startswith("ck1:") and "end=more" in first and first.endswith(" pf1:it=41")
    assert second.startswith("ck1:") and "pf1" not in second


def test_the_number_of_gpus_that_takes_less_energy(site: tuple[Watched, Meter], tmp_path: Path) -> None:
    """PowerFlow's line, at Zeus' watts: two GPUs at 133.5 W each, one at 190.2 W, and about the same time.

    Beside them a job that does not hold its node alone.
    """
    (plugin, meter), db = site, tmp_path / "trace.db"
    cluster = plugin.cluster
    for gpus, watts, seconds in ((2, 2 * 133.5, 20), (1, 190.2, 19.3)):
        meter.watts = watts
        script = f'sleep {seconds}; echo 1000 > "$ADMINKIT_PROGRESS"'
        ran(cluster, script, "-c", "8", f"--gres=gpu:{gpus}", "-J", "train")
    meter.watts = 80
    ran(cluster, "sleep 3", "-c", "2", "-J", "part")
    adminkit(cluster, db, "sync", "--since", "1d", "--steps")
    assert one(db, "SELECT group_concat(iterations) FROM run WHERE job_name = 'train'") == "1000,1000"
    elapsed = "SELECT elapsed FROM run WHERE job_name = 'train' AND size_gpus = ?"
    took = {gpus: int(str(one(db, elapsed, gpus))) for gpus in (2, 1)}
    assert took[2] >= 20 and took[1] >= 19, "whole seconds, more on a machine with much to do"

    command = ("recommend", "gpus", "--user", "games", "--name", "train", "--gpus", "2")
    said = json.loads(adminkit(cluster, db, *command, "--format", "json").stdout)
    rows = {row["gpus"]: row for row in said["rows"]}
    assert rows[1]["energy"] == pytest.approx(0.69, abs=0.06), rows
    assert rows[1]["time"] == pytest.approx(took[1] / took[2]), rows
    assert said["meta"]["answers"][0].startswith("ask for 1 GPU instead of 2: "), said

    said = json.loads(adminkit(cluster, db, "report", "energy", "--by", "name", "--format", "json").stdout)
    rows = {row["name"]: row for row in said["rows"]}
    train, part = rows["train"], rows["part"]
    assert (train["measured"], train["shared"], part["measured"], part["shared"]) == (2, 0, 1, 1), rows
    assert train["energy_joules"] == pytest.approx(20 * 267 + 19.3 * 190.2, rel=0.06), rows
    assert train["gpu_watts"] == pytest.approx((20 * 267 + 19.3 * 190.2) / (2 * took[2] + took[1]), rel=0.06), rows
    assert part["node_watts"] == pytest.approx(80, rel=0.35) and rows["(all)"]["capped"] == 0, rows
    print(adminkit(cluster, db, *command).stdout, adminkit(cluster, db, "report", "energy", "--by", "name").stdout)
