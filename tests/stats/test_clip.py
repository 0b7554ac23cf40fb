"""What part of a run belongs to a window."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from adminkit.stats.clip import Runs, overlap, use

DAY = 86_400
TIMES = some.integers(-(2**33), 2**33)
SPANS = some.integers(0, 2**32)


def run_time(start_time: int, end_time: int, elapsed: int, since: int, until: int) -> int:
    """One run by whole numbers, which `use` is held against: the seconds of `elapsed` in [since, until). For an open
    run `end_time` is now.

    Nobody knows when a run was suspended, so its run time is spread evenly from start to end. Windows that share no
    second and cover the run add up to `elapsed`. A run whose end is not after its start counts where it started.
    """
    if end_time <= start_time:
        return elapsed if since <= start_time < until else 0
    if since >= until:
        return 0
    first, last = (min(max(at, start_time), end_time) - start_time for at in (since, until))
    length = end_time - start_time
    return elapsed * last // length - elapsed * first // length


@pytest.mark.parametrize(
    ("run", "window", "seconds", "why"),
    [
        ((0, 14 * DAY, 14 * DAY), (DAY, 2 * DAY), DAY, "a run of 14 days fills a day of them"),
        ((0, 14 * DAY, 14 * DAY), (13 * DAY, 20 * DAY), DAY, "its last day is of the next week"),
        ((100, 200, 100), (200, 300), 0, "the second of its end is not its own"),
        ((100, 200, 100), (0, 100), 0, "the last second of a window is not the window's"),
        ((100, 200, 100), (0, 300), 100, "a run within the window is whole"),
        ((0, 1000, 500), (0, 500), 250, "suspended for half of its time, nobody knows when"),
        ((0, 1000, 0), (0, 1000), 0, "suspended all the time"),
        ((100, 100, 7), (100, 101), 7, "no length: all of it where it started"),
        ((100, 50, 7), (100, 101), 7, "a clock that was set back: the same"),
        ((100, 100, 7), (0, 100), 0, "and nowhere else"),
        ((0, 100, 100), (60, 40), 0, "a window that ends before it begins is empty"),
    ],
)
def test_a_window_gets_its_part_of_a_run(
    run: tuple[int, int, int], window: tuple[int, int], seconds: int, why: str
) -> None:
    assert run_time(*run, *window) == seconds, why


@given(TIMES, SPANS, SPANS, some.lists(TIMES, max_size=8))
def test_windows_that_cover_a_run_add_up_to_it(start: int, length: int, elapsed: int, cuts: list[int]) -> None:
    edges = [-(2**40), *sorted(cuts), 2**40]
    parts = [run_time(start, start + length, elapsed, *window) for window in pairwise(edges)]
    assert sum(parts) == elapsed
    assert min(parts) >= 0


@given(TIMES, SPANS, SPANS, TIMES, TIMES, SPANS, SPANS)
def test_a_wider_window_holds_no_less(
    start: int, length: int, elapsed: int, since: int, until: int, before: int, after: int
) -> None:
    run = start, start + length, elapsed
    assert run_time(*run, since, until) <= run_time(*run, since - before, until + after)


@given(TIMES, SPANS, TIMES, TIMES)
def test_a_run_that_was_never_suspended_has_what_it_shares_with_the_window(
    start: int, length: int, since: int, until: int
) -> None:
    end = start + length
    assert run_time(start, end, length, since, until) == overlap(start, end, since, until)


@given(TIMES, TIMES, TIMES, TIMES)
def test_what_two_stretches_share_is_the_same_seen_from_either(begin: int, end: int, since: int, until: int) -> None:
    shared = overlap(begin, end, since, until)
    assert shared == overlap(since, until, begin, end)
    assert 0 <= shared <= max(end - begin, 0)


@given(some.lists(some.tuples(some.integers(0, 900), some.integers(-5, 900), some.integers(0, 900)), max_size=8))
def test_many_runs_at_once_are_the_runs_one_by_one(runs: list[tuple[int, int, int]]) -> None:
    edges = [100, 130, 400, 401, 700]
    columns = [np.array([run[n] for run in runs], np.float64) for n in range(3)]
    found = use(Runs(columns[0], columns[0] + columns[1], columns[2], np.full(len(runs), 3.0)), edges)
    for place, (since, until) in enumerate(pairwise(edges)):
        each = [3 * run_time(start, start + length, elapsed, since, until) for start, length, elapsed in runs]
        assert abs(found[place] - sum(each)) < 3 * len(runs) + 1e-6, "each rounds by less than a second"
