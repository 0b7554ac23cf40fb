"""Whose limits earn points, by the table that slurmctld uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy.earned import OLDEST, earned_of
from adminkit.deploy.files import SUBFOLDER, table_path
from adminkit.lua.literal import module
from tests.job_submit.policies import ALICE, BOB, NOW, incentives


def put(folder: Path, table: dict[str, Any] | str, kind: str = "") -> Path:
    (folder / SUBFOLDER).mkdir(exist_ok=True)
    text = table if isinstance(table, str) else module(table, "made for a test")
    table_path(folder, "incentives", kind).write_text(text)
    return folder


USERS = {ALICE: {"points": 420, "class": True}, BOB: {"points": 0, "class": False}}
#: (the table, its good copy; None: no such file, whether alice has earned any, whether bob has, why)
TABLES: list[tuple[Any, Any, bool | None, bool | None, str]] = [
    (incentives(users=USERS), None, True, False, "by their points"),
    (incentives(users={}), None, False, False, "a user without a row has none"),
    (incentives(users=USERS, made_at=NOW - OLDEST), None, True, False, "as old as may be"),
    (incentives(users=USERS, made_at=NOW - OLDEST - 1), None, None, None, "too old"),
    (incentives(users=USERS, made_at=NOW + 3600), None, True, False, "another host's clock is ahead"),
    (incentives(users=USERS, made_at=NOW + 2 * 86_400), None, None, None, "of the future"),
    (None, None, None, None, "no table"),
    ("return {", None, None, None, "damaged"),
    ("return {", incentives(users=USERS), True, False, "damaged, and the good copy counts"),
    (incentives(users={**USERS, ALICE: {"points": -1, "class": True}}), None, None, None, "not as the script takes it"),
    (incentives(users={**USERS, ALICE: {"class": True}}), None, None, None, "nor that"),
    ("return os.execute('true')", None, None, None, "a program"),
]


@pytest.mark.parametrize(("table", "good", "alice", "bob", "why"), TABLES, ids=[case[4] for case in TABLES])
def test_who_has_earned(tmp_path: Path, table: Any, good: Any, alice: bool | None, bob: bool | None, why: str) -> None:
    for kind, one in (("", table), ("good", good)):
        if one is not None:
            put(tmp_path, one, kind)
    earned = earned_of(tmp_path, NOW)
    assert (earned(ALICE), earned(BOB)) == (alice, bob), why
    assert earned(77) == (None if alice is None else False), "a user whom nobody knows"


def test_users_whose_uids_are_one_to_n(tmp_path: Path) -> None:
    table = incentives(users={1: {"points": 0, "class": True}, 2: {"points": 5, "class": True}})
    earned = earned_of(put(tmp_path, table), NOW)
    assert [earned(uid) for uid in (0, 1, 2, 3)] == [False, False, True, False]
