"""A disk, or its table of inodes, that is full while a data set is packed or unpacked: real ones, in memory."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adminkit.cli.main import main
from tests.training_data.trees import found, make, pack, some

mounts = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")


@contextmanager
def small(place: Path, options: str) -> Iterator[Path]:
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], capture_output=True).returncode:
        pytest.skip("not run: nothing can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@mounts
@pytest.mark.parametrize(
    ("options", "larger"),
    [("size=100k", "size=8m"), ("size=8m,nr_inodes=7", "nr_inodes=1000"), ("size=8m,nr_inodes=2", "nr_inodes=1000")],
)
def test_a_pack_into_a_disk_that_is_full_says_so_and_continues_when_it_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, larger: str
) -> None:
    source = make(tmp_path / "in", {name: data for name, data in some(400).items() if name != "dog/long.bin"})
    words = ["data", "pack", str(source), "--shard-size", "1"]
    assert main([*words, str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    with small(tmp_path / "disk", options) as disk:
        assert main([*words, str(disk / "out")]) == 1
        err = capsys.readouterr().err
        assert "no space left on device" in err and "hint: " in err and "free some space" in err
        assert not (disk / "out/index.tsv").exists()
        whole = list((disk / "out").glob(".adminkit-pack/*.tsv"))
        assert not list((disk / "out").glob(".adminkit-pack/*.aside")), "its room is given back"
        subprocess.run(["mount", "-o", f"remount,{larger}", str(disk)], check=True)
        assert main([*words, str(disk / "out")]) == 0
        continued = re.search(r"note: continues a pack that was stopped after (\d+) shards?\n", capsys.readouterr().err)
        assert (continued is not None) == bool(whole)
        assert found(disk / "out") == found(tmp_path / "whole")


@mounts
@pytest.mark.parametrize("options", ["size=100k", "size=8m,nr_inodes=20"])
def test_what_does_not_fit_is_not_unpacked(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str) -> None:
    pack(make(tmp_path / "in", some(60)), tmp_path / "set")
    with small(tmp_path / "disk", options) as disk:
        assert main(["data", "unpack", str(tmp_path / "set"), str(disk / "out")]) == 1
        err = capsys.readouterr().err
        assert "no space left on device" in err and "hint: free some space" in err
        assert list(disk.iterdir()) == []


def test_two_packs_into_one_folder_are_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = make(tmp_path / "in", some(3))
    (tmp_path / "out").mkdir()
    folder = os.open(tmp_path / "out", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        assert main(["data", "pack", str(source), str(tmp_path / "out")]) == 1
        assert "another pack is writing to" in capsys.readouterr().err
    finally:
        os.close(folder)
    assert main(["data", "pack", str(source), str(tmp_path / "out")]) == 0


def test_an_interrupted_pack_leaves_no_part_of_a_shard_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make(tmp_path / "in", some())
    pack(source, tmp_path / "whole")
    calls = []

    def interrupted(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pack(source, tmp_path / "out")
    assert not list((tmp_path / "out/.adminkit-pack").glob("*.aside"))
    assert pack(source, tmp_path / "out").continued > 0
    assert found(tmp_path / "out") == found(tmp_path / "whole")
