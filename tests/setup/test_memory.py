"""The folder in memory: used where there is room for it, gone afterwards, and no run's but its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.setup import beside, memory, parts, run


@pytest.fixture
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "shm").mkdir()
    return tmp_path / "shm"


def test_what_is_started_meanwhile_writes_there_and_nothing_stays(shm: Path) -> None:
    before = tempfile.gettempdir()
    with memory.temporary(shm, room=0) as folder:
        assert folder is not None and folder.parent == shm
        said = subprocess.run(["mktemp"], capture_output=True, text=True, check=True).stdout
        assert Path(said.strip()).parent == folder == Path(tempfile.gettempdir())
        assert folder.stat().st_mode & 0o777 == 0o755, "jobs of other users run there"
        assert len(str(folder)) - len(str(shm)) < 24, "sockets are in it"
    assert list(shm.iterdir()) == [] and tempfile.gettempdir() == before == os.environ["TMPDIR"]


def test_it_goes_after_a_failure_too(shm: Path) -> None:
    with pytest.raises(KeyboardInterrupt), memory.temporary(shm, room=0):
        Path(tempfile.mkdtemp()).joinpath("left").touch()
        raise KeyboardInterrupt
    assert list(shm.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "room", "why"), [("shm", 1 << 60, "no room"), ("none", 0, "there is no such folder")]
)
def test_without_room_in_memory_the_disk_is_used(shm: Path, place: str, room: int, why: str) -> None:
    before = tempfile.gettempdir()
    with memory.temporary(shm.parent / place, room) as folder:
        assert folder is None and tempfile.gettempdir() == before, why
    assert list(shm.iterdir()) == []


@pytest.mark.parametrize(("flag", "fits"), [(0, True), (os.ST_NOEXEC, False)])
def test_a_place_from_which_nothing_can_be_run_is_not_used(
    shm: Path, flag: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may mount /dev/shm with noexec."""
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flag, f_bavail=1 << 30, f_frsize=4096))
    assert memory.fits(shm, 1) is fits


def test_the_folder_of_a_run_that_was_killed_goes_and_that_of_another_stays(shm: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead, live = shm / f"ak-{gone.pid}-x", shm / f"ak-{os.getppid()}-x"
    for folder in (dead, live):
        folder.mkdir()
        (folder / "file").touch()
    with memory.temporary(shm, room=0):
        assert not dead.exists() and live.exists()


@pytest.mark.parametrize("tier", parts.TIERS)
def test_all_tiers_but_long_proofs_write_to_memory(
    tier: str, shm: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "build").mkdir()
    places = []
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(memory.temporary.__wrapped__, "__defaults__", (shm, 0))
    monkeypatch.setattr(beside, "run", lambda *_: places.append(Path(tempfile.gettempdir()).parent) or [])
    assert run.main([tier]) == 0
    assert (places == [shm]) is (tier != "soak")
