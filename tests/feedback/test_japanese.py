"""The Japanese of letters, in the golden ones, which test_letters.py and test_lost.py compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import GOLDEN
from tests.support.japanese import spaces

LETTERS = sorted((GOLDEN / "letters").glob("*-ja.*"))


@pytest.mark.parametrize("path", LETTERS, ids=lambda path: path.name)
def test_a_letter_has_no_space_where_its_other_sentences_have_none(path: Path) -> None:
    assert spaces(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "found", "why"),
    [
        ("要求した時間の26\N{NO-BREAK SPACE}%を使用", False, "a percentage and its particle"),
        ("要求した時間の26\N{NO-BREAK SPACE}% を使用", True, "a space between them"),
        ("予算 85.00 points のうち", False, "a Latin word"),
        ("gq-2 では", False, "a name that ends in a digit"),
        ("2026-01 は", False, "a month"),
        ("平均は 0.35 でした", True, "a number"),
        ("3 ジョブ は", True, "two Japanese letters"),
        ("使いました。 GPU は", True, "after a sentence"),
    ],
)
def test_which_spaces_are_found(text: str, found: bool, why: str) -> None:
    assert bool(spaces(text)) == found, why
