"""A file for each user: written by who owns the trace, readable by that user and by nobody else."""

from __future__ import annotations

import io
import os
import stat
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.errors import AdminkitError
from adminkit.trace import own_file
from adminkit.trace.connect import writer
from adminkit.trace.ledger import append
from adminkit.trace.person import person_of
from tests.cli.test_stranger import load_everything
from tests.feedback.site import NOW, ended
from tests.support.builders import HOUR, MONDAY, add_letters, ledger_entry, letter, make_trace
from tests.support.others import GROUP, OUTSIDE, OWNER, READER, Refused, as_user, gives_files_away

ADA, BOB = READER, 1002
POINTS = ("--points-per-hour", "60")


@pytest.fixture
def here(open_install: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A default installation: a trace of 0640 in a folder of 2750, and the folder of own files."""
    (place := open_install / "site").mkdir()
    place.chmod(0o755)
    runs = [
        ended(n, ago=HOUR * n, user=user, uid=uid, elapsed=5000 + n)
        for user, uid, first in (("nobody", ADA, 1), ("bob", BOB, 20))
        for n in range(first, first + 12)
    ]
    (place / "closed").mkdir()
    path = make_trace(place / "closed" / "trace.db", runs, [("aaic", "gq", 0, HOUR, 72 * HOUR)])
    with writer(path) as db:
        for user, uid, job in (("nobody", ADA, 1), ("bob", BOB, 20)):
            append(db, [ledger_entry("2026-01", person_of(db, "aaic", user, now=0, uid=uid), job_id_raw=job)])
    add_letters(path, [letter(run="1@1", user="nobody", uid=ADA), letter(run="20@1", user="bob", uid=BOB)])
    (place / "own").mkdir()
    for one in (place / "closed", *(place / "closed").iterdir(), place / "own"):
        os.chown(one, OWNER, GROUP)
    (place / "closed").chmod(0o2750)
    (place / "own").chmod(0o711)
    (place / "adminkit.toml").write_text(f'db = "{path}"\nown = "{place}/own"\n')
    (place / "adminkit.toml").chmod(0o644)
    monkeypatch.setenv("ADMINKIT_CONFIG", str(place / "adminkit.toml"))
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setattr("time.time", lambda: float(NOW))
    load_everything()
    return place


def told(*words: str) -> tuple[int, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main([*words])
    return code, out.getvalue() + err.getvalue()


def made(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from adminkit.cli import incentives

    rules = incentives.rules_of
    monkeypatch.setattr(incentives, "rules_of", lambda policy, per_hour, when: rules(policy, 60.0, when))
    assert as_user(OWNER, GROUP, lambda: told("trace", "own")) == (
        0, f"2 files would be written into {place}/own: --apply writes them\n",
    )  # fmt: skip
    assert list((place / "own").iterdir()) == [], "a preview writes nothing"
    code, said = as_user(OWNER, GROUP, lambda: told("trace", "own", "--apply"))
    assert code == 0, said


@gives_files_away
def test_each_user_reads_their_own_points_charges_and_letters_and_nobody_elses(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = as_user(ADA, OUTSIDE, lambda: told("charge", "statement"))
    assert before[0] == 1 and "permission denied" in before[1], "a default installation refuses"
    made(here, monkeypatch)
    for words, says in (
        (("incentives", "show", "nobody"), "Incentives of nobody"),
        (("incentives", "show", "--runs", "2"), "Incentives of nobody"),
        (("charge", "statement"), "as adminkit wrote it down for you at"),
        (("charge", "statement", "--entries", "--all"), "2026-01"),
        (("my", "--everything", "-f", "json"), '"outbox"'),
    ):
        code, said = as_user(ADA, OUTSIDE, lambda words=words: told(*words))
        assert (code, says in said) == (0, True), said
        assert "bob" not in said
    for words in (("incentives", "show", "bob"), ("charge", "statement", "--user", "bob")):
        code, said = as_user(ADA, OUTSIDE, lambda words=words: told(*words))
        assert code == 2 and "only bob and the operators may see" in said


@gives_files_away
def test_the_file_of_another_user_is_closed_and_its_size_and_time_say_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(here, monkeypatch)
    files = [own_file.path_of(here / "own", uid) for uid in (ADA, BOB)]

    def look() -> list[str]:
        found = []
        for path in files:
            try:
                found.append("nobody" in path.read_text() and "read")
            except PermissionError:
                found.append("refused")
        for act in (lambda: list((here / "own").iterdir()), lambda: (here / "own" / "x").touch(), files[0].unlink):
            try:
                act()
                found.append("done")
            except PermissionError:
                found.append("refused")
        return found

    assert as_user(ADA, OUTSIDE, look) == ["read", "refused", "refused", "refused", "refused"]
    assert as_user(BOB, OUTSIDE, look)[:2] == ["refused", False]
    facts = [path.stat() for path in files]
    assert {one.st_uid for one in facts} == {OWNER} and {stat.S_IMODE(one.st_mode) & 0o007 for one in facts} == {0}
    assert len({one.st_size for one in facts}) == 1


@gives_files_away
def test_what_others_put_in_the_way_is_refused_and_leads_nowhere(here: Path, tmp_path: Path) -> None:
    def writes(folder: Path) -> object:
        return as_user(OWNER, GROUP, lambda: (own_file.check_folder(folder), own_file.write(folder, ADA, {}))[0])

    (here / "own").chmod(0o733)
    assert isinstance(found := writes(here / "own"), Refused) and "other users could write in it" in found.message
    (here / "own").chmod(0o711)
    (here / "link").symlink_to(here / "own")
    assert isinstance(found := writes(here / "link"), Refused) and "is not a folder" in found.message
    os.chown(here / "own", ADA, OUTSIDE)
    assert isinstance(found := writes(here / "own"), Refused) and f"belongs to uid {ADA}" in found.message
    os.chown(here / "own", OWNER, GROUP)
    (victim := here / "victim").write_text("mine")
    victim.chmod(0o666)
    (here / "own" / f"{ADA}.json").symlink_to(victim)
    assert writes(here / "own") is None
    assert victim.read_text() == "mine", "a link is replaced, not followed"
    assert as_user(ADA, OUTSIDE, lambda: own_file.read(here / "own", ADA)) == {"version": 1, "uid": ADA}


@gives_files_away
def test_who_has_nothing_any_more_has_no_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(here, monkeypatch)
    (here / "own" / "4711.json").write_text("{}")
    code, said = as_user(OWNER, GROUP, lambda: told("trace", "own", "--apply"))
    assert (code, said) == (0, f"wrote 2 files into {here}/own, removed 1\n")


@gives_files_away
def test_one_file_that_cannot_be_written_keeps_no_other_one_old(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(here, monkeypatch)
    os.utime(here / "own" / f"{BOB}.json", (1, 1))
    (here / "own" / f"{ADA}.json").unlink()
    (here / "own" / f"{ADA}.json" / "in the way").mkdir(parents=True)
    code, said = as_user(OWNER, GROUP, lambda: told("trace", "own", "--apply"))
    assert code == 1 and f"wrote 1 file into {here}/own, removed 0\n" in said
    assert "couldn't write 1 file: nobody: " in said
    assert (here / "own" / f"{BOB}.json").stat().st_mtime > 1


def test_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"version": 2, "uid": 5}', '{"version": 1, "uid": 6}'):
        (tmp_path / "5.json").write_text(text)
        with pytest.raises(AdminkitError):
            own_file.read(tmp_path, 5)
    assert own_file.read(tmp_path / "none", 5) is None and MONDAY
