"""What `apt purge adminkit` leaves: every trace, whatever its name and wherever it is, with its key and its acts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

POSTRM: Final = Path(__file__).parent.parent.parent / "debian" / "adminkit.postrm"
ACTS: Final = "log/adminkit/acts.jsonl"


def file(name: str, text: str = "x") -> Callable[[Path], None]:
    def put(var: Path) -> None:
        (var / name).parent.mkdir(parents=True, exist_ok=True)
        (var / name).write_text(text)

    return put


def link_to_a_disk_that_is_away(var: Path) -> None:
    (var / "lib/adminkit/trace.db").symlink_to("/nowhere/trace.db")


def folder_on_another_disk(var: Path) -> None:
    (var / "disk").mkdir()
    (var / "disk/trace.db").write_text("x")
    (var / "lib/adminkit").rmdir()
    (var / "lib/adminkit").symlink_to(var / "disk")


def folder_on_a_disk_that_is_away(var: Path) -> None:
    (var / "lib/adminkit").rmdir()
    (var / "lib/adminkit").symlink_to("/nowhere")


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        (file("lib/adminkit/trace.db"), "lib/adminkit/trace.db"),
        (file("lib/adminkit/other cluster.db"), "lib/adminkit/other cluster.db"),
        (file("lib/adminkit/old/trace.db"), "lib/adminkit/old/trace.db"),
        (file("lib/adminkit/elsewhere.forget-key"), "lib/adminkit/elsewhere.forget-key"),
        (file("lib/adminkit/trace.db.damaged"), "lib/adminkit/trace.db.damaged"),  # as an error's hint has it moved
        (file("lib/adminkit/trace.db.2026.gz"), "lib/adminkit/trace.db.2026.gz"),
        (file("lib/adminkit/history", "SQLite format 3\0…"), "lib/adminkit/history"),  # `db` may have any name
        (link_to_a_disk_that_is_away, "lib/adminkit/trace.db"),
        (folder_on_another_disk, "disk/trace.db"),
        (folder_on_a_disk_that_is_away, "lib/adminkit"),
        (file("lib/adminkit/prefs/1000.toml"), ""),
        (file("lib/adminkit-own/1000.json"), ""),
    ],
)
def test_a_purge_leaves_every_trace_and_its_acts(there: Callable[[Path], None], kept: str, tmp_path: Path) -> None:
    var = tmp_path / "var"
    (var / "lib/adminkit").mkdir(parents=True)
    file(ACTS)(var)
    there(var)
    purge(tmp_path)
    left = {str(one.relative_to(var)) for one in var.rglob("*") if one.is_symlink() or one.is_file()}
    assert (left >= {kept, ACTS}) if kept else not left


def test_where_a_disk_cannot_be_read_nothing_is_purged(tmp_path: Path) -> None:
    for name in ("lib/adminkit/prefs/1000.toml", ACTS):
        file(name)(tmp_path / "var")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/find").write_text("#!/bin/sh\necho 'find: /var/lib/adminkit: Input/output error' >&2\nexit 1\n")
    (tmp_path / "bin/find").chmod(0o755)
    purge(tmp_path, f"{tmp_path}/bin:/usr/bin:/bin")
    assert (tmp_path / "var" / ACTS).exists() and (tmp_path / "var/lib/adminkit/prefs/1000.toml").exists()


def purge(root: Path, path: str = "/usr/bin:/bin") -> None:
    """Run the script on the folders of a host that are below `root`."""
    script = POSTRM.read_text().replace("#DEBHELPER#", "")
    for top in ("/var/", "/run/", "/etc/"):
        script = script.replace(f" {top}", f" {root}{top}")
    subprocess.run(["sh", "-c", script, "postrm", "purge"], check=True, capture_output=True, env={"PATH": path})
