"""While the source of users does not answer: nobody's letter is lost, and who is excluded stays so."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.config import Config
from adminkit.feedback.send import Done, run
from adminkit.feedback.transport.base import Stopped
from adminkit.users import NamesAway
from tests.feedback.site import Kept, ended, folder, people, settings, synced, tools

JOBS = tuple(
    ended(number, user=user, uid=uid, ago=number * 60)
    for number, uid, user in ((1, 1001, "ada"), (2, 1002, "bob"), (3, 1003, "cyd"))
)
QUIET = settings(operators=(), digest=False)


def nobody_answers(uid: int) -> str | None:
    """The host's names, without their source; ada is a user of /etc/passwd."""
    if uid == 1001:
        return "ada"
    raise NamesAway(f"uid {uid}")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    synced(tmp_path / "t.db", JOBS)
    folder(tmp_path)
    return tmp_path


def act(site: Path, kept: Kept, chosen: Config = QUIET, away: bool = False) -> Done:
    known = people(chosen)
    who = replace(known, names=nobody_answers) if away else known
    with closing(sqlite3.connect(site / "t.db", isolation_level=None)) as db:
        return run(db, chosen, tools(site / "prefs", kept, people=who))


def sent(kept: Kept) -> Sequence[str]:
    return sorted(to for (to,), _ in kept.messages)


def test_letters_to_who_is_not_known_wait_and_the_run_says_so(site: Path) -> None:
    kept = Kept()
    done = act(site, kept, away=True)
    assert sent(kept) == ["ada@example.org"], "who is known gets theirs"
    assert done.planned.undone
    assert [note for note in done.notes if note.startswith("couldn't look up uid 1002: ")], done.notes
    act(site, kept)
    assert sent(kept) == ["ada@example.org", "bob@example.org", "cyd@example.org"]


def test_who_is_excluded_meanwhile_gets_no_letter(site: Path) -> None:
    act(site, Kept([Stopped("away")]))
    kept = Kept()
    act(site, kept, settings(operators=(), digest=False, exclude_users=("bob",)), away=True)
    assert sent(kept) == ["ada@example.org", "cyd@example.org"], "those were due when their users were known"
