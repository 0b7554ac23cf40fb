"""What the bench of the search says of its sides."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.bench.bench_tune import OURS, RANDOM, compared


@pytest.mark.parametrize(
    ("ours", "plain", "said"),
    [
        ([-0.5, -0.6, -0.7, -0.6], [-0.3, -0.4, -0.3, -0.4], "beats"),
        ([-0.3, -0.4, -0.3, -0.4], [-0.5, -0.6, -0.7, -0.6], "is worse than"),
        ([-0.5, -0.2, -0.7, -0.1], [-0.3, -0.4, -0.6, -0.3], "is not shown to beat"),
    ],
)
def test_it_says_whether_the_search_beats_random_search(
    ours: Sequence[float], plain: Sequence[float], said: str
) -> None:
    lines = list(compared({RANDOM: plain, OURS: ours}))
    assert lines[-1] == f"adminkit tune {said} plain random search with the same budget"
    assert "points to ours (95 % " in lines[0] and "points" not in lines[1]
