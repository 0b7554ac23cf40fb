"""The site in containers, as far as it is files; `make cluster-up RELEASE=…` starts it."""

from __future__ import annotations

import re
import tomllib
from itertools import islice
from pathlib import Path

import pytest

from tests.cluster.compose import feed, site
from tests.cluster.compose.__main__ import main
from tests.cluster.compose.host import FILE, PARTS
from tests.cluster.compose.part import ROLES
from tests.cluster.harness import config
from tests.matrix import engine


def test_every_node_is_a_host_of_its_own_and_the_pieces_are_those_of_the_one_host_cluster() -> None:
    here = config.Plan(site.SITE, site.NAME, "slurmctld", "slurmctld", 1, 2, (3, 3), one_host=False)
    lines = config.slurm_conf(here, False).splitlines()
    nodes = [line for line in lines if line.startswith("NodeName=")]
    assert [line.split(" CPUs=")[0] for line in nodes] == [
        f"NodeName={name} NodeHostname={name} NodeAddr={name} Port=3" for name in ("n1", "n2")
    ]
    queues = [line.split()[0].partition("=")[2] for line in lines if line.startswith("PartitionName=")]
    assert queues[:4] == ["gq", "gq-short", "gq-middle", "gq-long"]


def test_slurmdbd_has_its_database_elsewhere() -> None:
    text = config.slurmdbd_conf(site.SITE, "slurmdbd", "slurmdbd", 1, False, {"StorageHost": "database"})
    assert "StorageHost=database\n" in text and "localhost" not in text
    assert "--skip-networking" in config.database_command(site.SITE)
    assert "--skip-networking" not in config.database_command(site.SITE, network=True)


def test_the_jobs_are_varied_and_the_same_for_the_same_seed() -> None:
    made = list(islice(feed.jobs(["a", "b"], 7), 200))
    assert made == list(islice(feed.jobs(["a", "b"], 7), 200))
    assert {job.user for job in made} == {"a", "b"}
    assert len({job.options[:2] for job in made}) >= 4, "every queue"
    assert any("exit 3" in job.script for job in made) and any("--array=1-4%2" in job.options for job in made)


#: For an image where none can be pulled.
BASE = "mmdebstrap debian-archive-keyring"


@pytest.mark.parametrize(
    ("act", "there", "packages", "why"),
    [
        (
            "up",
            "",
            "podman runc catatonit mmdebstrap debian-archive-keyring podman-compose iptables",
            "nothing is there",
        ),
        ("down", "", "podman runc catatonit podman-compose iptables", "nothing is built"),
        ("up", "podman crun nft", f"catatonit {BASE} podman-compose", "the rest"),
        ("up", "podman runc nft catatonit mmdebstrap", "podman-compose", "which used to be said after the image"),
    ],
)
def test_what_is_missing_for_a_site_is_said_at_once(
    act: str,
    there: str,
    packages: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A podman that has no image yet."""
    for name in there.split():
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(engine, "ROOT", tmp_path)
    monkeypatch.setattr(engine, "_NAMES", (tmp_path,))
    monkeypatch.setattr(engine, "_CATATONIT", tmp_path / "none")
    assert main([act, "trixie"]) == 1, why
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: no ") and last.endswith(f": apt-get install {packages}"), why


def test_every_part_has_a_container_of_its_name_and_a_role() -> None:
    services = re.findall(r"^  (\w+): .* hostname: (\w+),.*\.part, (\w+)\]", FILE.read_text(), re.MULTILINE)
    assert [name for name, _, _ in services] == list(PARTS)
    assert all(name == host for name, host, _ in services)
    assert {role for *_, role in services} == set(ROLES)


def test_users_reach_the_folder_of_their_choices_from_where_they_log_in() -> None:
    """What only the admin host sees is no place for them: /shared is in every container."""
    settings = tomllib.loads(site.SETTINGS)
    prefs = Path(settings["feedback"]["prefs"])
    assert prefs.is_relative_to(site.SHARED) and not prefs.is_relative_to(Path(settings["db"]).parent)
