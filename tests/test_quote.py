"""Strangers' text within lines of ours."""

from __future__ import annotations

import pytest

from adminkit.quote import clean, quote


@pytest.mark.parametrize("letter", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ud800", "\u2028"])
def test_what_steers_a_terminal_is_shown_instead(letter: str) -> None:
    assert clean(f"a{letter}b").isascii()
    assert clean(clean(letter)) == clean(letter)


def test_letters_of_the_world_stay() -> None:
    assert clean("gq-größe 大きい é") == "gq-größe 大きい é"


@pytest.mark.parametrize(
    ("text", "shown", "why"),
    [
        ("word", "word", "short text stays"),
        ("x" * 60, "x" * 60, "so does what just fits"),
        ("x" * 61, "x" * 59 + "…", "the rest is a …"),
        ("x" * 4000, "x" * 59 + "…", "whatever its length"),
        ("\x1b" * 60, "\\x1b" * 14 + "\\x1…", "an escape counts with all its characters"),
        ("", "", "nothing is nothing"),
    ],
)
def test_long_text_is_cut(text: str, shown: str, why: str) -> None:
    assert quote(text) == shown, why
    assert len(quote(text)) <= 60, why
