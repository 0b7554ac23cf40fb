"""Rows with long texts in the terminal."""

from __future__ import annotations

import pytest

from adminkit.render.records import records
from adminkit.render.report import Field

FIELDS = (
    Field("what"),
    Field("user"),
    Field("hours", "hours"),
    Field("advice", below=True),
    Field("command", below=True),
)


@pytest.mark.parametrize(
    ("rows", "width", "expected", "why"),
    [
        ([], 80, ["what"], "no row: the first column alone"),
        (
            [["flood", "ada", "-", "submit an array", "-"], ["x", "bo", "-", "-", ""]],
            80,
            ["what   user", "flood  ada", "    submit an array", "x      bo"],
            "nobody has hours; a row without texts is one line",
        ),
        (
            [["a", "-", "1,234", "one two three four five six seven eight nine", "run me"]],
            40,
            ["what  hours", "a     1,234", "    one two three four five six seven", "    eight nine", "    run me"],
            "texts are wrapped, numbers stand to the right",
        ),
        (
            [["aaaaaaaaaaaaaaaaaaaa", "bbbbbbb", "1", "advice", "-"]],
            12,
            ["what", "aaaaaaaaaaa…", "    user bbbbbbb  hours 1", "    advice"],
            "a first column that is too wide is cut, the others stand below",
        ),
        (
            [["flood", "ada", "12", "-", "-"], ["x", "-", "3", "-", "-"]],
            12,
            ["what   user", "flood  ada", "    hours 12", "x      -", "    hours 3"],
            "what does not fit beside has its name",
        ),
        ([["待機", "ada", "-", "-", "-"]], 80, ["what  user", "待機  ada"], "wide letters"),
    ],
)  # fmt: skip
def test_rows_with_their_texts(rows: list[list[str]], width: int, expected: list[str], why: str) -> None:
    assert [line for line in records(FIELDS, rows, width) if line] == expected, why
