"""Chains of runs: what belongs together, what restarts cost, and what the plugin's notes add."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import UsageError
from adminkit.job import Job
from adminkit.stats.restarts import Group, Restarts, pieces, restarts
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, make_trace
from tests.support.reports import chain, some_chains

EVERY = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


def measured(path: Path, jobs: list[Job], part: str = "queue", chosen: Filter = EVERY) -> Restarts:
    with reader(make_trace(path / "t.db", jobs)) as db:
        return restarts(db, chosen, part)


def overall(path: Path, *runs: dict[str, Any]) -> Group:
    return measured(path, chain(1, list(runs))).overall


REQUEUED = {"state": "REQUEUED", "elapsed": HOUR}
HEARD = {"ckpt_at": HOUR - 100, "ckpt_heard": 2, "ckpt_requeues": 0}
LAST = {"state": "COMPLETED", "elapsed": HOUR}
AT_LIMIT = {"elapsed": 4 * HOUR + 15, "ckpt_at": 4 * HOUR - 60, "ckpt_heard": 1, "ckpt_requeues": 0}


def test_a_job_that_ran_once_and_was_not_warned_is_none_of_them(tmp_path: Path) -> None:
    assert measured(tmp_path, chain(1, [LAST]) + chain(2, [{**LAST, "state": "TIMEOUT"}])).overall.jobs == 0


def test_waits_and_run_times_are_added_up(tmp_path: Path) -> None:
    found = overall(tmp_path, REQUEUED, REQUEUED, LAST)
    assert (found.jobs, found.restarted, found.runs, found.ran, found.waited) == (1, 1, 3, 3 * HOUR, 1200)


@pytest.mark.parametrize(
    ("runs", "saving", "unsaved", "ours", "why"),
    [
        ([REQUEUED, LAST], 0, HOUR, 0, "preempted: all of it may have been redone"),
        ([{**REQUEUED, **HEARD, "ckpt_requeues": 1, "ckpt_end": "more"}, LAST], 100, 0, 1, "saved, and put back by us"),
        ([{**REQUEUED, **HEARD}, LAST], 100, 0, 0, "warned, then requeued by somebody else"),
        ([{**REQUEUED, "state": "PREEMPTED"}, LAST], 0, HOUR, 0, "preempted, and put back"),
        ([{**REQUEUED, "state": "NODE_FAIL"}, LAST], 0, HOUR, 0, "its node failed"),
        ([{**REQUEUED, **HEARD, "state": "PREEMPTED"}, LAST], 100, 0, 0, "warned before it was preempted"),
        ([{**REQUEUED, "state": "RESIZING"}, LAST], 0, 0, 0, "resized: nothing was redone"),
        ([{**REQUEUED, **HEARD, "ckpt_heard": 0}, LAST], 0, HOUR, 0, "nothing heard it: nothing was saved for it"),
        (
            [{**REQUEUED, **AT_LIMIT}, {**LAST, "ckpt_requeues": 1}],
            75,
            0,
            1,
            "at its limit: the next run has the count",
        ),
        ([{**REQUEUED, **AT_LIMIT, "ckpt_requeues": 1}, {**LAST, "ckpt_requeues": 1}], 75, 0, 0, "it did not rise"),
        ([{**REQUEUED, **HEARD, "ckpt_at": 2 * HOUR}, LAST], 0, 0, 0, "clocks that differ make no time"),
        ([{**LAST, **HEARD}], 0, 0, 0, "what was not put back costs no restart"),
    ],
)
def test_what_a_restart_cost(
    tmp_path: Path, runs: list[dict[str, Any]], saving: int, unsaved: int, ours: int, why: str
) -> None:
    found = overall(tmp_path, *runs)
    assert (found.saving, found.unsaved, found.ours) == (saving, unsaved, ours), why


@pytest.mark.parametrize(
    ("runs", "signals", "unheeded", "uncaught", "why"),
    [
        ([REQUEUED, LAST], 0, 0, 0, "no signal"),
        ([{**LAST, **HEARD}], 1, 0, 0, "heard, and it ended by itself"),
        ([{**AT_LIMIT, "state": "TIMEOUT"}], 1, 1, 0, "heard, and killed at its limit"),
        ([{**AT_LIMIT, "state": "REQUEUED"}, LAST], 1, 1, 0, "the same, put back: Slurm then says REQUEUED only"),
        ([{**AT_LIMIT, "state": "TIMEOUT", "ckpt_heard": 0}], 1, 0, 1, "nothing caught it"),
        ([{**AT_LIMIT, "state": "CANCELLED", "elapsed": HOUR}], 1, 0, 0, "cancelled meanwhile"),
    ],
)
def test_signals_are_told_apart(
    tmp_path: Path, runs: list[dict[str, Any]], signals: int, unheeded: int, uncaught: int, why: str
) -> None:
    found = overall(tmp_path, *runs)
    assert (found.signals, found.unheeded, found.uncaught) == (signals, unheeded, uncaught), why


@pytest.mark.parametrize(
    ("last", "ended", "why"),
    [
        (LAST, "completed", "as Slurm says"),
        ({**AT_LIMIT, "state": "TIMEOUT"}, "timeout", "at its limit"),
        ({**AT_LIMIT, "state": "TIMEOUT", "ckpt_end": "max"}, "max", "the plugin knows why it was not put back"),
        ({**LAST, **HEARD, "state": "FAILED", "ckpt_end": "short"}, "short", "no progress"),
        ({**LAST, **HEARD, "state": "FAILED", "ckpt_end": "failed"}, "failed", "no more than Slurm says"),
        ({"state": "PENDING", "elapsed": 0}, "open", "it goes on"),
    ],
)
def test_how_the_chain_ended(tmp_path: Path, last: dict[str, Any], ended: str, why: str) -> None:
    assert measured(tmp_path, chain(1, [REQUEUED, last])).ended == {ended: 1}, why


def test_a_job_id_used_again_begins_a_new_chain(tmp_path: Path) -> None:
    found = measured(tmp_path, chain(1, [REQUEUED, LAST, REQUEUED, REQUEUED, LAST, LAST]))
    assert found.pieces == {2: 1, 3: 1}
    assert found.overall.waited == 3 * 600, "the time between two jobs is nobody's wait"


def test_a_chain_counts_by_its_last_run(tmp_path: Path) -> None:
    jobs = chain(1, [{**REQUEUED, "queue": "old", "gpus": 1}, {**LAST, "queue": "new", "gpus": 4}])
    assert [group.value for group in measured(tmp_path, jobs).groups] == ["new"]
    (tmp_path / "t.db").unlink()
    assert [group.value for group in measured(tmp_path, jobs, "class").groups] == ["multi-gpu"]


def test_the_window_is_about_the_last_end(tmp_path: Path) -> None:
    late = Filter(states=(), min_elapsed=-1, since=MONDAY + 2 * HOUR, checkpoint_code=85)
    found = measured(tmp_path, chain(1, [REQUEUED, LAST]) + chain(2, [{**LAST, **HEARD}]), chosen=late)
    assert (found.overall.runs, found.excluded["window"]) == (2, 1), "both pieces of the one, though one ended before"


def test_pieces_add_up_whatever_ended_them(tmp_path: Path) -> None:
    """Two jobs in five pieces, with Restarts and without."""
    lost, preempted = ({"state": state, "elapsed": 2 * HOUR} for state in ("NODE_FAIL", "PREEMPTED"))
    last = {"state": "COMPLETED", "elapsed": 4 * HOUR}
    for counted in (False, True):
        chains = (chain(1, [preempted, preempted, last]), chain(2, [lost, last]))
        jobs = [replace(one, restarts=n if counted else None) for runs in chains for n, one in enumerate(runs)]
        folder = tmp_path / str(counted)
        folder.mkdir()
        found = measured(folder, jobs).overall
        assert (found.jobs, found.restarted, found.runs, found.unsaved) == (2, 2, 5, 6 * HOUR)


def test_a_number_that_is_used_again_is_not_a_piece(tmp_path: Path) -> None:
    first, second = chain(1, [{"state": "PREEMPTED", "elapsed": HOUR}, LAST])
    later = replace(second, submit_time=second.submit_time + 400 * 24 * HOUR)
    assert measured(tmp_path, [first, later]).overall.jobs == 0


def test_groups_come_by_size_and_add_up(tmp_path: Path) -> None:
    found = measured(tmp_path, some_chains(), "user")
    assert [(group.value, group.jobs) for group in found.groups] == [("ada", 2), ("bob", 2)]
    assert sum(group.runs for group in found.groups) == found.overall.runs == 8
    assert found.pieces == {1: 1, 2: 2, 3: 1}
    assert found.ended == {"completed": 1, "open": 1, "refused": 1, "timeout": 1}


def test_pieces_come_in_order_and_a_plain_job_has_one(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db", some_chains())) as db:
        found = pieces(db, "1")
        assert [one.ckpt_end for one in found] == ["more", "limit", None], (
            "what its row could not say is told by the next"
        )
        assert [one.waited for one in found] == [None, 600, 600]
        assert [one.job_id for one in pieces(db, "9")] == ["9_4", "9_4"]
        assert len(pieces(db, "5")) == 1
        for unknown in ("77", "1; DROP", "٣", "9" * 30):
            with pytest.raises(UsageError):
                pieces(db, unknown)
        with pytest.raises(UsageError):
            pieces(db, "1", ["other"])
