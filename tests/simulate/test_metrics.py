"""What a schedule is worth, by tables computed by hand."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from adminkit.simulate.metrics import measure, steady_part, used

#: submit, start, end, size; the machine has 4 units
JOBS = np.array(
    [
        (0, 0, 100, 4),  # no wait
        (10, 100, 105, 2),  # 90 s of wait for 5 s of run: slowdown 95 / 10
        (20, 100, 200, 2),  # 80 s for 100 s: 180 / 100
        (40, -1, -1, 9),  # did not run
    ],
    dtype=np.int64,
)


def columns(which: slice = slice(None)) -> tuple[np.ndarray, ...]:
    return tuple(JOBS[which].T)


def test_the_figures_of_three_jobs() -> None:
    submit, start, end, size = columns()
    killed = np.array([False, True, False, False])
    assert asdict(measure(submit, start, end, killed, size, 4)) == pytest.approx(
        {
            "jobs": 3,
            "not_run": 1,
            "killed": 1,
            "avebsld": (1 + 9.5 + 1.8) / 3,
            "mean_bsld": None,  # the steady part is [10, 20], and no job ends in it
            "mean_wait": 170 / 3,
            "median_wait": 80,
            "p95_wait": 89,  # between 80 and 90, nine tenths of the way
            "mean_turnaround": (100 + 95 + 180) / 3,
            "makespan": 200,
            "utilization": 1.0,
            "utilization_all": (400 + 10 + 200) / 800,
        }
    )


def test_a_part_has_its_own_waits_and_everybodys_time() -> None:
    submit, start, end, size = columns()
    none = np.zeros(4, dtype=bool)
    part = measure(submit, start, end, none, size, 4, np.array([True, False, False, True]))
    assert (part.jobs, part.not_run, part.mean_wait, part.makespan) == (1, 1, 0, 200)
    assert part.utilization_all == pytest.approx(400 / 800)


def test_without_a_job_there_are_no_figures() -> None:
    submit, start, end, size = columns(slice(3, 4))
    nothing = measure(submit, start, end, np.zeros(1, dtype=bool), size, 4)
    assert (nothing.jobs, nothing.not_run, nothing.avebsld, nothing.utilization) == (0, 1, None, None)


def test_one_job_has_no_steady_part_and_an_unknown_machine_no_utilisation() -> None:
    submit, start, end, size = columns(slice(0, 1))
    one = measure(submit, start, end, np.zeros(1, dtype=bool), size, 4)
    assert (one.utilization, one.utilization_all) == (None, 1)
    assert measure(submit, start, end, np.zeros(1, dtype=bool), size, None).utilization_all is None


@pytest.mark.parametrize(
    ("jobs", "expected", "why"),
    [
        (1, (0, 0), "one job"),
        (100, (1, 99), "one of a hundred is warming up"),
        (101, (2, 100), "a hundredth is rounded up"),
        (1000, (10, 999), ""),
    ],
)
def test_the_steady_part_begins_behind_the_first_hundredth(jobs: int, expected: tuple[int, int], why: str) -> None:
    assert steady_part(np.arange(jobs)[::-1].copy()) == expected, why


def test_units_are_counted_within_two_moments() -> None:
    _, start, end, size = columns(slice(0, 3))
    assert used(start, end, size, 50, 150) == 4 * 50 + 2 * 5 + 2 * 50
    assert used(start, end, size, 300, 400) == 0
