"""The last runs of one person, of arrays a fair sample."""

from __future__ import annotations

from collections import Counter

from adminkit.recommend.recent import Recent
from adminkit.stats.runs import Kind, Run


def run(submit: int, array: int | None = None, elapsed: int = 60) -> Run:
    return Run(Kind("aaic", "ada"), 1, array, submit, submit + elapsed, elapsed, "COMPLETED")


def test_the_last_runs_are_kept_in_their_order() -> None:
    recent = Recent(10)
    for submit in range(25):
        recent.add(run(submit))
    assert [one.submit_time for one in recent.runs()] == list(range(15, 25))


def test_an_array_leaves_room_for_what_was_run_before_it() -> None:
    recent = Recent(30, per_array=4)
    for submit in range(10):
        recent.add(run(submit))
    for task in range(5000):
        recent.add(run(10, array=7, elapsed=task))
    kept = recent.runs()
    assert len(kept) == 14 and [one.submit_time for one in kept[:10]] == list(range(10))


def test_a_sample_of_an_array_is_fair_and_always_the_same() -> None:
    """People sort tasks by size: the first, or the last, would not do."""
    thirds: Counter[int] = Counter()
    for array in range(300):
        samples = []
        for _ in range(2):
            recent = Recent(100)
            for task in range(300):
                recent.add(run(0, array, elapsed=task))
            samples.append(recent.runs())
        assert samples[0] == samples[1] and len(samples[0]) == 16
        thirds.update(one.elapsed // 100 for one in samples[0])
    assert all(0.9 < count / 1600 < 1.1 for count in thirds.values()), thirds


def test_arrays_that_are_forgotten_leave_nothing() -> None:
    recent = Recent(40)
    for array in range(1000):
        for _ in range(20):
            recent.add(run(array, array))
    assert len(recent._arrays) <= 3 and len(recent.runs()) <= 40
