"""pyslurm says what scontrol and squeue say, or is left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm import bindings, gather, open_jobs, partitions
from adminkit.slurm.controller import parse_conf
from adminkit.slurm.site import sized
from tests.slurm.test_partitions import NODES, QUEUES
from tests.slurm.test_partitions import QUEUE_LINES as SITE_QUEUES
from tests.support.fakes import Programs, Pyslurm

part = Pyslurm.partition


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Slurm 25.11.2 of the cluster alpha, reachable."""
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("sacct", "echo slurm 25.11.2")
    programs.says("scontrol", ping="scontrol-config", show_config="scontrol-config", beta="scontrol-partitions")
    return programs


@pytest.fixture
def pyslurm(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pyslurm:
    return Pyslurm(tmp_path, monkeypatch, "25.11.2")


def test_queues_are_those_of_scontrol(pyslurm: Pyslurm) -> None:
    pyslurm.holds(
        Partitions=[
            part("gq", default_time=60, max_time=4320, total_nodes=4, is_default=True),
            part("short", max_time=180, total_nodes=2),
            part("long", default_time=4320, total_nodes=4),
            part("free"),
        ]
    )
    assert partitions.source() == "pyslurm"
    known = [replace(queue, priority_tier=None, priority_factor=None) for queue in QUEUES[:4]]
    assert partitions.queues() == known
    assert partitions.queues("alpha") == known, "the local cluster by its name"
    assert partitions.queues("beta") == QUEUES, "pyslurm reaches the local cluster only"


def test_queues_and_nodes_of_a_site_are_those_of_scontrol(pyslurm: Pyslurm, programs: Programs) -> None:
    """The same cluster as in the two texts that test_controller reads; scontrol alone tells of OverSubscribe."""
    programs.add("sacctmgr", "true")
    programs.add("scontrol", f"cat <<'END'\n{SITE_QUEUES}END")
    pyslurm.holds(
        Partitions=[
            part("gq", default_time=60, max_time=4320, total_nodes=2, is_default=True,
                 allowed_accounts=["physics", "chemistry"], denied_qos=["bad"]),
            part("short", min_nodes=1, max_nodes=2, state="DRAIN", total_nodes=1, denied_accounts=["physics"],
                 allowed_qos=["normal"], allowed_groups=["staff"]),
            part("roots", max_time=30, is_root_only=True),
            part("booked", max_time=30, requires_reservation=True),
        ],
        Nodes=[
            node("n1", ["gq", "short"], 40, 256_000, {"gpu:a100": 4, "gpu:v100": 2, "craynetwork": 4}, ["ib", "fast"]),
            node("n2", ["gq"], 80, 512_000, {}, []),
            node("n3", [], 4, 1000, {"gpu": 1}, []),
        ],
    )  # fmt: skip
    nodes = partitions.parse_nodes(NODES)
    said = [sized(queue, nodes) for queue in partitions.parse_queues(SITE_QUEUES)]
    found = gather.gather((), parse_conf("ClusterName=alpha\nSlurmUser=root\n", Path("/x"), "")).site
    assert list(found.queues[:2]) == said[:2]
    assert [(o.name, o.up, o.max_limit) for o in found.queues] == [(o.name, o.up, o.max_limit) for o in said]
    assert list(found.nodes) == nodes


@pytest.mark.parametrize(
    ("state", "comment", "seen", "why"),
    [
        ("PENDING", "ak1:lim=60", True, "waits"),
        ("RUNNING", "ak1:lim=60", True, "runs"),
        ("SUSPENDED", "ak1:lim=60", True, "is suspended"),
        ("CONFIGURING", "ak1:lim=60", True, "its nodes are being woken"),
        ("REQUEUE_HOLD", "ak1:lim=60", True, "waits to be released"),
        ("COMPLETING", "ak1:lim=60", False, "is over: other tools have written into it by now"),
        ("COMPLETED", "ak1:lim=60", False, "is over"),
        ("RUNNING", None, False, "has none"),
    ],
)
def test_what_was_recorded_is_that_of_open_jobs(
    pyslurm: Pyslurm, state: str, comment: str | None, seen: bool, why: str
) -> None:
    pyslurm.holds(Jobs=[SimpleNamespace(id=7, submit_time=1_500_000_000, state=state, admin_comment=comment)])
    assert open_jobs.admin_comments("alpha") == ([(7, 1_500_000_000, comment)] if seen else []), why


def test_open_jobs_of_another_cluster_are_squeues(pyslurm: Pyslurm, programs: Programs) -> None:
    programs.add("squeue", 'echo "$*" >&2; exit 1')
    with pytest.raises(AdminkitError, match="-M beta"):
        open_jobs.admin_comments("beta")


@pytest.mark.parametrize(
    ("version", "here", "why"),
    [
        ("25.11.0", "slurm 26.05.5", "is 25.11.0, for Slurm 25.11; this is 26.05"),
        ("24.11.0", "slurm-wlm 22.05.8", "is 24.11.0, for Slurm 24.11; this is 22.05"),
        ("0.0", "slurm 25.11.2", "no release in the output of Slurm: '0.0'"),
    ],
)
def test_one_of_another_release_is_not_even_imported(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, here: str, why: str
) -> None:
    Pyslurm(tmp_path, monkeypatch, version, code="raise SystemExit('imported')")
    programs.add("sacct", f"echo {here}")
    programs.says("scontrol", show_partition="scontrol-partitions")
    assert bindings.usable() == (None, why)
    assert partitions.queues() == QUEUES, "through scontrol"


def test_it_is_not_imported_where_slurmctld_does_not_answer(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its import reads slurm.conf and ends the process where that is missing."""
    Pyslurm(tmp_path, monkeypatch, "25.11.2", code="raise SystemExit('imported')")
    programs.add("scontrol", "echo 'Could not establish a configuration source' >&2; exit 1")
    module, why = bindings.usable()
    assert module is None
    assert "configuration source" in why


def test_one_that_does_not_load_says_why(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Pyslurm(tmp_path, monkeypatch, "25.11.2", code="raise ImportError('libslurmfull.so: cannot open')")
    assert bindings.usable() == (None, "does not load: libslurmfull.so: cannot open")


def test_slurmctld_going_away_in_between_is_said(pyslurm: Pyslurm) -> None:
    pyslurm.fail()
    with pytest.raises(AdminkitError, match="couldn't ask slurmctld: Unable to contact"):
        partitions.queues()


def node(
    name: str, queues: list[str], cpus: int, mem: int | None, gres: dict[str, int], features: list[str]
) -> SimpleNamespace:
    return SimpleNamespace(
        name=name,
        partitions=queues,
        total_cpus=cpus,
        real_memory=mem,
        configured_gres=gres,
        available_features=features,
    )
