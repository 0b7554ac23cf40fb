"""The two sides of a trial on the disk: what is written is read, and the included file is A's or B's at any moment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adminkit.deploy.trial_sides import HEAD, INCLUDED, put_included, read_pair, without
from adminkit.errors import AdminkitError
from tests.support.trials import Tried


def test_what_is_written_is_read(site: Tried) -> None:
    assert read_pair(site.folder) == site.pair


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("20000", "20001", "another value: the digest says so"),
        ('"20000"', '"1\\nSlurmUser=root"', "a second line"),
        ("PriorityWeightAge", "SlurmUser", "another parameter"),
        ("1-00:00:00", "1-00:00:00 State=DOWN", "a second key"),
        ('"format": 1', '"format": 2', "of another release"),
        ("{", "[", "no JSON"),
    ],
)
def test_what_adminkit_did_not_write_is_refused(site: Tried, old: str, new: str, why: str) -> None:
    path = site.folder / "adminkit/trial/b/side.json"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(AdminkitError, match="not as adminkit writes it"):
        read_pair(site.folder)


def test_a_policy_that_was_changed_is_refused(site: Tried) -> None:
    path = site.folder / "adminkit/trial/a/policy.lua"
    path.write_text(path.read_text().replace("72000", "72001"))
    with pytest.raises(AdminkitError, match="not as adminkit writes it"):
        read_pair(site.folder)


def test_on_as_days_slurm_conf_itself_counts(site: Tried) -> None:
    assert not [line for line in site.pair.a.text.splitlines() if not line.startswith("#")]
    assert "PriorityWeightAge=20000\n" in site.pair.b.text


def test_the_included_file_is_as_or_bs_between_any_two_calls(site: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pwrite and ftruncate leave, each way."""
    path, texts, seen = site.folder / INCLUDED, (site.pair.a.text, site.pair.b.text), list[str]()

    def watched(real: Callable[..., int]) -> Callable[..., int]:
        def call(*words: object) -> int:
            found = real(*words)
            seen.append(path.read_text())
            return found

        return call

    for name in ("pwrite", "ftruncate"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    for text in (texts[1], texts[0], texts[1]):
        assert put_included(site.folder, text)
        assert path.read_text() == text
    assert len(seen) == 6 and set(seen) == set(texts)
    assert not put_included(site.folder, texts[1]), "it is there already"


@pytest.mark.parametrize("fits", [0, 40, 90, 110])
def test_a_full_disk_leaves_no_half_of_a_line(site: Tried, monkeypatch: pytest.MonkeyPatch, fits: int) -> None:
    """Half a line would be another value, or a name with which no program of Slurm starts."""
    path, real = site.folder / INCLUDED, os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: real(handle, data[:fits], at))
    with pytest.raises(AdminkitError, match="couldn't write all"):
        put_included(site.folder, site.pair.b.text)
    assert site.pair.a.text.startswith(path.read_text())


def test_the_included_file_has_to_be_plain(site: Tried, tmp_path: Path) -> None:
    """A link, a second name of another file and a pipe are left alone; a missing one is not made."""
    path, other = site.folder / INCLUDED, tmp_path / "other"
    other.write_text("kept")
    for make in (path.symlink_to, path.hardlink_to):
        path.unlink()
        make(other)
        with pytest.raises(AdminkitError):
            put_included(site.folder, "lost")
        assert other.read_text() == "kept"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(AdminkitError):
        put_included(site.folder, "lost")
    path.unlink()
    with pytest.raises(AdminkitError, match="couldn't write"):
        put_included(site.folder, "lost")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("# c\nA=1\nB=2\n", "# c\n"),
        ("A=1\nB=3\n", "B=3\n"),
        ("A=1\nC=1\n", "C=1\n"),
        ("A=10\n", "A=10\n"),
        ("", ""),
        ("A=1\r\nB=2", ""),
        ("# c\nA=1\nB=", "# c\n"),
        ("# c\nA", "# c\n"),
    ],
)
def test_only_lines_that_are_still_the_trials_are_taken_out(text: str, left: str) -> None:
    assert without(text, "# c\nA=1\nB=2\n") == left


def test_the_description_says_what_it_is(site: Tried) -> None:
    table = json.loads((site.folder / "adminkit/trial/b/side.json").read_text())
    assert table.keys() == {"format", "slurm", "queues", "digest"}


def test_the_page_has_the_line_that_is_the_same_on_all_hosts() -> None:
    """slurmctld takes another comment for a different slurm.conf."""
    page = (Path(__file__).parents[2] / "docs" / "trial.md").read_text()
    assert f"echo '{HEAD.strip()}' >" in page
