"""No letter says "1 CPUs": every number in English words goes with its noun."""

from __future__ import annotations

import re

from adminkit.installed import data_file

#: Numbers of gettext(), which has no choice of words: in these sentences the number is above 1.
ABOVE_ONE = {"nodes", "runs"}


def test_no_sentence_of_a_letter_has_a_number_before_a_fixed_plural() -> None:
    words = data_file("etc", "letters", "words.j2").read_text()
    calls = re.findall(r"(?<![a-z])gettext\(\"([^\"]*)\", ([^\n]*)", words)
    assert len(calls) > 50
    wrong = [
        (sentence, value)
        for sentence, values in calls
        for value in set(re.findall(r"(\w+)=[\w.]+ \| count", values)) - ABOVE_ONE
        if re.search(rf"%\({value}\)s (?:[a-z-]+ )?(?!was|is|has|its)[A-Za-z]{{2,}}s\b", sentence)
    ]
    assert wrong == []
