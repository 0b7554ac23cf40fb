"""An image of a folder: the same bytes for the same files, and its files are those that were packed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.data.image import KINDS
from tests.support.fakes import Programs
from tests.training_data.trees import found, make, some

KINDS_HERE = [
    pytest.param(kind, marks=pytest.mark.skipif(shutil.which(its.program) is None, reason=f"no {its.program}"))
    for kind, its in KINDS.items()
]


@pytest.mark.parametrize("kind", KINDS_HERE)
def test_the_same_files_give_the_same_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    files = some()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    for name, those in (("a", files), ("b", dict(reversed(files.items())))):
        source = make(tmp_path / f"in-{name}", those)
        os.utime(source, (len(name), 7))
        assert main(["data", "pack", str(source), str(tmp_path / name), "--image", kind]) == 0
    out, _ = capsys.readouterr()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert f"packed into the {kind} image {tmp_path}/a" in out and "fuse" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "in-a", "in-b"]


@pytest.mark.skipif(shutil.which("unsquashfs") is None, reason="no unsquashfs")
def test_the_files_of_an_image_are_those_that_were_packed(tmp_path: Path) -> None:
    source = make(tmp_path / "in", some())
    assert main(["data", "pack", str(source), str(tmp_path / "image"), "--image", "squashfs"]) == 0
    words = ["unsquashfs", "-quiet", "-no-progress", "-d", str(tmp_path / "again"), str(tmp_path / "image")]
    subprocess.run(words, check=True, capture_output=True)
    assert found(tmp_path / "again") == found(source)


@pytest.mark.parametrize(
    ("source", "image", "words"),
    [
        ("in", "there", "already exists"),
        ("in", "in/image", "is inside"),
        ("none", "image", "is not a folder"),
        ("empty", "image", "has no files"),
        ("in", "none/image", "no such file"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, source: str, image: str,
    words: str,
) -> None:  # fmt: skip
    Programs(tmp_path / "bin", monkeypatch).add("mksquashfs", 'echo "no such file" >&2; exit 1')
    make(tmp_path / "in", some(3))
    (tmp_path / "there").touch()
    (tmp_path / "empty").mkdir()
    assert main(["data", "pack", str(tmp_path / source), str(tmp_path / image), "--image", "squashfs"]) == 1
    err = capsys.readouterr().err.lower()
    assert words in err and "hint: " in err
    assert not list(tmp_path.rglob("*.part")) and not (tmp_path / "image").exists()


def test_without_the_program_it_says_which_package_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    source = make(tmp_path / "in", some(3))
    assert main(["data", "pack", str(source), str(tmp_path / "image"), "--image", "erofs"]) == 1
    assert "mkfs.erofs is not on PATH" in (err := capsys.readouterr().err) and "erofs-utils" in err


@pytest.mark.parametrize(
    "option",
    [("--seed", "1"), ("--keep-order",), ("--labels", "x.csv"), ("--shard-size", "256"), ("--readers", "4")],
)
def test_options_of_shards_are_not_an_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, ...]
) -> None:
    source = make(tmp_path / "in", some(3))
    assert main(["data", "pack", str(source), str(tmp_path / "image"), "--image", "erofs", *option]) == 2
    assert option[0] in capsys.readouterr().err
