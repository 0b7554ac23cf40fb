"""The files of a private Slurm name nothing outside its folder."""

from __future__ import annotations

import random
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.harness.config import (
    Plan,
    cgroup_conf,
    database_command,
    database_install,
    free_ports,
    gres_conf,
    slurm_conf,
    slurmdbd_conf,
)

FOLDER = Path("/private/try")
ROOT = Path(__file__).resolve().parents[2]


def plan(**changes: object) -> Plan:
    values: dict[str, object] = {"folder": FOLDER, "name": "alpha", "host": "box", "address": "127.0.0.1"}
    values |= {"dbd_port": 18001, "ctld_port": 18002, "node_ports": (18003, 18004), **changes}
    return Plan(**values)  # type: ignore[arg-type]


def test_every_path_lies_in_the_private_folder() -> None:
    text = slurm_conf(plan(), True) + gres_conf(plan()) + slurmdbd_conf(FOLDER, "box", "127.0.0.1", 18001, True)
    paths = re.findall(r"=(/[^\s,]*)", text)
    assert len(paths) > 10
    assert [path for path in paths if not path.startswith(f"{FOLDER}/")] == ["/bin/true"]


def test_no_database_shares_its_temporary_tables_with_another() -> None:
    assert f"--tmpdir={FOLDER}/db" in database_install(FOLDER)
    assert f"--tmpdir={FOLDER}/db" in database_command(FOLDER)


def test_a_host_whose_name_is_no_loopback_address_listens_everywhere() -> None:
    """Told otherwise, slurmdbd listened where nobody asked it: at the address of the host name."""
    for loopback_only in (True, False):
        texts = slurm_conf(plan(), loopback_only), slurmdbd_conf(FOLDER, "box", "127.0.0.1", 1, loopback_only)
        assert ["NoInAddrAny" in text for text in texts] == [loopback_only] * 2


@pytest.mark.parametrize(
    ("settings", "line", "there"),
    [
        ({}, "KillWait=3", True),
        ({"KillWait": "30"}, "KillWait=30", True),
        ({"KillWait": None}, "KillWait=", False),
        ({"JobSubmitPlugins": "lua"}, "JobSubmitPlugins=lua", True),
    ],
)
def test_settings_change_add_and_take_out_keys(settings: dict[str, str | None], line: str, there: bool) -> None:
    assert (f"\n{line}" in slurm_conf(plan(settings=settings), True)) == there


@pytest.mark.parametrize(
    ("changes", "text", "why"),
    [
        (
            {},
            "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/private/try/alpha/cgroup\nCgroupAutomount=no\n",
            "22.05 does not know the word disabled",
        ),
        ({"release": (23, 11)}, "CgroupPlugin=disabled\n", "newer ones look for cgroups unless told not to"),
        (
            {"proctrack": "cgroup"},
            "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\n",
            "asked for",
        ),
        ({"proctrack": "cgroup", "has_v2": True}, "CgroupPlugin=cgroup/v2\n", "asked for where there is no other"),
        ({"release": (23, 11), "has_v2": True}, "CgroupPlugin=disabled\n", "there, and not asked for"),
    ],
)
def test_cgroups_are_used_only_when_asked_for(changes: dict[str, object], text: str, why: str) -> None:
    assert cgroup_conf(plan(**changes)) == text, why


def test_free_ports_are_free_and_differ() -> None:
    ports = free_ports(6)
    assert len(set(ports)) == 6
    for port in ports:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))


def test_no_two_processes_get_the_same_port_though_nobody_listens_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = free_ports(2)
    monkeypatch.setattr(random, "sample", lambda *_: [first, second])
    with pytest.raises(OSError, match="no 1 free TCP ports"):
        free_ports(1)
    script = f"import random; random.sample = lambda *_: [{first}, {second}]\n"
    script += "from tests.cluster.harness.config import free_ports; print(free_ports(1))"
    other = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert other.stderr.endswith("no 1 free TCP ports between 18000 and 32000\n")
