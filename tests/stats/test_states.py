"""How runs ended, and their place in the study's selection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats import states as states_module
from adminkit.stats.select import Filter
from adminkit.stats.states import ENDS, PARTS, STUDY, States, states
from adminkit.trace.connect import reader
from tests.stats import regrouped
from tests.support.builders import HOUR, MONDAY, job, make_trace

ALL = Filter(states=(), min_elapsed=None, checkpoint_code=85)


def measured(path: Path, jobs: list[Job], chosen: Filter = ALL, part: str = "queue", short: int = 60) -> States:
    path.mkdir(exist_ok=True)
    with reader(make_trace(path / "t.db", jobs)) as db:
        return states(db, chosen, part, short)


@pytest.mark.parametrize(
    ("changes", "end", "place", "why"),
    [
        ({}, "success", "normal", "longer than a minute"),
        ({"elapsed": 61}, "success", "normal", "just longer"),
        ({"elapsed": 60}, "success", "short", "at most a minute"),
        ({"elapsed": None}, "success", "other_ends", "nobody knows how long"),
        ({"elapsed": 2**31 - 1}, "success", "other_ends", "an absurd time is unknown"),
        ({"state": "TIMEOUT"}, "timeout", "out_of_time", "ran into the limit"),
        ({"state": "TIMEOUT", "elapsed": 60}, "timeout", "short", "a limit of a minute"),
        ({"state": "CANCELLED", "uid": 7, "cancelled_by": 7}, "cancelled_by_user", "other_ends", "by its user"),
        ({"state": "CANCELLED", "uid": 7, "cancelled_by": 0}, "cancelled_by_others", "other_ends", "by root"),
        ({"state": "CANCELLED", "uid": 7}, "cancelled", "other_ends", "nobody knows by whom"),
        ({"state": "CANCELLED", "cancelled_by": 7}, "cancelled", "other_ends", "nobody knows whose"),
        ({"state": "FAILED", "exit_code": 1}, "failed", "other_ends", "its own failure"),
        ({"state": "FAILED", "exit_code": 2, "elapsed": 3}, "failed", "wrong_parameters", "a usage error"),
        ({"state": "FAILED", "exit_code": 127, "elapsed": 3}, "failed", "wrong_parameters", "no such command"),
        ({"state": "FAILED", "exit_code": 2, "elapsed": 61}, "failed", "other_ends", "too late for a usage error"),
        ({"state": "FAILED", "exit_code": 0, "exit_signal": 53, "elapsed": 0}, "failed", "wrong_parameters", "output"),
        ({"state": "FAILED", "exit_code": 0, "exit_signal": 54}, "failed", "system_failure", "the prolog failed"),
        ({"state": "FAILED", "reason": "JobLaunchFailure"}, "failed", "system_failure", "the launch failed"),
        ({"state": "CANCELLED", "reason": "NodeDown"}, "cancelled", "other_ends", "a reason of FAILED only"),
        ({"state": "NODE_FAIL"}, "node_failure", "system_failure", "its node failed"),
        ({"state": "BOOT_FAIL", "elapsed": 0}, "node_failure", "system_failure", "its node did not boot"),
        ({"state": "OUT_OF_MEMORY"}, "out_of_memory", "other_ends", ""),
        ({"state": "PREEMPTED"}, "preempted", "other_ends", ""),
        ({"state": "REQUEUED"}, "requeued", "other_ends", ""),
        ({"state": "DEADLINE"}, "deadline", "other_ends", ""),
        ({"state": "REVOKED"}, "other", "other_ends", "no state of ours"),
        ({"state": None}, "other", "other_ends", "an end without a state"),
    ],
)
def test_a_run_has_one_end_and_one_place(
    tmp_path: Path, changes: dict[str, Any], end: str, place: str, why: str
) -> None:
    found = measured(tmp_path, [job(1, **{"end_time": MONDAY, **changes})]).overall
    assert (+found.ends, +found.study) == ({end: 1}, {place: 1}), why


@pytest.mark.parametrize(
    ("reason", "place"),
    [
        ("BadConstraints", "wrong_parameters"),
        ("QOSMaxWallDurationPerJobLimit", "wrong_parameters"),
        ("AssocMaxGRESPerJob", "wrong_parameters"),
        ("Resources", "other_ends"),
        ("DependencyNeverSatisfied", "other_ends"),
        (None, "other_ends"),
    ],
)
def test_a_job_that_waited_in_vain_asked_for_what_it_cannot_get(tmp_path: Path, reason: str | None, place: str) -> None:
    waited = {"state": "CANCELLED", "start_time": None, "elapsed": 0, "reason": reason}
    found = measured(tmp_path, [job(1, **waited)]).overall
    assert (+found.study, found.never_started) == ({place: 1}, 1)
    at_its_end = {**waited, "start_time": MONDAY, "end_time": MONDAY, "node_list": None}
    found = measured(tmp_path / "sacct", [job(1, **at_its_end)]).overall
    assert (+found.study, found.never_started) == ({place: 1}, 1), "as sacct has it"
    found = measured(tmp_path / "nodes", [job(1, **{**at_its_end, "node_list": "n1"})]).overall
    assert (+found.study, found.never_started) == ({"other_ends": 1}, 0), "it had a node for less than a second"
    assert +measured(tmp_path / "ran", [job(1, state="CANCELLED", reason=reason)]).overall.study == {"other_ends": 1}


def test_open_runs_are_left_out_and_counted(tmp_path: Path) -> None:
    waiting = {"start_time": None, "end_time": None, "elapsed": None}
    jobs = [job(1), *(job(n, state=s, **waiting) for n, s in enumerate(("PENDING", "RUNNING", "SUSPENDED", None), 2))]
    found = measured(tmp_path, jobs)
    assert (found.overall.jobs, found.excluded) == (1, {"open": 4})


def test_hours_are_of_all_runs_and_of_those_without_success(tmp_path: Path) -> None:
    jobs = [
        job(1, elapsed=HOUR, gpus=2, cpus=8),
        job(2, elapsed=2 * HOUR, gpus=None, req_gpus=4, cpus=8, state="FAILED"),
        job(3, elapsed=HOUR, gpus=None, cpus=None, state="FAILED"),
        job(4, elapsed=0, gpus=None, cpus=None, state="CANCELLED", start_time=None),
    ]
    found = measured(tmp_path, jobs).overall
    assert (found.gpu.seconds / HOUR, found.gpu.unsuccessful / HOUR, found.gpu.unknown) == (10, 8, 1)
    assert (found.cpu.seconds / HOUR, found.cpu.unsuccessful / HOUR, found.cpu.unknown) == (24, 16, 1)
    assert found.gpu.known
    assert not measured(tmp_path / "no", [jobs[2]]).overall.gpu.known


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("queue", ["gq", None, "debug"]),
        ("user", ["ada", "bob"]),
        ("class", ["single-gpu", None, "multi-node"]),
        ("month", ["2026-01", "2026-02", None]),
    ],
)
def test_rows_are_by_jobs_and_months_in_their_order(tmp_path: Path, part: str, values: list[str | None]) -> None:
    february = MONDAY + 30 * 24 * HOUR
    jobs = [
        job(1, end_time=february), job(2, user="bob", end_time=february), job(3),
        job(4, queue="debug", nodes=2), job(5, queue=None, gpus=None, end_time=None),
    ]  # fmt: skip
    found = measured(tmp_path, jobs, part=part)
    assert [group.value for group in found.groups] == values
    assert sum(group.jobs for group in found.groups) == found.overall.jobs == 5
    for group in found.groups:
        assert set(group.ends) <= set(ENDS)
        assert set(group.study) <= set(STUDY)


def test_filters_count_what_they_leave_out_and_the_last_state_is_named(tmp_path: Path) -> None:
    jobs = [job(1), job(2, queue="debug"), job(3, state="REVOKED"), job(4, derived_exit_code=3)]
    found = measured(tmp_path, jobs, Filter(queues=["gq"], states=(), since=MONDAY, checkpoint_code=85))
    assert (found.overall.jobs, found.excluded) == (3, {"window": 0, "open": 0, "queue": 1})
    assert (found.others, found.failed_steps) == ({"REVOKED": 1}, 1)


def test_an_empty_trace_has_no_ends(tmp_path: Path) -> None:
    found = measured(tmp_path, [])
    assert (found.overall.jobs, found.groups, found.span) == (0, [], (None, None))


@pytest.mark.parametrize("part", PARTS)
def test_neither_the_order_nor_the_grouping_of_rows_changes_a_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    regrouped.check(monkeypatch, tmp_path, states_module, lambda db: states(db, ALL, part, 60), seeds=2)
