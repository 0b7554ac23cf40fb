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

from adminkit.trace import record
from tests.native import helper

#: The grammar of docs/policy-spec.md, said another way.
GRAMMAR = re.compile(
    r"ak1:lim=(?:(\d+|inf),src=(e)|none,src=(d))"
    r"(?:,cls=[A-Za-z0-9_.+-]+)?(?:,own=[A-Za-z0-9_.+-]+)?(?:,rules=[A-Za-z0-9_.+-]+)?(?= |\Z)",
    re.ASCII,
)


def read(text: str | None) -> tuple[int | None, str]:
    """(limit_original, limit_source) as slurmctld's word for an open job is read."""
    with closing(sqlite3.connect(":memory:")) as db:
        sql = f"SELECT {record.limit_original('?1')}, {record.limit_source('?1')}"
        found: tuple[int | None, str] = db.execute(sql, (text,)).fetchone()
        return found


@pytest.mark.parametrize(
    ("text", "limit", "source", "why"),
    [
        ("ak1:lim=259200,src=e", 259200, "explicit", "typed"),
        ("ak1:lim=259200,src=e,rules=gq-max+long.jobs", 259200, "explicit", "and a rule lowered it"),
        ("ak1:lim=60,src=e,cls=multi-node", 60, "explicit", "it was paid for its class"),
        ("ak1:lim=60,src=e,own=node", 60, "explicit", "it takes whole nodes"),
        ("ak1:lim=60,src=e,cls=multi-node,own=node,rules=gq-max", 60, "explicit", "all there is"),
        ("ak1:lim=60,src=e,rules=gq-max,cls=multi-node", None, "unknown", "in another order"),
        ("ak1:lim=60,src=e,own=node,cls=a", None, "unknown", "these as well"),
        ("ak1:lim=60,src=e,cls=", None, "unknown", "no class"),
        ("ak1:lim=60,src=e,cls=,own=node", None, "unknown", "no class before what is whole"),
        ("ak1:lim=60,src=e,cls=a,cls=b", None, "unknown", "two classes"),
        ("ak1:lim=60,src=e,cls=a=b", None, "unknown", "a class that is two"),
        ("ak1:lim=none,src=d", None, "default", "not typed"),
        ("ak1:lim=none,src=d,rules=default", None, "default", "and a rule gave one"),
        ("ak1:lim=inf,src=e", None, "explicit", "typed, but no number"),
        ("ak1:lim=60,src=e my own comment", 60, "explicit", "what was there before follows"),
        ("ak1:lim=60,src=e ak1:lim=7200,src=e", 60, "explicit", "the first word counts"),
        (None, None, "unknown", "no record"),
        ("", None, "unknown", "an empty field"),
        ("JS1:H4sIAOnN", None, "unknown", "another tool wrote over it"),
        ("my ak1:lim=60,src=e", None, "unknown", "not the first word"),
        ("ak2:lim=60,src=e", None, "unknown", "a grammar of the future"),
        ("ak1:lim=60,src=ex", None, "unknown", "no such source"),
        ("ak1:lim=60", None, "unknown", "cut short"),
        ("ak1:lim=60,src=e,", None, "unknown", "cut short too"),
        ("ak1:lim=60,src=e,rules=", None, "unknown", "and again"),
        ("ak1:lim=,src=e", None, "unknown", "no limit"),
        ("ak1:lim=6o,src=e", None, "unknown", "no number"),
        ("ak1:lim=-60,src=e", None, "unknown", "nor one that can be"),
        ("ak1:lim=none,src=e", None, "unknown", "typed nothing? It contradicts itself"),
        ("ak1:lim=60,src=d", None, "unknown", "as does this"),
        ("ak1:src=e,lim=60", None, "unknown", "the keys have an order"),
        ("ak1:lim=60,src=e,rules=a;DROP", None, "unknown", "not of the alphabet"),
        ("ak1:lim=60,src=e,rules=a,b", None, "unknown", "rules are joined by +"),
        ("AK1:lim=60,src=e", None, "unknown", "spelt otherwise"),
    ],
)
def test_a_field_says(text: str | None, limit: int | None, source: str, why: str) -> None:
    assert read(text) == (limit, source), why


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


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=12).map("".join), min_size=30, max_size=60))
def test_slurmctlds_word_and_saccts_text_are_read_alike(texts: list[str]) -> None:
    texts = [*texts, "ak1:lim=60,src=e", "ak1:lim=none,src=d,rules=a mine", "ak1:lim=inf,src=e", "ak1:lim=60,src=e\nx"]
    with tempfile.TemporaryDirectory() as folder:
        assert imported(texts, Path(folder)) == [read(text) for text in texts]
