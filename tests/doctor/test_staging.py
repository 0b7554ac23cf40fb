"""doctor on the staging plugin: files and programs are fakes, their words Slurm's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adminkit.doctor.staging import staging
from tests.support.fakes import Programs
from tests.support.others import gives_files_away


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """slurm.conf's, with a plugin in good order. Its caches are root's, as long as nobody made them."""
    programs = Programs(tmp_path / "bin", monkeypatch)
    for name in ("adminkit_data.so", "adminkit-stage"):
        (tmp_path / name).touch()
    (tmp_path / "config").write_text(
        f"PlugStackConfig         = {tmp_path}/plugstack.conf\nPluginDir               = {tmp_path}\n"
    )
    programs.add("scontrol", f"cat {tmp_path}/config")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "container", "status", "said"),
    [
        ("", "", "ok", "not in use"),
        ("optional adminkit_ckpt.so", "", "ok", "not in use"),
        ("optional adminkit_data.so", "", "ok", "cache /var/cache/adminkit-data"),
        ("optional adminkit_data.so cache=/nvme/none", "", "ok", "cache /nvme/none"),
        ("required adminkit_data.so", "", "warn", "`required`"),
        ("optional adminkit_data.so cache=/nvme/none", "AutoBasePath=true BasePath=/x", "ok", "cache"),
        ("optional adminkit_data.so cache=/dev/shm/none", "BasePath=/x", "missing", "lies in /dev/shm"),
        ("optional adminkit_data.so cache=/nvme/none", "BasePath=/x Dirs=/tmp,/nvme", "missing", "lies in /nvme"),
        ("optional adminkit_data.so cache=/nvme/a/../none", "Dirs=/nvme/none", "missing", "lies in /nvme/none"),
        ("optional adminkit_data.so cache=/nvme2/none", "NodeName=n1 dirs=/nvme BasePath=/x", "ok", "cache"),
        ("optional adminkit_data.so cache=/nvme/none", "#Dirs=/nvme\nDirs=/x", "ok", "cache"),
    ],
)  # fmt: skip
def test_a_cache_that_jobs_cannot_see_is_refused(
    folder: Path, line: str, container: str, status: str, said: str
) -> None:
    (folder / "plugstack.conf").write_text(f"{line}\n")
    if container:
        (folder / "job_container.conf").write_text(f"{container}\n")
    (check,) = staging()
    assert (check.status, said in check.found) == (status, True), check


def test_a_plugin_without_its_program_copies_nothing(folder: Path) -> None:
    (folder / "plugstack.conf").write_text("optional adminkit_data.so\n")
    (folder / "adminkit-stage").unlink()
    (check,) = staging()
    assert (check.status, "adminkit-stage is missing" in check.found) == ("warn", True)


@gives_files_away
def test_a_cache_that_others_can_write_to_is_refused(folder: Path) -> None:
    cache = folder / "cache"
    cache.mkdir(mode=0o711)
    (folder / "plugstack.conf").write_text(f"optional adminkit_data.so cache={cache}\n")
    for change in (lambda: cache.chmod(0o733), lambda: os.chown(cache, 5, 5)):
        change()
        (check,) = staging()
        assert (check.status, f"may write to {cache}" in check.found) == ("missing", True), check
        cache.chmod(0o711)
