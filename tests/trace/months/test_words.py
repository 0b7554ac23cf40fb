"""Texts become numbers on their way out of files: whichever words there are, and however many."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from adminkit.job import Job
from adminkit.trace.connect import reader
from adminkit.trace.months import door, words
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.months import keep

pytest.importorskip("duckdb")

DAY = 24 * HOUR
HOSTILE = ("'; DROP TABLE job; --", "$words_0", "{run}", ":v0", 'a"b', "a\x1fb", "\\'", "", "日本", "words_0")


def runs(names: list[str | None], open_names: list[str | None]) -> list[Job]:
    """Runs with these job names: of a month that is over, and runs that are in SQLite only."""
    over = [job(number, job_name=name) for number, name in enumerate(names)]
    return over + [
        job(1000 + number, job_name=name, start_time=None, end_time=None, elapsed=None, submit_time=MONDAY + 400 * DAY)
        for number, name in enumerate(open_names)
    ]


@pytest.mark.parametrize(
    ("few", "many"),
    [(1000, 20_000), (0, 20_000), (0, 0), (3, 5)],
    ids=["a list", "a type", "a type of the answer", "some of each"],
)
@pytest.mark.parametrize(
    ("names", "open_names", "why"),
    [
        (["train"] * 5, [], "one word for all: it is not even read"),
        (["train"] * 5, ["train"], "the same word in SQLite"),
        (["train"] * 5, ["other"], "another one in SQLite"),
        (["train"] * 5, [None], "none in SQLite"),
        ([None] * 4, [], "nothing is known"),
        ([None, "train", None], ["b", None], "some is known"),
        ([*HOSTILE, *HOSTILE[:3]], [HOSTILE[0], "new'"], "words are values, whatever they say"),
        ([f"name{number}" for number in range(9)], ["name3"], "many words"),
    ],
)
def test_groups_have_the_words_of_their_rows(
    tmp_path: Path,
    names: list[str | None],
    open_names: list[str | None],
    why: str,
    few: int,
    many: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(words, "FEW", few)
    monkeypatch.setattr(words, "MANY", many)
    path = make_trace(tmp_path / "trace.db", runs(names, open_names))
    assert [one.why for one in keep(path)] == [None]
    with reader(path) as db:
        assert door.reads_files(db, ["job_name"], "FROM run WHERE TRUE", {})
        for rest, expected in (("FROM run WHERE TRUE", [*names, *open_names]), ("FROM run WHERE elapsed > 0", names)):
            with door.of_one_trace(db):
                asked = door._doors[id(db)]
                assert asked.has_files(rest, {})
                found = asked.groups(("job_name", "queue"), (), (), (), rest, {})
                rows = asked.columns(("job_name",), (), rest, {})
            assert found and rows, f"DuckDB answers: {why}"
            (names_of, _), jobs = found.texts, found.jobs.tolist()
            got = {names_of.names[code]: many for code, many in zip(names_of.codes.tolist(), jobs, strict=True)}
            assert got == Counter(expected), why
            assert Counter(rows[0][0].names[code] for code in rows[0][0].codes.tolist()) == Counter(expected), why


def test_no_group_is_made_of_no_row(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "trace.db", runs(["train"] * 3, []))
    assert [one.why for one in keep(path)] == [None]
    with reader(path) as db:
        none = door.groups(db, ("job_name",), (), (), (), "FROM run WHERE elapsed < 0", {})
        assert (len(none.jobs), len(none.texts[0].codes)) == (0, 0)
        assert door.groups(db, (), (), (), (), "FROM run WHERE elapsed < 0", {}).jobs.tolist() == [0]
