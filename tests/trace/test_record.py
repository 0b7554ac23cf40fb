"""The record of a policy's decision, read back: whole and ours, or not at all."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adminkit.trace import decision_sql
from tests.native import helper
from tests.support.comment_words import CASES, Case

#: The grammar of docs/comment-words.md, said another way.
GRAMMAR = re.compile(
    r"ak1:lim=(?:(\d+|inf),src=(e)|none,src=(d))"
    r"(?:,cls=[A-Za-z0-9_.+-]+)?(?:,own=[A-Za-z0-9_.+-]+)?"
    r"(?:,min=[A-Za-z0-9_.+-]+)?(?:,keep=[A-Za-z0-9_.+-]+)?(?:,soft=[A-Za-z0-9_.+-]+)?"
    r"(?:,el=[A-Za-z0-9_.+-]+)?(?:,ext=[A-Za-z0-9_.+-]+)?(?:,rules=[A-Za-z0-9_.+-]+)?(?= |\Z)",
    re.ASCII,
)


def read(text: str | None) -> tuple[int | None, str]:
    """(limit_original, limit_source) as slurmctld's word for an open job is read."""
    with closing(sqlite3.connect(":memory:")) as db:
        sql = f"SELECT {decision_sql.limit_original('?1')}, {decision_sql.limit_source('?1')}"
        found: tuple[int | None, str] = db.execute(sql, (text,)).fetchone()
        return found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_comment_says(case: Case) -> None:
    expected = (case.record.limit, case.record.source) if case.record else (None, "unknown")
    assert read(case.comment) == expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_record_names_the_class_that_was_paid(case: Case) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        paid = db.execute(f"SELECT {decision_sql.paid_class('?1')}", (case.comment,)).fetchone()[0]
    assert paid == (case.record.more.get("cls") if case.record else None)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_record_says_what_backfill_plans_with(case: Case) -> None:
    whole = f"CASE WHEN {decision_sql.limit_source('?1')} = 'explicit' THEN {decision_sql.soft_limit('?1')} END"
    with closing(sqlite3.connect(":memory:")) as db:
        planned = db.execute(f"SELECT {whole}", (case.comment,)).fetchone()[0]
    given = (case.record.more.get("soft") if case.record else None) or ""
    assert planned == (min(int(given), 2**63 - 1) if given.isdigit() else None)


def test_a_job_without_a_comment_has_no_record() -> None:
    assert read(None) == (None, "unknown")


def imported(texts: list[str], folder: Path) -> list[tuple[int | None, str | None]]:
    """The same of sacct's text, as adminkit-ingest reads it."""
    path = helper.table(folder / "t.db", "nth", "lim", "src")
    data = "".join(f"{nth}\x1f{text}\x1f\n" for nth, text in enumerate(texts)).encode()
    shape = ("--ends", "--delimiter", "\x1f", "--columns", "int,admin_comment")
    assert helper.run(data, "--db", path, *shape, "--sql", "INSERT INTO t VALUES (?1, ?3, ?4)").code == 0
    return helper.rows(path, "SELECT lim, coalesce(src, 'unknown') FROM t ORDER BY nth")


PIECES = st.sampled_from(
    [
        "ak1:",
        "lim=",
        "60",
        "inf",
        "none",
        ",",
        "src=",
        "e",
        "d",
        "rules=",
        "cls=",
        "own=",
        "min=",
        "keep=",
        "soft=",
        "el=",
        "a",
        "+",
        " ",
        "x",
        "=",
        "\n",
        "[",
        "*",
        "ü",
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
@example("ak1:lim=60,src=e,rules=a+b c")
@example("ak1:lim=60,src=e\n")
def test_it_is_read_where_the_grammar_has_it_and_nowhere_else(text: str) -> None:
    found = GRAMMAR.match(text)
    if found is None:
        assert read(text) == (None, "unknown")
    else:
        number = found.group(1)
        limit = int(number) if number and number.isdigit() else None
        assert read(text) == (limit, "default" if found.group(3) else "explicit")


def test_slurmctlds_word_and_saccts_text_of_every_case_are_read_alike(tmp_path: Path) -> None:
    texts = [case.comment for case in CASES]
    assert imported(texts, tmp_path) == [read(text) for text in texts]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=12).map("".join), min_size=30, max_size=60))
def test_slurmctlds_word_and_saccts_text_are_read_alike(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert imported(texts, Path(folder)) == [read(text) for text in texts]
