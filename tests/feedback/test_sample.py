"""One letter of each kind, whoever gets letters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.feedback.letter import user_of
from adminkit.feedback.plan import Plan
from adminkit.feedback.sample import sample
from adminkit.job import Job
from tests.feedback.site import DAY, NOW, ended, opened, settings
from tests.support.builders import HOUR, add_letters, letter, make_trace

LAST_WEEK = 5 * DAY
BOB: dict[str, Any] = {"user": "bob", "uid": 1002}


def shown(path: Path, jobs: list[Job], site: Config | None = None, users: tuple[str, ...] = ()) -> Plan:
    make_trace(path, jobs)
    with opened(path) as db:
        return sample(db, site or Config(), NOW, users)


def kinds(planned: Plan) -> list[tuple[str, str | None]]:
    return [(one.due.kind, user_of(one.due)) for one in planned.letters]


#: jobs, whose, what is found, what the notes say besides
CASES: list[tuple[str, list[Job], tuple[str, ...], list[tuple[str, str | None]], str]] = [
    (
        "each kind, the end letter of who left most unused, the digest of who left most unused last week",
        [ended(1), ended(2, time_limit=72 * HOUR, **BOB), ended(3, ago=LAST_WEEK)],
        (),
        [("end", "bob"), ("digest", "ada"), ("operator", None)],
        "",
    ),
    (
        "of a user that is named",
        [ended(1), ended(2, time_limit=72 * HOUR, **BOB), ended(3, ago=LAST_WEEK)],
        ("ada",),
        [("end", "ada"), ("digest", "ada"), ("operator", None)],
        "",
    ),
    (
        "no job that is worth a letter",
        [ended(1, ago=LAST_WEEK, elapsed=9 * HOUR)],
        (),
        [("digest", "ada"), ("operator", None)],
        "no end letter: no job of the last 30 days triggers one",
    ),
    (
        "nobody with a run last week",
        [ended(1, ago=20 * DAY)],
        (),
        [("end", "ada"), ("operator", None)],
        "no digest letter: no user has a run that counts in last week",
    ),
    (
        "one for each way of losing work, of the job that lost most",
        [
            ended(1, state="TIMEOUT", gpus=4),
            ended(2, state="TIMEOUT", gpus=8, **BOB),
            ended(3, state="OUT_OF_MEMORY", gpus=4),
            ended(4, state="OUT_OF_MEMORY", gpus=1),
        ],
        (),
        [("end", "bob"), ("end", "ada"), ("operator", None)],
        "no end letter: no job of the last 30 days triggers one",
    ),
    ("an empty trace", [], (), [], "no operator letter: the trace has no cluster"),
]


@pytest.mark.parametrize(("why", "jobs", "users", "found", "note"), CASES, ids=[one[0] for one in CASES])
def test_it_is_one_of_each_kind(
    tmp_path: Path, why: str, jobs: list[Job], users: tuple[str, ...], found: list[tuple[str, str | None]], note: str
) -> None:
    planned = shown(tmp_path / "t.db", jobs, users=users)
    assert kinds(planned) == found
    assert any(note in one for one in planned.notes)
    assert planned.notes[0].startswith("one letter of each kind")


def test_who_gets_none_and_what_went_out_does_not_matter(tmp_path: Path) -> None:
    site = settings(exclude_users=("ada",), min_uid=5000, holdout=1.0, holdout_until="2030-01-01")
    path = tmp_path / "t.db"
    before = kinds(shown(path, [ended(1), ended(2, ago=LAST_WEEK)], site))
    with opened(path) as db:
        run = sample(db, site, NOW).letters[0].due.run
    add_letters(path, [letter(run=run)])
    with opened(path) as db:
        assert kinds(sample(db, site, NOW)) == before == [("end", "ada"), ("digest", "ada"), ("operator", None)]


@pytest.mark.parametrize(
    ("user", "domain", "address"),
    [
        ("ada", "site.example", "ada@site.example"),
        ("ada", None, "ada@example.org"),
        ("a b\nBcc: x", None, "user@example.org"),
        ("x, y@z", None, "user@example.org"),
    ],
)
def test_an_address_is_made_of_the_name_where_it_makes_one(
    tmp_path: Path, user: str, domain: str | None, address: str
) -> None:
    site = Config()
    site = replace(site, feedback=replace(site.feedback, domain=domain))
    planned = shown(tmp_path / "t.db", [ended(1, user=user)], site)
    assert [one.due.address for one in planned.letters] == [address, "operators@example.org"]
