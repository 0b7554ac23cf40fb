"""Submissions with the script of adminkit in slurmctld, against the same without it: 200 each, in turn.

Needs root and Slurm's packages: it boots a private cluster, as tests/cluster does. The rules are 50 and the users with
points 10,000, as in the bench of one decision; jobs are held, and cancelled between two turns.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from adminkit.economy.points_file import dumped
from tests.bench import pairs
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.ruled import HEAD, Ruled, ruling
from tests.setup import guard

SUBMISSIONS = 200
RULES = 50
USERS = 10_000
#: What both sides submit; a job that passes every rule.
SCRIPT = f"""
i=0
while [ $i -lt {SUBMISSIONS} ]; do
    sbatch -Q -H -o /dev/null -p gq -t 60 --gres=gpu:1 --wrap true > /dev/null || exit 1
    i=$((i + 1))
done
"""


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    verdict = guard.check()
    if not verdict.allowed or os.geteuid() != 0:
        why = "needs root" if verdict.allowed else f"{verdict.reason}: {verdict.detail}"
        print(f"submissions: not run: {why}")
        return []
    with tempfile.TemporaryDirectory(prefix="adminkit-bench-") as private:
        Path(private).chmod(0o755)
        cluster = Cluster(private)
        cluster.boot(owner=os.getpid())
        try:
            with ruling(cluster) as ruled:
                return [_measure(ruled, Path(private))]
        finally:
            cluster.stop()


def _measure(ruled: Ruled, private: Path) -> pairs.Ratio:
    ruled.policy.write_text(HEAD + "".join(_rule(number) for number in range(RULES)))
    ruled.adminkit("policy", "install", "--apply", "--policy", ruled.policy)
    tables = private / "tables"
    tables.mkdir()
    users = {1000 + number: {"points": number % 500, "class": True} for number in range(USERS)}
    head = {"format": 1, "made_at": 1, "cap": 720, "class_points": {"multi-node": 300}}
    (tables / "incentives.json").write_text(dumped({**head, "users": users}))
    words = ("--policy", ruled.policy, "--from", tables, "--points-per-hour", "60", "--apply")
    ruled.adminkit("incentives", "install", *words)

    def ours() -> float:
        return _timed(ruled, "lua")

    def theirs() -> float:
        return _timed(ruled, None)

    ours()
    return pairs.compare(f"{SUBMISSIONS} submissions with the script, against none", ours, theirs, 0.90)


def _rule(number: int) -> str:
    """Rules of every kind that look at the job and let it pass."""
    kinds = ('max_limit = "3-00:00:00"', 'min_limit = "00:10:00"', 'gpus = "0-8"', 'nodes = "1-4"', 'cpus = "1-32"')
    return f'[[rules]]\nname = "r{number}"\nqueues = ["gq"]\n{kinds[number % len(kinds)]}\n'


def _timed(ruled: Ruled, plugin: str | None) -> float:
    """Seconds the submissions take with this JobSubmitPlugins; switching it and warming up are not counted."""
    conf = ruled.cluster.home / "slurm.conf"
    lines = [line for line in conf.read_text().splitlines() if not line.startswith("JobSubmitPlugins=")]
    conf.write_text("\n".join([*lines, *([f"JobSubmitPlugins={plugin}"] if plugin else []), ""]))
    ruled.cluster.ask("scontrol", "reconfigure")
    env = ruled.cluster.env()
    probe = ruled.sbatch("--job-name=adminkit:generation?")
    assert probe.accepted == (plugin is None), probe
    started = time.perf_counter()
    subprocess.run(["sh", "-c", SCRIPT], env=env, cwd=ruled.cluster.work, check=True, user="games", group="games")
    seconds = time.perf_counter() - started
    ruled.clear()
    return seconds
