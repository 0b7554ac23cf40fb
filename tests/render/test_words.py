"""Values in people's words."""

from __future__ import annotations

from datetime import UTC

import pytest

from adminkit.render.format import percent, show, some
from adminkit.render.report import Cell, Style


@pytest.mark.parametrize(
    ("value", "style", "text"),
    [
        (None, "count", "-"),
        (55127, "count", "55,127"),
        (0.1034, "ratio", "0.103"),
        (0.9548, "share", "95.48 %"),
        (0.25, "hours", "0.2"),
        (2578303.4, "hours", "2,578,303"),
        (90, "duration", "00:01:30"),
        (0, "time", "1970-01-01T00:00:00"),
        ("a\x1b[2Jb\n", "text", "a\\x1b[2Jb\\n"),
    ],
)
def test_each_style_has_its_form(value: Cell, style: Style, text: str) -> None:
    assert show(value, style, UTC) == text


@pytest.mark.parametrize(
    ("share", "text", "why"),
    [
        (0.0, "0.0 %", "none is none"),
        (1.0, "100.0 %", "all is all"),
        (0.0004, "<0.1 %", "a few are not none"),
        (0.9998, ">99.9 %", "nearly all is not all"),
        (0.0005, "0.1 %", "half a step is a step"),
        (1.5, "150.0 %", "ratios may be above 1"),
    ],
)
def test_shares_are_not_rounded_to_none_or_all(share: float, text: str, why: str) -> None:
    assert percent(share) == text, why


def test_long_lists_are_cut() -> None:
    assert some([str(n) for n in range(9)]) == "0, 1, 2, 3, 4, 5 and 3 more"
