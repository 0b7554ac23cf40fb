"""Soft limits against needs, and what can be said of their effect on other jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats.planned import SOON, Planned, planned
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

EVERY = Filter(states=(), min_elapsed=-1, checkpoint_code=85)
T = MONDAY + 10 * HOUR


def run(number: int = 1, soft: int | None = 1800, start: int = T, need: int = 900, **changes: Any) -> Job:
    """A run with a soft limit of half an hour and a limit of four, which needed a quarter; backfill started it."""
    word = "" if soft is None else f",soft={soft}"
    given = {
        "start_time": start, "eligible_time": start - 60, "end_time": start + need, "elapsed": need,
        "admin_comment": f"ak1:lim={4 * HOUR},src=e{word}", "flags": "SchedBackfill,StartRecieved", "node_list": "n1",
    }  # fmt: skip
    return job(number, **{**given, **changes})


def measured(tmp_path: Path, *jobs: Job, part: str = "queue", chosen: Filter = EVERY) -> Planned:
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        return planned(db, chosen, part)


def test_needs_and_how_far_jobs_outlive_their_soft_limits(tmp_path: Path) -> None:
    found = measured(
        tmp_path, run(1), run(2, need=2400), run(3, need=5400, queue="debug"), run(4, need=60, state="FAILED")
    )
    gq, debug = found.groups
    assert (gq.value, gq.jobs, gq.needs, gq.over) == ("gq", 3, [900, 2400], [600])
    assert gq.fits == pytest.approx(900 / 1800 + 1800 / 2400)
    assert sum(gq.uses) == pytest.approx((900 + 2400) / (4 * HOUR))
    assert (debug.value, debug.over, found.overall.over) == ("debug", [3600], [600, 3600])


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (run(soft=None), "no soft limit"),
        (run(limit_source="stated"), "a word that the job's owner may have written"),
        (run(admin_comment="ak1:lim=3600,src=e mine,soft=60"), "not in the record"),
        (run(state="CANCELLED", start_time=None, elapsed=0), "it never ran"),
        (run(state="RUNNING", end_time=None), "it runs"),
        (run(elapsed=None), "nobody knows how long it ran"),
    ],
)
def test_who_does_not_count(tmp_path: Path, one: Job, why: str) -> None:
    found = measured(tmp_path, one, run(2))
    assert (found.overall.jobs, sum(found.excluded.values())) == (1, 1), why


def test_by_user_and_of_some(tmp_path: Path) -> None:
    jobs = (run(1), run(2, user="bob"), run(3, user="bob"))
    assert [(one.value, one.jobs) for one in measured(tmp_path, *jobs, part="user").groups] == [("bob", 2), ("ada", 1)]
    with reader(tmp_path / "t.db") as db:
        some = planned(db, replace(EVERY, users=["ada"]))
    assert (some.overall.jobs, dict(some.excluded)) == (1, {"user": 2, "not_planned": 0})


def wide(start: int, since: int, **changes: Any) -> Job:
    """A job of four nodes that waited from `since` until `start`."""
    return run(9, None, start, HOUR, eligible_time=since, node_list="n[1-4]", nodes=4, flags="SchedMain", **changes)


@pytest.mark.parametrize(
    ("one", "other", "ahead", "why"),
    [
        (run(), wide(T + HOUR, T - HOUR), 1, "its limit would have passed the start of who had waited longer"),
        (run(), wide(T + 5 * HOUR, T - HOUR), 0, "its limit was over by then"),
        (run(), wide(T + HOUR, T - 10), 0, "who had not waited longer"),
        (run(node_list="n5"), wide(T + HOUR, T - HOUR), 0, "on other nodes"),
        (run(flags="SchedMain"), wide(T + HOUR, T - HOUR), 0, "in the order of the queue"),
        (run(), wide(T - 1, T - HOUR), 0, "who had started before"),
        (run(), wide(T + HOUR, T - HOUR, cluster="other"), 0, "of another cluster"),
    ],
)
def test_starts_that_soft_limits_may_have_made_possible(
    tmp_path: Path, one: Job, other: Job, ahead: int, why: str
) -> None:
    assert measured(tmp_path, one, other).overall.ahead == ahead, why


def test_how_a_job_started_may_not_be_known(tmp_path: Path) -> None:
    found = measured(tmp_path, run(flags=None), wide(T + HOUR, T - HOUR)).overall
    assert (found.jobs, found.told, found.backfilled, found.ahead) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    ("need", "start", "since", "delay", "why"),
    [
        (HOUR, T + HOUR, T - HOUR, 1800, "from the soft end to the end"),
        (HOUR, T + HOUR + SOON, T - HOUR, 1800, "the node took a while"),
        (HOUR, T + HOUR, T + HOUR - 300, 300, "it came later"),
        (HOUR, T + HOUR + SOON + 1, T - HOUR, None, "it waited for something else"),
        (HOUR, T + HOUR + 60, T + HOUR + 30, None, "it came when the node was free"),
        (900, T + 900, T - HOUR, None, "the soft limit was not over"),
    ],
)
def test_who_waited_for_a_job_that_outlived_its_soft_limit(
    tmp_path: Path, need: int, start: int, since: int, delay: int | None, why: str
) -> None:
    found = measured(tmp_path, run(need=need), wide(start, since)).overall
    assert list(found.delays.values()) == ([] if delay is None else [delay]), why


def test_a_job_that_waited_for_several_is_one_delayed_job(tmp_path: Path) -> None:
    runs = [run(number, need=HOUR + 60 * number, node_list=f"n{number}") for number in (1, 2)]
    found = measured(tmp_path, *runs, wide(T + HOUR + 130, T - HOUR)).overall
    assert list(found.delays.values()) == [1920]


def test_where_a_job_ran_may_not_be_known(tmp_path: Path) -> None:
    found = measured(tmp_path, run(node_list=None, need=HOUR), wide(T + HOUR, T - HOUR))
    assert (found.unplaced, found.overall.ahead, found.overall.delays) == (1, 0, {})
