"""What each reader of a limit makes of a run that was given more time: what counts is the limit that was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from adminkit.export.swf import write_swf
from adminkit.job import Job
from adminkit.recommend.predict import at_limit, needed, was_cut
from adminkit.stats.accuracy import accuracy
from adminkit.stats.charged_jobs import whole_jobs
from adminkit.stats.incentives import Criteria, scored
from adminkit.stats.queue_fit import queue_jobs
from adminkit.stats.queue_habits import queue_habits
from adminkit.stats.replay import submissions
from adminkit.stats.runs import runs
from adminkit.stats.select import Filter
from adminkit.stats.used import uses
from adminkit.stats.workload import read_runs
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

ALL: Final = Filter(checkpoint_code=85)
#: Asked for four hours, and was given two more.
GIVEN: Final[dict[str, Any]] = {
    "uid": 1001, "time_limit": 6 * HOUR, "ext_asked": 4 * HOUR, "ext_limit": 6 * HOUR, "ext_times": 2,
    "limit_original": 4 * HOUR, "cpu_time": 5.0 * 8 * HOUR,
}  # fmt: skip
OVER: Final = {**GIVEN, "elapsed": 5 * HOUR}
WITHIN: Final = {**GIVEN, "elapsed": 3 * HOUR}
CUT: Final = {**GIVEN, "elapsed": 6 * HOUR + 20, "state": "TIMEOUT"}
BACK: Final = {**GIVEN, "elapsed": 3 * HOUR, "time_limit": 4 * HOUR, "ext_limit": 4 * HOUR, "ext_times": 0}
#: A hand raised its limit, as operators do.
BY_HAND: Final = {**GIVEN, "elapsed": 5 * HOUR, "ext_asked": None, "ext_limit": None, "ext_times": None}
LOWERED: Final = {**GIVEN, "elapsed": 3 * HOUR, "time_limit": 3 * HOUR + 60}


def made(folder: Path, changes: dict[str, Any]) -> Path:
    one: Job = job(1, **changes)
    return make_trace(folder / "t.db", [one], [("aaic", "gq", 0, HOUR, 72 * HOUR)])


@pytest.mark.parametrize(
    ("changes", "reason", "held", "why"),
    [
        (OVER, "missed", 5 * HOUR, "it ran over: nothing is scored, and all that it held weighs"),
        (WITHIN, "counted", 4 * HOUR, "the limit was long enough: a raise in advance takes no points away"),
        (CUT, "missed", 6 * HOUR + 20, "it ended at its last limit"),
        (BACK, "counted", 4 * HOUR, "all was taken back"),
        (BY_HAND, "counted", 6 * HOUR, "raised by an operator: so much was asked for, as before"),
        (LOWERED, "counted", 4 * HOUR, "its owner lowered it before the end"),
        ({**OVER, "time_limit": 9 * HOUR}, "missed", 9 * HOUR, "raised by hand afterwards: it still ran over"),
    ],
)
def test_points(tmp_path: Path, changes: dict[str, Any], reason: str, held: int, why: str) -> None:
    menu = Criteria("aaic", 0, MONDAY + 99 * HOUR, (3 * HOUR, 4 * HOUR, 6 * HOUR), checkpoint_code=85)
    with reader(made(tmp_path, changes)) as db:
        (found,) = scored(db, menu, 1001)
    assert (found.reason, found.held // 1000) == (reason, held), why


@pytest.mark.parametrize(
    ("changes", "mean", "asked"),
    [(OVER, 1.25, 4), (WITHIN, 0.75, 4), (BACK, 0.75, 4), (BY_HAND, 5 / 6, 6), (LOWERED, 0.75, 4)],
)
def test_accuracy_is_of_the_limit_that_was_asked_for(
    tmp_path: Path, changes: dict[str, Any], mean: float, asked: int
) -> None:
    with reader(made(tmp_path, changes)) as db:
        (queue,) = accuracy(db, ALL, MONDAY).queues
        (habits,) = queue_habits(db, ALL, MONDAY)
    assert queue.spread.mean == pytest.approx(mean)
    assert (habits.everything.reserved, habits.everything.used) == (asked * HOUR, min(changes["elapsed"], asked * HOUR))


@pytest.mark.parametrize(
    ("changes", "requested", "why"),
    [
        (OVER, 6 * HOUR, "what it reserved: else it would be cheaper to ask for less and run over"),
        (WITHIN, 4 * HOUR, "it needed nothing of what it was given"),
        (CUT, 6 * HOUR, "all of it"),
        (BACK, 4 * HOUR, "all was taken back"),
        (BY_HAND, 6 * HOUR, "raised by an operator, as before"),
        ({**OVER, "limit_original": 9 * HOUR}, 9 * HOUR, "a rule had lowered it: the most that was asked for"),
    ],
)
def test_charges(tmp_path: Path, changes: dict[str, Any], requested: int, why: str) -> None:
    with reader(made(tmp_path, changes)) as db:
        (found,) = whole_jobs(db, [], 0)
    assert found.run(0, ()).req_limit == requested, why


@pytest.mark.parametrize(
    ("changes", "need", "at", "cut", "why"),
    [
        (OVER, 5 * HOUR, False, False, "it completed, so its need is known, though it is more than it asked for"),
        (WITHIN, 3 * HOUR, False, False, "likewise"),
        (CUT, 6 * HOUR, True, True, "cut off by its last limit, some seconds late"),
        ({**CUT, "state": "COMPLETED"}, 6 * HOUR, True, True, "not every source says TIMEOUT"),
        (BACK, 3 * HOUR, False, False, "all was taken back"),
        ({**LOWERED, "elapsed": 3 * HOUR + 60, "state": "FAILED"}, 3 * HOUR + 60, True, True, "cut by its owner"),
        ({**OVER, "time_limit": None, "limit_kind": "unlimited", "limit_original": None}, 5 * HOUR, False, False,
         "its limit was taken away"),
    ],
)  # fmt: skip
def test_recommendations(tmp_path: Path, changes: dict[str, Any], need: int, at: bool, cut: bool, why: str) -> None:
    with reader(made(tmp_path, changes)) as db:
        (found,) = runs(db, checkpoint_code=85)
        found_queues = queue_jobs(db, ALL, MONDAY)
    assert (needed(found), at_limit(found), was_cut(found)) == (need, at, cut), why
    for queue in found_queues:
        if changes.get("state") != "FAILED":
            assert queue.at_limit.tolist() == [int(at)], why


@pytest.mark.parametrize(
    ("changes", "asked", "why"),
    [
        ({**OVER, "limit_original": None}, 4 * HOUR, "not recorded: without what was given"),
        (OVER, 4 * HOUR, "recorded"),
        ({**BY_HAND, "limit_original": None}, 6 * HOUR, "raised by hand: nobody knows from what"),
        ({**BACK, "limit_original": None}, 4 * HOUR, "all was taken back"),
        ({**OVER, "limit_original": None, "time_limit": 9 * HOUR}, 9 * HOUR, "raised by hand afterwards"),
    ],
)
def test_what_a_submission_asked_for(tmp_path: Path, changes: dict[str, Any], asked: int, why: str) -> None:
    path = made(tmp_path, changes)
    with reader(path) as db:
        (row,) = submissions(db, ALL)
        (use,) = uses(db, "aaic")
        write_swf(db, tmp_path / "t.swf", "aaic", ALL, None, lambda _: None)
    line = next(one for one in (tmp_path / "t.swf").read_text().splitlines() if not one.startswith(";"))
    assert (row[6], int(line.split()[8])) == (asked, asked), why
    assert use.time_limit == asked or changes.get("limit_original"), why


def test_a_simulated_run_is_not_ended_at_the_limit_that_it_asked_for(tmp_path: Path) -> None:
    with reader(made(tmp_path, OVER)) as db:
        found = read_runs(db, ALL)
    assert (found.numbers["elapsed"].tolist(), found.numbers["limit"].tolist()) == ([5 * HOUR], [6 * HOUR])
