"""No letter says "1 CPUs": every number in English words goes with its noun."""

from __future__ import annotations

import re

import pytest

from adminkit.feedback.format import plural
from adminkit.installed import data_file

#: `{{ number | count }} nouns` without a choice of words: right for 1 by chance only. In these the number is above 1.
ABOVE_ONE = ("more_memory.nodes", "more_memory.runs", "advice.tried")


@pytest.mark.parametrize(("number", "expected"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1234, "1,234 runs")])
def test_a_noun_goes_with_its_number(number: int, expected: str) -> None:
    assert plural(number, "run") == expected


def test_no_sentence_of_a_letter_has_a_number_before_a_fixed_plural() -> None:
    words = data_file("etc", "letters", "words.en.j2").read_text()
    found = re.findall(r"\{\{ ([\w.]+)(?: \| count)? \}\} (?:[a-z-]+ )?([A-Za-z]{2,}s)\b", words)
    wrong = [(value, noun) for value, noun in found if value not in ABOVE_ONE and not noun.endswith("ss")]
    assert [one for one in wrong if one[1] not in ("was", "is", "has", "its", "allows", "failed")] == []
