"""What `apt purge adminkit` leaves: every trace, whatever its name and wherever it is, with its key and its acts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

POSTRM: Final = Path(__file__).parent.parent.parent / "debian" / "adminkit.postrm"
ACTS: Final = "log/adminkit/acts.jsonl"


def file(name: str) -> Callable[[Path], None]:
    def put(var: Path) -> None:
        (var / name).parent.mkdir(parents=True, exist_ok=True)
        (var / name).write_text("x")

    return put


def link_to_a_disk_that_is_away(var: Path) -> None:
    (var / "lib/adminkit/trace.db").symlink_to("/nowhere/trace.db")


def folder_on_another_disk(var: Path) -> None:
    (var / "disk").mkdir()
    (var / "disk/trace.db").write_text("x")
    (var / "lib/adminkit").rmdir()
    (var / "lib/adminkit").symlink_to(var / "disk")


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        (file("lib/adminkit/trace.db"), "lib/adminkit/trace.db"),
        (file("lib/adminkit/other cluster.db"), "lib/adminkit/other cluster.db"),
        (file("lib/adminkit/old/trace.db"), "lib/adminkit/old/trace.db"),
        (file("lib/adminkit/elsewhere.forget-key"), "lib/adminkit/elsewhere.forget-key"),
        (link_to_a_disk_that_is_away, "lib/adminkit/trace.db"),
        (folder_on_another_disk, "disk/trace.db"),
        (file("lib/adminkit/prefs/1000.toml"), ""),
        (file("lib/adminkit-own/1000.json"), ""),
    ],
)
def test_a_purge_leaves_every_trace_and_its_acts(there: Callable[[Path], None], kept: str, tmp_path: Path) -> None:
    var = tmp_path / "var"
    (var / "lib/adminkit").mkdir(parents=True)
    file(ACTS)(var)
    there(var)
    script = POSTRM.read_text().replace("#DEBHELPER#", "")
    for top in ("/var/", "/run/", "/etc/"):
        script = script.replace(f" {top}", f" {tmp_path}{top}")
    subprocess.run(["sh", "-c", script, "postrm", "purge"], check=True, capture_output=True)
    left = {str(one.relative_to(var)) for one in var.rglob("*") if one.is_symlink() or one.is_file()}
    assert (left >= {kept, ACTS}) if kept else not left
