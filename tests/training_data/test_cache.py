"""`adminkit data cache`: what is on a node, and which copies go."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.data.cache import look, parse_size
from adminkit.errors import AdminkitError

pytestmark = pytest.mark.usefixtures("no_settings")
MIB = 1 << 20
OLD, MIDDLE, NEW, USED = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four copies of 4 MiB; a job has the oldest of them."""
    monkeypatch.setenv("ADMINKIT_ACTS", str(tmp_path / "acts.jsonl"))
    root = tmp_path / "cache"
    for name in ("store", "jobs/7", "state"):
        (root / name).mkdir(parents=True)
    for number, sha in enumerate((USED, OLD, MIDDLE, NEW)):
        copy = root / "store" / sha
        with copy.open("wb") as file:
            file.truncate(4 * MIB)
        source = copy.with_name(f"{sha}.from")
        source.write_text("8:1 12 4194304 1.0 1.0 ext4 /dev/sda1\n" * number)
        os.utime(source, (1_790_000_000 + number, 1_790_000_000 + number))
    os.link(root / "store" / USED, root / "jobs/7/000000.tar")
    root.chmod(0o711)
    return root


def run(cache: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], list[str]]:
    """The copies that are shown, and the notes."""
    assert main(["data", "cache", "--cache", str(cache), "-f", "json", *words]) == 0
    report = json.loads(capsys.readouterr().out)
    return [row["sha256"] for row in report["rows"]], report["meta"]["notes"]


def there(cache: Path) -> set[str]:
    return {path.name for path in (cache / "store").iterdir() if not path.suffix}


def test_copies_are_shown_with_who_uses_them(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (cache / "store" / f"{'e' * 64}.part").write_bytes(b"x" * MIB)
    shown, notes = run(cache, capsys)
    assert shown == [USED, OLD, MIDDLE, NEW]
    assert "4 copies, 17 MiB; 1 of them are in use, 4 MiB" in notes[0]
    assert [one.jobs for one in look(cache).copies] == [1, 0, 0, 0]
    assert [one.sources for one in look(cache).copies] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("size", "gone", "why"),
    [
        ("16M", [], "it has no more"),
        ("15M", [OLD], "the oldest that no job uses"),
        ("12M", [OLD], "that is enough"),
        ("11M", [OLD, MIDDLE], "two"),
        ("0", [OLD, MIDDLE, NEW], "never one that is in use"),
    ],
)
def test_what_goes_is_shown_and_then_removed(
    cache: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, size: str, gone: list[str], why: str
) -> None:
    assert run(cache, capsys, "--trim", size)[0] == gone, why
    assert there(cache) == {OLD, MIDDLE, NEW, USED}, "a preview changes nothing"
    assert not (tmp_path / "acts.jsonl").exists()
    shown, notes = run(cache, capsys, "--trim", size, "--apply")
    assert (shown, there(cache)) == (gone, {OLD, MIDDLE, NEW, USED} - set(gone)), why
    assert f"{len(gone)} copies were removed" in notes[1]
    assert {path.name.removesuffix(".from") for path in (cache / "store").glob("*.from")} == there(cache)
    (act,) = [json.loads(line) for line in (tmp_path / "acts.jsonl").read_text().splitlines()]
    assert (act["what"], act["copies"], act["bytes"]) == ("data cache", len(gone), len(gone) * 4 * MIB)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--apply"], 2, "--apply removes what --trim names"),
        (["--trim", "10GB"], 1, "is not a size"),
        (["--trim", "-1"], 1, "is not a size"),
        (["--cache", "/nonexistent"], 1, "no cache of the staging plugin at /nonexistent"),
        (["--cache", "/tmp"], 1, "is not a cache of the staging plugin"),
    ],
)
def test_what_cannot_be_is_refused(
    cache: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    assert main(["data", "cache", "--cache", str(cache), *words]) == code
    assert said in capsys.readouterr().err


def test_a_link_in_place_of_the_store_is_not_followed(cache: Path, tmp_path: Path) -> None:
    (cache / "store").rename(tmp_path / "elsewhere")
    (cache / "store").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AdminkitError):
        look(cache)


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("7", 7), ("2K", 2048), ("3M", 3 * MIB), ("1T", 1 << 40)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size
