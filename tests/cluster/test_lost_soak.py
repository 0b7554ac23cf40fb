"""Letters about lost work, from what the real Slurm says of a job at its limit and of one without memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness import config
from tests.cluster.harness.operator import accounted, adminkit

pytestmark = pytest.mark.soak

CONFIG = """[feedback]
clusters = ["alpha"]
domain = "example.org"
min_uid = 1
min_elapsed = 0
lost_hours = 0.00001
"""
#: Takes 60 MiB, which are sampled, and after some seconds 300.
PROGRAM = 'import time; a = b"x" * (60 << 20); time.sleep(5); b = b"x" * (300 << 20); time.sleep(60)'
HUNGRY = f"exec python3 -c '{PROGRAM}'"


def test_a_limit_and_want_of_memory_make_their_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a cgroup's limit makes a job OUT_OF_MEMORY."""
    plain = config.cgroup_conf
    monkeypatch.setattr(config, "cgroup_conf", lambda plan: f"{plain(plan)}ConstrainRAMSpace=yes\n")
    (tmp_path / "adminkit.toml").write_text(CONFIG)
    env = {"ADMINKIT_CONFIG": str(tmp_path / "adminkit.toml")}
    with private_slurm("cgroup", TaskPlugin="task/cgroup") as cluster:
        slow = cluster.submit("sleep 600", "-t", "1", "-J", "slow", user="news")
        hungry = cluster.submit(HUNGRY, "-t", "5", "--mem=100M", "-J", "hungry", user="games")
        cluster.wait(hungry)
        cluster.wait(slow, seconds=300.0)
        accounted(cluster, hungry, "OUT_OF_MEMORY")
        accounted(cluster, slow, "TIMEOUT")
        adminkit(cluster, tmp_path / "trace.db", "sync", "--since", "1h", env=env)
        shown = adminkit(cluster, tmp_path / "trace.db", "feedback", "preview", "--text", env=env).stdout
    said = " ".join(shown.split())
    assert f"Your job slow ({slow}, queue gq) was ended when it reached its time limit of 1 min." in said
    assert "#SBATCH --time=00:15:00" in shown
    assert f"Your job hungry ({hungry}, queue gq) was ended after" in said and "it ran out of memory" in said
    assert (
        re.search(r"It had 100 MiB of memory. It used at least [6-9]\d(\.\d)? MiB", said)
        and "#SBATCH --mem=200M" in shown
    )
