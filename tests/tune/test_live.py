"""What the running slurmctld says against soft limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.slurm import show_config
from adminkit.tune.live import refused_by_slurm
from tests.support.fakes import Programs
from tests.tune.files import tune

SOFT = '"soft_limits.quantile" = [90]'
OTHER = '"SchedulerParameters.bf_window" = ["4d"]'


def slurm(folder: Path, monkeypatch: pytest.MonkeyPatch, release: str = "26.05.3", enforce: str = "ALL") -> Programs:
    """A slurmctld of the cluster aaic whose queue has a default limit."""
    show_config.forget()
    programs = Programs(folder / "bin", monkeypatch)
    config = (
        f"ClusterName = aaic\nSLURM_VERSION = {release}\nEnforcePartLimits = {enforce}\n"
        "SchedulerType = sched/backfill\nSchedulerParameters = (null)\nPreemptType = preempt/none"
    )
    queue = "PartitionName=gq DefaultTime=01:00:00 MaxTime=1-00:00:00 Nodes=n1 State=UP TotalNodes=1"
    words = f"*config*) printf '{config}\\n';; *partition*) echo '{queue}';; *node*) echo 'NodeName=n1 State=IDLE';;"
    words += " *reservation*) echo 'No reservations in the system';; *assoc_mgr*) echo 'QOS=normal(1)';;"
    programs.add("scontrol", f'case "$*" in {words} esac')
    return programs


@pytest.mark.parametrize(
    ("levers", "cluster", "release", "enforce", "why"),
    [
        (SOFT, "aaic", "26.05.3", "ALL", []),
        (SOFT, "aaic", "26.05.3", "NO", ["EnforcePartLimits is NO: a queue's MaxTime would not hold"]),
        (SOFT, "aaic", "22.05.8", "ALL", ["slurmctld is 22.05.8: "]),
        (SOFT, "other", "22.05.8", "NO", []),
        (OTHER, "aaic", "22.05.8", "NO", []),
    ],
)  # fmt: skip
def test_the_reasons_of_the_cluster_that_is_searched_for(
    levers: str, cluster: str, release: str, enforce: str, why: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    slurm(tmp_path, monkeypatch, release, enforce)
    found = refused_by_slurm(tune(levers), cluster, 1_800_000_000)
    assert len(found) == len(why)
    assert all(one.startswith(start) for one, start in zip(found, why, strict=True))


def test_where_no_slurmctld_answers_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm(tmp_path, monkeypatch, enforce="NO").add("scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1")
    assert refused_by_slurm(tune(SOFT), "aaic", 1_800_000_000) == []
