"""Shares as a line of blocks."""

from __future__ import annotations

import pytest

from adminkit.render.sparkline import PLAIN, sparkline


@pytest.mark.parametrize(
    ("shares", "line", "plain", "why"),
    [
        ([0, 0.5, 1], "▁▅█", "_=#", "the ends and the middle"),
        ([0.001, 0.999], "▂▇", ".*", "never the block of nothing, nor that of all"),
        ([None, 0, None], "·▁·", "?_?", "not measured is not idle"),
        ([-0.5, 2], "▁█", "_#", "beyond the ends"),
        ([], "", "", "nothing"),
    ],
)
def test_a_share_is_a_block(shares: list[float | None], line: str, plain: str, why: str) -> None:
    assert sparkline(shares) == line, why
    assert sparkline(shares).translate(PLAIN) == plain, why
