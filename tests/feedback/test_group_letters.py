"""The monthly letter about an account: who gets it, once, and what it says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from adminkit.errors import AdminkitError
from adminkit.feedback.calendar import last_month
from adminkit.feedback.compose import compose
from adminkit.feedback.group_letters import read_owners
from adminkit.feedback.letter import GroupLetter, StatementLetter
from adminkit.feedback.plan import Plan, plan
from adminkit.feedback.planned import PlannedLetter, due_of
from adminkit.feedback.prefs import Prefs, write
from adminkit.feedback.recipients import People
from adminkit.feedback.sample import sample
from adminkit.messages import LANGUAGES
from adminkit.recommend.menu import MENU, RISK, Offer
from adminkit.slurm.coordinators import parse_every
from adminkit.trace import outbox
from adminkit.trace.connect import writer
from adminkit.users import name_of, uid_of
from tests.feedback import site
from tests.support.builders import HOUR, job

OFFER = Offer(MENU, RISK, None)
#: Friday, 2 October 2026, and the last second of September.
NOW = int(datetime(2026, 10, 2, 9, tzinfo=UTC).timestamp())
END = int(datetime(2026, 10, 1, tzinfo=UTC).timestamp())
DAY = 86_400
HOSTILE = "$x$<script>|`x`</script>"


def ran(number: int, ago: int, **changes: Any) -> Any:
    """A run of an hour that ended so long before October."""
    end, elapsed = END - ago, changes.pop("elapsed", HOUR)
    times = {"submit_time": end - elapsed - 60, "start_time": end - elapsed, "end_time": end, "elapsed": elapsed}
    return job(number, **{**times, "user": "ada", "uid": 1001, **changes})


JOBS = [
    ran(1, HOUR), ran(2, 2 * HOUR, elapsed=4 * HOUR, state="TIMEOUT", gpus=2),
    ran(3, DAY, user="eve", uid=1003), ran(4, 31 * DAY, user="bob", uid=1002), ran(5, -HOUR, user="late", uid=1009),
    ran(6, DAY, account="chem", user="games", uid=uid_of("games")),
    ran(7, DAY, account="cpu", user=HOSTILE, uid=1008, gpus=None, cpus=4),
]  # fmt: skip


def settings(owners: str | None, folder: Path, **changes: Any) -> Any:
    path = None
    if owners is not None:
        path = folder / "owners"
        path.write_text(owners)
    return site.settings(digest=False, groups=True, group_owners=path, min_uid=1, quiet_days=(), **changes)


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """A trace of September, and a sacctmgr that says who coordinates what."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "sacctmgr"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/said || exit 1\n")
    program.chmod(0o755)
    (tmp_path / "said").write_text("vision|games,nobody-here\nchem|games\ncpu|\nroot|root\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    with writer(site.synced(tmp_path / "t.db", JOBS, on=END - 40 * DAY)) as trace:
        yield trace


def planned(db: sqlite3.Connection, chosen: Any, place: Path, now: int = NOW) -> Plan:
    known = People(chosen.feedback, lambda uid: name_of(uid), {})
    return plan(db, chosen, known, site.folder(place), now, UTC)


def about(found: Plan) -> list[tuple[str, str]]:
    return [(one.due.user, one.due.about) for one in found.letters if isinstance(one.due, GroupLetter)]


def games() -> int:
    uid = uid_of("games")
    assert uid is not None
    return uid


def test_coordinators_get_one_letter_for_the_month(db: sqlite3.Connection, tmp_path: Path) -> None:
    chosen = settings(None, tmp_path)
    found = planned(db, chosen, tmp_path)
    assert about(found) == [("games", f"2026-09/account/{games()}/vision")], "of chem, games is the only user"
    assert found.left_out["unknown"] == 1, "nobody-here has no uid"
    outbox.put(db, (one.entry(NOW) for one in found.letters))
    assert about(planned(db, chosen, tmp_path)) == [], "once"


@pytest.mark.parametrize(
    ("changes", "now", "why"),
    [
        ({"groups": False}, NOW, "it is off by default"),
        ({}, NOW + 8 * DAY, "a week after the month nobody wants it"),
        ({"exclude_accounts": ("vis*",)}, NOW, "an account that is left out"),
        ({"exclude_users": ("games",)}, NOW, "a user who is left out"),
    ],
)
def test_no_letter(db: sqlite3.Connection, tmp_path: Path, changes: dict[str, Any], now: int, why: str) -> None:
    chosen = settings(None, tmp_path)
    assert about(planned(db, replace(chosen, feedback=replace(chosen.feedback, **changes)), tmp_path, now)) == [], why


def test_an_owner_who_wants_no_letters_gets_none(db: sqlite3.Connection, tmp_path: Path) -> None:
    import os

    place = site.folder(tmp_path)
    path = write(place, games(), Prefs(letters="never"))
    os.chown(path, games(), -1)
    assert about(planned(db, settings(None, tmp_path), tmp_path)) == []
    path = write(place, games(), Prefs(letters="week"))
    os.chown(path, games(), -1)
    assert len(about(planned(db, settings(None, tmp_path), tmp_path))) == 1, "a monthly letter is rarer than weekly"


def test_the_file_goes_before_the_coordinators(db: sqlite3.Connection, tmp_path: Path) -> None:
    found = planned(db, settings("# groups\nVision: games  # the PI\ncpu games\n", tmp_path), tmp_path)
    assert [one.rpartition("/")[2] for _, one in about(found)] == ["cpu", "vision"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("vision\n", "line 1: not ACCOUNT USER"), ("a x\nA y\n", "line 2: the account is named twice")],
)
def test_a_mistake_in_the_file_is_named_and_stops_no_other_letter(
    db: sqlite3.Connection, tmp_path: Path, text: str, message: str
) -> None:
    chosen = settings(text, tmp_path)
    with pytest.raises(AdminkitError, match=message):
        read_owners(chosen.feedback.group_owners)
    found = planned(db, chosen, tmp_path)
    assert about(found) == [] and found.undone and message in " ".join(found.notes)


def test_slurmdbd_away_is_a_note(db: sqlite3.Connection, tmp_path: Path) -> None:
    (tmp_path / "said").unlink()
    found = planned(db, settings(None, tmp_path), tmp_path)
    assert about(found) == [] and found.undone and "couldn't ask who coordinates accounts" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("text", "known", "doubtful", "why"),
    [
        ("a|x,y\nb|\n", {"a": ("x", "y"), "b": ()}, [], "as sacctmgr says it"),
        ("a|x\nb|eve\nb|real\n", {"a": ("x",)}, ["b"], "a user of a line break made a line for b"),
        ("a|x\neve\nb|y\n", {"b": ("y",)}, ["a"], "a line without a bar belongs to the line before"),
        ("", {}, [], "no account"),
    ],
)
def test_who_coordinates(text: str, known: dict[str, Any], doubtful: list[str], why: str) -> None:
    assert parse_every(text) == (known, doubtful), why


def test_what_the_letter_says(db: sqlite3.Connection, tmp_path: Path) -> None:
    chosen = settings(None, tmp_path)
    (one,) = planned(db, chosen, tmp_path).letters
    said = compose(db, one.due, chosen, OFFER, NOW)
    assert said.subject == "Account vision in 2026-09: 10 GPU-hours by 2 users"
    text = " ".join(said.text.split())
    assert "In 2026-09, 3 jobs of 2 users ran under the account vision and used 10 GPU-hours." in text
    assert "They used 50 % of the time that their limits reserved; 6 GPU-hours were reserved and not used." in text
    assert "1 job ended at its limit" in text and "8 GPU-hours are lost" in text
    assert "The month before: 1 GPU-hour, 25 % of what was reserved." in text, "bob's"
    assert "ada: 9 GPU-hours, 2 jobs; used 62 % of the time reserved; 1 job lost its work" in text
    assert "eve: 1 GPU-hour, 1 job" in text and "late" not in text and "bob" not in text
    assert "for the owners of the account vision" in text and "adminkit feedback prefs" in text
    japanese = compose(db, replace(one.due, language="ja"), chosen, OFFER, NOW)
    assert japanese.subject.startswith("2026-09 のアカウント vision") and "ada" in japanese.html


def test_a_hostile_name_of_a_user_is_text(db: sqlite3.Connection, tmp_path: Path) -> None:
    chosen = settings("cpu games\n", tmp_path)
    one = next(one for one in planned(db, chosen, tmp_path).letters if one.due.run.endswith("/cpu"))
    said = compose(db, one.due, chosen, OFFER, NOW)
    assert "<script>" not in said.html and "&lt;script&gt;" in said.html
    assert "The GPUs of 1 job are unknown" in " ".join(said.text.split())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_letter_reads_as_it_did(
    db: sqlite3.Connection, tmp_path: Path, golden: Callable[[str, str], None], language: str
) -> None:
    (one,) = planned(db, settings(None, tmp_path), tmp_path).letters
    letter = compose(db, replace(one.due, language=language), settings(None, tmp_path), OFFER, NOW)
    golden(f"letters/group-{language}.txt", f"Subject: {letter.subject}\n\n{letter.text}")
    golden(f"letters/group-{language}.html", letter.html)
    assert max(cell_len(line) for line in letter.text.splitlines()) <= 80


def test_a_sample_has_the_letter_about_the_account_with_most_users(db: sqlite3.Connection, tmp_path: Path) -> None:
    def shown(owners: str | None, *users: str) -> list[tuple[str | None, str]]:
        chosen = settings(owners, tmp_path)
        found = [one.due for one in sample(db, chosen, NOW, users, UTC).letters]
        return [(one.user, one.about) for one in found if isinstance(one, GroupLetter)]

    assert shown(None) == [("ada", "2026-09/account/0/vision")], "chem and cpu have one user each"
    assert shown("vision mei\n") == [("mei", "2026-09/account/0/vision")], "the owner"
    assert shown(None, "eve") == shown(None) and shown(None, "games") == [], "of accounts of the user"
    (due,) = (one.due for one in sample(db, settings(None, tmp_path), NOW).letters if isinstance(one.due, GroupLetter))
    assert "eve: 1 GPU-hour, 1 job" in compose(db, due, settings(None, tmp_path), OFFER, NOW).text


def test_a_row_of_the_outbox_is_the_letter_again() -> None:
    letter = GroupLetter(
        cluster="aaic", user="games", uid=5, language="en", address="g@x", week="2026-09", since=1, until=2,
        about="2026-09/account/5/phys/ics",
    )  # fmt: skip
    statement = StatementLetter(
        cluster="aaic", user="games", uid=5, language="en", address="g@x", week="2026-09", since=1, until=2
    )
    for one in (letter, statement):
        assert due_of(PlannedLetter(one).entry(9)) == one
    assert json.dumps(letter.key) == '["aaic", "2026-09/account/5/phys/ics", "statement"]'


def test_the_last_month() -> None:
    assert last_month(NOW, UTC).name == "2026-09" and last_month(NOW, UTC).until == END
    assert last_month(int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()), UTC).name == "2025-12"
