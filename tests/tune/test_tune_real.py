"""The days that `adminkit tune` is proved on with a real Slurm: the jobs that were committed before the first run."""

from __future__ import annotations

import json
from statistics import fmean, median

import pytest

from tests.soft_real.measure import Figure, Pair
from tests.soft_real.workloads import ACCURACY, SHAPE, SIZES, Day, size_of
from tests.tune_real import page, tuning
from tests.tune_real.measure import cut_jobs, kept
from tests.tune_real.records import moved
from tests.tune_real.sides import PICK, with_lines
from tests.tune_real.workloads import RECORDS, TRIAL, day, people

#: As they were committed before the first run; who changes a day has to run it again.
DIGESTS = {
    101: "263a4d1e26a769f2", 102: "a1b17b65608d641e", 103: "3ac16710a204aa27", 104: "41d6b8abb676fe04",
    105: "387d6889906dfd3b", 106: "1707316c25dd3844", 201: "87aa1d0e344bda33", 202: "bd5901e89cf79392",
    203: "1425ec50d0556f6b", 204: "41a8db9d78defc4a", 205: "e3df1df5456cc431", 206: "259bed61b73ad9d8",
    207: "9b1c3fb42a21ef14", 208: "76397e59c6cd7714", 209: "0f8d75bf997a4653", 210: "9ab69a4b9a2aace9",
    211: "95df64076dbb7fda", 212: "9ad4f0dd63298628",
}  # fmt: skip
DAYS = [day(seed) for seed in (*RECORDS, *TRIAL)]


def test_a_seed_makes_the_day_that_was_committed() -> None:
    assert {one.seed: one.digest for one in DAYS} == DIGESTS


@pytest.mark.parametrize("one", DAYS, ids=lambda one: str(one.seed))
def test_a_day_is_what_the_order_asks_for(one: Day) -> None:
    jobs = one.workload.jobs
    assert all(5 <= job.sleep <= 120 and 300 <= job.limit <= 3600 for job in jobs)
    assert all(job.limit <= SHAPE.queue(job.queues[0]).max_limit for job in jobs)
    assert {size_of(job) for job in jobs} == set(SIZES)
    assert 0.94 <= fmean(job.nodes * job.gpus == 1 for job in jobs) <= 0.96
    assert [job.offset for job in jobs] == sorted(job.offset for job in jobs)


def test_people_keep_their_habits_and_a_fifth_of_the_names_is_new_each_day() -> None:
    known = {(habit.user, habit.name) for habit in (*people().single, *people().multi, *people().wide)}
    for one in DAYS:
        started = {(job.user, name) for job, name in zip(one.workload.jobs, one.names, strict=True)}
        new = {name for _, name in started - known}
        assert new and all(name.endswith(f"-{one.seed}") for name in new), one.seed
    assert len({habit.name for habit in people().single}) == 27


def test_limits_are_asked_for_as_in_the_study() -> None:
    """In the large queue."""
    jobs = [job for one in DAYS for job in one.workload.jobs if job.queues == ("gq",) and job.nodes * job.gpus == 1]
    assert median(job.sleep / job.limit for job in jobs) == pytest.approx(ACCURACY["gq"][0], abs=0.015)
    assert fmean(job.limit == SHAPE.queue("gq").max_limit for job in jobs) == pytest.approx(0.7, abs=0.1)


CONF = "SlurmctldPort=1\nSchedulerParameters=bf_interval=2,bf_resolution=5,time_min_as_soft_limit\nKillWait=3\n"


@pytest.mark.parametrize(
    ("changes", "expected", "why"),
    [
        ({}, CONF, "nothing changes"),
        ({"KillWait": 9}, CONF.replace("KillWait=3", "KillWait=9"), "a line takes the place of that of its key"),
        ({"PriorityWeightAge": 7}, f"{CONF}PriorityWeightAge=7\n", "a line that was not there comes last"),
        (
            {"SchedulerParameters": {"bf_window": 60, "bf_interval": 4}},
            CONF.replace("bf_interval=2,", "bf_interval=4,").replace("soft_limit", "soft_limit,bf_window=60"),
            "options keep those that are not named",
        ),
        (
            {"SchedulerParameters": {"bf_continue": True, "time_min_as_soft_limit": False}},
            CONF.replace("time_min_as_soft_limit", "bf_continue"),
            "options without a value come and go",
        ),
    ],
)
def test_slurm_conf_gets_the_lines_of_a_side(changes: dict[str, object], expected: str, why: str) -> None:
    assert with_lines(CONF, changes) == expected, why


def test_a_days_records_are_moved_whole() -> None:
    head = "Cluster|JobID|JobIDRaw|Submit|Eligible|Start|End|State\n"
    text = f"{head}x|1|1|50|50|60|80|COMPLETED\nx|2|2|55|55|99|120|FAILED\n"
    assert moved(text, 1000, 500).splitlines()[1:] == [
        "alpha|501|501|1000|1000|1010|1030|COMPLETED",
        "alpha|502|502|1005|1005|1049|1070|FAILED",
    ]


@pytest.fixture(scope="module")
def found() -> list[Pair]:
    return kept()


def test_what_ran_is_what_was_ordered(found: list[Pair]) -> None:
    """Twelve pairs on 26.05, each side with its own settings: soft limits and points are the pick's alone."""
    assert [pair.day.seed for pair in found] == list(TRIAL)
    several = [pair.sizes.index(SIZES[1]) for pair in found]
    for pair, place in zip(found, several, strict=True):
        for run in (pair.off, pair.on):
            assert run.head["release"].startswith("26.05") and len(run.rows) == len(pair.day.workload.jobs)
            assert any(row.soft is not None for row in run.rows) == (run.arm == "on"), pair.day.seed
            priority = next(row.priority for row in run.rows if row.number == place)
            assert (priority > 700) == (run.arm == "on"), (pair.day.seed, run.arm)
    firsts = [pair.off.head["date"] < pair.on.head["date"] for pair in found]
    assert firsts == [seed % 2 == 1 for seed in TRIAL]


def test_no_job_was_cut(found: list[Pair]) -> None:
    assert cut_jobs(found).jobs == 0


def test_the_pick_is_that_of_the_answer() -> None:
    assert tuning.pick_of(tuning.answer()) == json.loads(PICK.read_text())


def test_the_page_is_fresh() -> None:
    assert page.PAGE.read_text() == page.markdown(), "write it again: python -m tests.tune_real compare"


@pytest.mark.parametrize(
    ("off", "on", "expected", "why"),
    [
        ((40.0, 42.0), (20.0, 20.0), "reached", "half"),
        ((40.0, 42.0), (38.0, 39.0), "**not reached**", "a twentieth"),
        ((40.0, 42.0), (5.0, 50.0), "the mean reaches it, but its interval does not", "one day each way"),
    ],
)
def test_the_goal_asks_for_a_fifth_and_for_an_interval(
    off: tuple[float, ...], on: tuple[float, ...], expected: str, why: str
) -> None:
    assert page.goal(Figure("mean wait, all jobs", off, on)) == expected, why
