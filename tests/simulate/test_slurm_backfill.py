"""The backfill loop of the model slurm. Each start follows from docs/simulate-slurm.md.

The cases share a scene: A runs on one of two nodes until 601, B behind it needs both, H one. The main loop stops at B,
so H starts early only by backfill, which first looks at 30: when it ends before B's reservation begins.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.slurm_case import Job, job, schedule, starts

A = job(0, 600, limit=600)
B = job(2, 600, limit=600, nodes=2)
WIDE = job(2, 600, limit=600, nodes=3)


def h(limit: int, run: int = 60, **fields: int) -> Job:
    return job(2, min(run, limit), limit=limit, **fields)


@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        ([A, B, h(300)], {}, [1, 603, 30], "it ends before B's start"),
        ([A, B, h(300)], {"backfill": 0}, [1, 603, 1204], "sched/builtin"),
        ([A, B, h(700)], {}, [1, 603, 1204], "it would delay B"),
        ([A, B, h(300)], {"bf_interval": 100}, [1, 603, 100], "bf_interval"),
        ([A, B, h(569)], {}, [1, 603, 30], "it ends at 599; B's reservation begins at 600"),
        ([A, B, h(570)], {}, [1, 603, 1204], "bf_resolution: 601 is rounded down to 600"),
        ([A, B, h(570)], {"bf_resolution": 1}, [1, 603, 30], "bf_resolution=1"),
        ([A, B, h(571)], {"bf_resolution": 1}, [1, 603, 1204], "an end in the second of a reservation meets it"),
        ([A, B, h(3600, 900)], {"bf_window": 540}, [1, 930, 30], "B starts after bf_window: it has no reservation"),
        ([A, B, h(3600, 900)], {"bf_window": 660}, [1, 603, 1204], "it starts within"),
        ([A, B, h(300, 300, plan=60)], {"release": 2411}, [1, 603, 30], "TimeMin of a job that fits anyway"),
        ([job(0, 20, limit=600), B, h(300)], {}, [1, 22, 623], "B has started before backfill looks"),
        ([A, B, h(300), h(300)], {}, [1, 603, 30, 90], "the second H after the first, where both end before B"),
        ([A, B, h(300), h(300)], {"epilog": 5}, [1, 606, 30, 120], "it waits for the epilog and the next pass"),
        ([A, B, h(300)], {"bf_max_job_test": 1}, [1, 603, 1204], "bf_max_job_test: H is not reached"),
        ([A, WIDE, h(300), h(300)], {"nodes": 3, "bf_max_job_start": 1}, [1, 603, 30, 60], "bf_max_job_start"),
        ([A, WIDE, h(300), h(300)], {"nodes": 3}, [1, 603, 30, 30], "without it both start"),
        (
            [A, WIDE, h(300), h(300)],
            {"nodes": 3, "bf_max_job_user": 2},
            [1, 603, 30, 60],
            "bf_max_job_user: B and the first H are the user's two",
        ),
        (
            [A, WIDE, h(300), h(300, user=1)],
            {"nodes": 3, "bf_max_job_user": 2},
            [1, 603, 30, 30],
            "another user's are others",
        ),
        ([A, WIDE, h(300), h(300)], {"nodes": 3, "bf_max_job_part": 2}, [1, 603, 30, 60], "bf_max_job_part"),
        ([A, B, h(300)], {"bf_max_time": 0}, [1, 603, 1204], "bf_max_time"),
    ],
)
def test_who_starts_early(jobs: list[Job], site: dict[str, Any], expected: list[int], why: str) -> None:
    assert starts(jobs, **{"nodes": 2, **site}) == expected, why


#: Where B gets no reservation, an H of an hour starts, and B after it.
@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        ([A, {**B, "priority": 10}, h(3600, 900, priority=1)], {}, [1, 603, 1204], "B has a reservation"),
        (
            [A, {**B, "priority": 10}, h(3600, 900, priority=1)],
            {"bf_min_prio_reserve": 11},
            [1, 905, 4],
            "bf_min_prio_reserve: nobody reserves below it, and the main loop goes on behind B",
        ),
        (
            [A, {**B, "priority": 10}, h(3600, 900, priority=1)],
            {"bf_min_prio_reserve": 10},
            [1, 603, 1204],
            "B's priority suffices",
        ),
        ([A, B, h(3600, 900)], {"bf_min_age_reserve": 100}, [1, 905, 4], "bf_min_age_reserve: B is too young to block"),
        ([A, B, job(110, 900, limit=3600)], {"bf_min_age_reserve": 100}, [1, 603, 1204], "now it is old enough"),
        (
            [A, B, {**B, "submit": 3}, h(300)],
            {"bf_job_part_count_reserve": 1},
            [1, 603, 1204, 30],
            "bf_job_part_count_reserve",
        ),
    ],
)
def test_who_has_a_reservation(jobs: list[Job], site: dict[str, Any], expected: list[int], why: str) -> None:
    assert starts(jobs, nodes=2, **site) == expected, why


#: X runs on a node of its own queue until 301, A on another until 601; B may use either queue, H fits beside A's.
TWO_QUEUES: dict[str, Any] = {"nodes": [{"queues": 0b01}, {"queues": 0b10}], "queues": [{}, {}]}
IN_BOTH = [job(0, 300, limit=300), job(0, 600, limit=600, queues=2), job(2, 600, limit=600, queues=3)]


def test_a_job_in_two_queues_has_a_reservation_in_each_and_with_one_resv_per_job_in_the_first_alone() -> None:
    late = job(320, 30, limit=60, queues=1)
    assert starts([*IN_BOTH, late], **TWO_QUEUES) == [1, 1, 303, 904]
    third = {"nodes": [{"queues": 1, "count": 2}, {"queues": 2, "count": 2}], "queues": [{}, {}]}
    wide = [job(0, 300, limit=300), job(0, 600, limit=600, queues=2), job(2, 600, limit=600, queues=3, nodes=2)]
    behind = job(2, 50, limit=700, queues=2)
    assert starts([*wide, behind], **third) == [1, 1, 303, 303], "its record in queue 2 keeps a node there, too"
    assert starts([*wide, behind], **third, bf_one_resv_per_job=1) == [1, 1, 303, 30], (
        "only the first queue's record reserves"
    )


@pytest.mark.parametrize(
    ("most", "expected", "why"),
    [
        (20, [1, 603, 603, 603, 1204], "each of an array's three jobs has a reservation: H would delay the third"),
        (2, [1, 603, 603, 603, 30], "bf_max_job_array_resv: two have one, and leave a node to H"),
    ],
)
def test_reservations_of_an_array(most: int, expected: list[int], why: str) -> None:
    running = job(0, 600, limit=600, nodes=3)
    array = [job(2, 600, limit=600, array=0, whole=1) for _ in range(3)]
    jobs = [running, *array, job(2, 60, limit=3600)]
    assert starts(jobs, nodes=[{"count": 3, "cpus": 2}], bf_max_job_array_resv=most) == expected, why


def test_an_array_whose_task_cannot_start_is_not_tested_again_in_a_pass() -> None:
    tasks = [job(2, 9, limit=900, nodes=2, array=0) for _ in range(50)]
    said = schedule([A, *tasks], nodes=2, bf_min_prio_reserve=5, bf_interval=1000)
    alone = schedule([A, *[{**one, "array": -1} for one in tasks]], nodes=2, bf_min_prio_reserve=5, bf_interval=1000)
    assert said.start.tolist() == alone.start.tolist()
    assert said.facts["job_tests"] < alone.facts["job_tests"] / 5


@pytest.mark.parametrize(
    ("linear", "expected", "why"),
    [
        (
            0,
            [1, 1, 1, 603, 30],
            "windows of 30, 60 … 960 seconds: the ends at 601 and 900 are one, B is planned for 900",
        ),
        (10, [1, 1, 1, 603, 900], "windows of 30, 40 … 490 seconds: B is planned for 603, and H of 700 seconds waits"),
    ],
)
def test_windows_of_ends_grow(linear: int, expected: list[int], why: str) -> None:
    running = [job(0, limit, limit=limit) for limit in (100, 600, 899)]
    assert starts([*running, WIDE, h(700)], nodes=4, bf_resolution=1, bf_window_linear=linear) == expected, why


def test_ends_within_thirty_seconds_of_each_other_are_one() -> None:
    """B could start at 601 and is planned for 651, the last end within 30 seconds of 630."""
    running = [job(0, 600, limit=600), job(0, 650, limit=650)]
    assert starts([*running, B, h(600)], nodes=3, bf_resolution=1) == [1, 1, 603, 30]
    assert starts([running[0], job(0, 661, limit=661), B, h(600)], nodes=3, bf_resolution=1) == [1, 1, 603, 663]


@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        ([A, B, h(300)], {}, [1, 605, 40], "each test takes five seconds; at 601 backfill holds the lock"),
        ([A, B, h(300)], {"bf_max_time": 4}, [1, 605, 1206], "bf_max_time is over after the first"),
        (
            [A, B, h(300), job(33, 9, nodes=2)],
            {},
            [1, 605, 75, 1206],
            "a submission while locks are yielded ends the pass",
        ),
        ([A, B, h(300), job(33, 9, nodes=2)], {"bf_continue": 1}, [1, 605, 40, 1206], "bf_continue"),
        (
            [A, B, h(300), job(33, 9, nodes=2)],
            {"bf_yield_interval": 60_000_000},
            [1, 610, 40, 1211],
            "locks are not yielded",
        ),
        ([A, B, h(300)], {"bf_yield_sleep": 7_000_000}, [1, 605, 47], "bf_yield_sleep"),
        (
            [A, B, h(300), job(0, 32, queues=2), job(2, 10, queues=2, limit=60)],
            {"bf_yield_interval": 60_000_000, "nodes": [{"count": 2}, {"queues": 2}], "queues": [{}, {}]},
            [1, 605, 40, 1, 45],
            "an end at 33: the main loop waits until backfill is over",
        ),
    ],
)
def test_the_time_that_tests_take(jobs: list[Job], site: dict[str, Any], expected: list[int], why: str) -> None:
    assert starts(jobs, **{"nodes": 2, "test_micros": 5_000_000, **site}) == expected, why


@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        ([A, B, h(300, plan=60)], {"release": 2411}, (30, 90, 1), "it needs no more than 60"),
        (
            [A, B, h(3600, 300, plan=60)],
            {"release": 2411, "kill_wait": 0},
            (30, 90, 2),
            "before 25.05.3 it is cut to TimeMin",
        ),
        (
            [A, B, h(3600, 900, plan=60)],
            {"release": 2605, "kill_wait": 0},
            (30, 570, 2),
            "since, only as far as B's planned start: (600 - 30) // 60 minutes",
        ),
        (
            [A, B, h(3600, 900, plan=60)],
            {"release": 2605, "time_min_as_soft_limit": 1},
            (30, 930, 1),
            "a soft limit is not cut",
        ),
        (
            [A, B, h(3600, 900, plan=600)],
            {"release": 2605, "time_min_as_soft_limit": 1},
            (1204, 2104, 1),
            "and still is what backfill plans with",
        ),
    ],
)
def test_time_min(jobs: list[Job], site: dict[str, Any], expected: tuple[int, int, int], why: str) -> None:
    said = schedule(jobs, nodes=2, **site)
    assert (said.start.tolist()[2], said.end.tolist()[2], said.outcome.tolist()[2]) == expected, why


@pytest.mark.parametrize(
    ("release", "expected", "why"),
    [
        (2411, 1204, "before 25.05.4 B's start is A's hard end"),
        (2605, 30, "since, A is thought to end at 301"),
    ],
)
def test_a_soft_limit_of_a_running_job(release: int, expected: int, why: str) -> None:
    """A has TimeMin 300 and runs 600. H of 400 seconds ends before 601 and not before 301."""
    soft = {"release": release, "time_min_as_soft_limit": 1, "nodes": 2}
    jobs = [{**A, "plan": 300}, B, h(400)]
    assert (starts(jobs, **soft)[2] == 30) == (expected == 1204), why


@pytest.mark.parametrize(("limit", "early"), [(1500, True), (1800, False)])
def test_half_of_what_remains_for_a_job_that_outlives_its_soft_limit(limit: int, early: bool) -> None:
    """At 420 A, planned to 301 and limited to 3601, is thought to end at 2010."""
    jobs = [job(0, 900, limit=3600, plan=300), {**B, "limit": 600}, job(400, 60, limit=limit)]
    said = starts(jobs, nodes=2, time_min_as_soft_limit=1, priority_calc_period=10_000)
    assert (said[2] < said[1]) == early
