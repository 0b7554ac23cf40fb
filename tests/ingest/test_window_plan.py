"""Which stretches of time a run asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.ingest.window_plan import HOUR, Width, Window, covered, cut, gaps, to_ask

pairs = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 100)).map(lambda p: (p[0], p[0] + p[1])), max_size=12)


@pytest.mark.parametrize(
    ("settled", "provisional", "expected", "why"),
    [
        ([], [], [(0, 1000)], "a first run asks for everything"),
        ([(0, 900)], [], [(800, 1000)], "afterwards the overlap and what is new"),
        ([(0, 300), (400, 900)], [], [(300, 400), (800, 1000)], "a gap is asked for again"),
        ([(0, 900)], [(200, 300)], [(200, 300), (800, 1000)], "what was provisional is asked for again"),
        ([(0, 850)], [(850, 900)], [(800, 1000)], "and joined with the overlap where they touch"),
        ([(0, 1000)], [], [(900, 1000)], "even when nothing is new"),
        ([(200, 900)], [], [(0, 200), (800, 1000)], "an earlier --since asks for what lies before"),
    ],
)
def test_a_run_asks_for(
    settled: list[tuple[int, int]], provisional: list[tuple[int, int]], expected: list[tuple[int, int]], why: str
) -> None:
    asked = to_ask(settled, provisional, first=0, now=1000, overlap=100)
    assert [(w.since, w.until) for w in asked] == expected, why


@given(pairs, pairs, st.integers(0, 300), st.integers(300, 900), st.integers(1, 100))
def test_afterwards_nothing_between_the_first_day_and_now_is_unasked(
    settled: list[tuple[int, int]], provisional: list[tuple[int, int]], first: int, now: int, overlap: int
) -> None:
    asked = [(w.since, w.until) for w in to_ask(settled, provisional, first, now, overlap)]
    assert gaps([*settled, *asked], first, now) == []
    for since, until in provisional:
        assert gaps(asked, max(since, first), min(until, now)) == []


@given(pairs, st.integers(0, 600), st.integers(0, 600))
def test_gaps_and_what_is_covered_share_no_second_and_leave_none_out(
    windows: list[tuple[int, int]], since: int, until: int
) -> None:
    inside = {t for w in windows for t in range(*w)}
    missing = {t for gap in gaps(windows, since, until) for t in range(gap.since, gap.until)}
    assert missing == set(range(since, until)) - inside
    assert {t for w in covered(windows) for t in range(w.since, w.until)} == inside


def test_windows_start_at_an_hour_grow_to_the_budget_and_halve_after_an_error() -> None:
    width = Width(budget=1000)
    widths = []
    at = 0
    for rows in (10, 20, 400, 900, 4000, 500):
        window = cut(Window(at, 10**9), at, width)
        widths.append(window.width)
        width.grew(window, rows)
        at = window.until
    assert widths == [HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR, 2 * HOUR]
    window = cut(Window(at, 10**9), at, width)
    width.shrank(window)
    assert width.seconds == window.width // 2


def test_the_narrowest_window_cannot_shrink() -> None:
    width = Width(budget=1000, seconds=60)
    width.shrank(Window(0, 60))
    assert width.seconds == 60
