"""How the comparisons of `adminkit fit` with real submissions are counted; without Slurm."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.cluster.harness.requests import outcomes, printed, wrong

#: (what was said, what Slurm did) of each request; right, unknown and wrong; why
COUNTED = [
    ([("now", "now"), ("later", "later"), ("never", "never")], (3, 0, 0), "each said what was done"),
    ([("unknown", "now"), ("unknown", "never")], (0, 2, 0), "whatever was done, nothing was said"),
    ([("now", "later"), ("later", "now"), ("later", "never"), ("never", "now")], (0, 0, 4), "another thing was done"),
    ([("never", "later")], (1, 0, 0), "26.05 lets it wait for ever"),
    ([("now", "now")] * 5 + [("unknown", "later")] * 2 + [("now", "never")], (5, 2, 1), "several of a kind"),
]


@pytest.mark.parametrize(("seen", "expected", "why"), COUNTED)
def test_each_request_is_right_or_unknown_or_wrong(
    seen: list[tuple[str, str]], expected: tuple[int, int, int], why: str
) -> None:
    found = outcomes(Counter(seen))
    assert (found["right"], found["unknown"], found["wrong"]) == expected, why
    assert found.total() == len(seen)
    assert (wrong(Counter(seen)), printed(Counter(seen))) == (expected[2], expected[0] / len(seen)), why
