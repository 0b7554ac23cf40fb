"""What counts of a user's budget, and what is known of the month."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from adminkit import actions
from adminkit.deploy.extend_state import STATE, State, month_of, read_state, write_state
from adminkit.deploy.files import changing
from adminkit.extend.words import given_of
from tests.extend.jobs import RECORD, listed, run, wait
from tests.extend.world import MARGIN, MINE, Host, world
from tests.fit.rooms import NOW


def test_what_is_taken_back_counts_no_longer(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    given = f"{RECORD} xt1:asked=3600,lim=5400,n=2"
    with changing(host.folder, None):
        write_state(host.folder, State(NOW - 30, month_of(NOW), {1001: 1800}))
    head = wait(5, "n1", NOW + 1500)
    there = world(monkeypatch, (run(1, left=1500, limit=5400), given), (head, ""))
    assert host.once().ok and there.calls == [(1, -900)]
    assert host.state().given == {1001: 900}
    assert given_of(there.jobs[1][1].admin_comment or "") == given_of("xt1:asked=3600,lim=4500,n=2")
    assert actions.read(host.log)[-1]["behind"] == 5 and actions.read(host.log)[-1]["starts"] == NOW + 1500


def test_what_a_run_that_is_over_was_given_counts_though_its_job_waits_again(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who puts a job back before its end has its time for nothing, as often as they like."""
    with changing(host.folder, None):
        write_state(host.folder, State(NOW - 30, month_of(NOW), {1001: 1800}))
    room, one = wait(1), replace(listed(wait(1), f"{RECORD} xt1:asked=3600,lim=5400,n=2"), time_limit=5400)
    there = world(monkeypatch)
    there.jobs[1] = replace(room, time_limit=5400), one
    assert host.once().ok and there.calls == [(1, -1800)]
    assert host.recorded()[-1] == ("taken back", 1, 3600, "requeued", True)
    assert host.state().given == {1001: 1800}


@pytest.mark.parametrize(
    ("afterwards", "fails", "held", "reason"),
    [
        ({"time_limit": 4440}, set(), False, "its owner lowers it by a minute before it is read back"),
        ({"time_limit": 9000}, set(), False, "an operator raises it before it is read back"),
        ({"state": "PENDING"}, set(), True, "its owner puts the job back"),
        ({"time_limit": 4440}, {"killed"}, False, "its owner lowers it while no round is at work"),
    ],
)
def test_what_was_given_counts_whatever_its_user_does_with_the_limit(
    host: Host, monkeypatch: pytest.MonkeyPatch, afterwards: dict[str, Any], fails: set[str], held: bool, reason: str
) -> None:
    """Else all but a minute of each raise would be for nothing."""
    there = world(monkeypatch, MINE, afterwards={} if fails else {1: afterwards}, fails=fails)
    with suppress(KeyboardInterrupt):
        assert host.once().ok, reason
    if fails:
        room, one = there.jobs[1]
        there.fails, there.jobs[1] = set(), (replace(room, ends=NOW + 1100), replace(one, **afterwards))
        host.once(NOW + 30)
    assert host.recorded()[1] == ("given", 1, 4500, "free", held), reason
    assert host.state(NOW + 30).given == {1001: 900}, reason


@pytest.mark.parametrize(
    ("is_raise", "given", "reason"),
    [
        (True, 900, "it may have had the time: what was given counts"),
        (False, 1800, "it may have kept the time: what was to be taken back counts"),
    ],
)
def test_of_a_job_that_is_gone_the_larger_amount_counts(
    host: Host, monkeypatch: pytest.MonkeyPatch, is_raise: bool, given: int, reason: str
) -> None:
    """A round is cut off behind its update, and the job ends before the next."""
    long = run(1, left=1500, limit=5400), f"{RECORD} xt1:asked=3600,lim=5400,n=2"
    with changing(host.folder, None):
        write_state(host.folder, State(NOW - 30, month_of(NOW), {} if is_raise else {1001: 1800}))
    jobs = [MINE] if is_raise else [long, (wait(5, "n1", NOW + 1500), "")]
    there = world(monkeypatch, *jobs, fails={"killed"})
    with suppress(KeyboardInterrupt):
        host.once()
    assert len(there.calls) == 1
    there.fails, there.jobs = set(), {}
    host.once(NOW + 30)
    assert host.state(NOW + 30).given == {1001: given}, reason


@pytest.mark.parametrize(
    ("kept", "alone", "whole", "reason"),
    [
        (None, True, True, "the first round of the only host"),
        (None, False, False, "the first round of one of two"),
        ("{", True, False, "a damaged state"),
        ('{"at": 1}', True, False, "a state that lacks something"),
        (State(NOW - 30, month_of(NOW), {5: 60}), False, True, "the rounds were here"),
        (State(NOW - 500, month_of(NOW), {5: 60}), False, False, "the rounds may have been there"),
        (State(NOW - 500, month_of(NOW), {5: 60}), True, True, "there is no other host"),
        (State(NOW - 30, "2001-01", {5: 60}, whole=False), False, True, "a new month begins while it is at work"),
        (State(NOW - 500, "2001-01", {5: 60}), False, False, "a new month began while it was not"),
    ],
)
def test_what_is_known_of_the_month(
    host: Host, kept: State | str | None, alone: bool, whole: bool, reason: str
) -> None:
    if isinstance(kept, str):
        (host.folder / STATE).write_text(kept)
    elif kept is not None:
        with changing(host.folder, None):
            write_state(host.folder, kept)
    state = read_state(host.folder, NOW, alone, MARGIN)
    assert (state.whole, state.month) == (whole, month_of(NOW)), reason
    assert (state.left(5, 600) is None) is not whole, reason
    if isinstance(kept, State) and kept.month == month_of(NOW):
        assert state.given == {5: 60}, reason


def test_a_clock_that_is_set_back_over_a_month_gives_no_new_budget(host: Host) -> None:
    with changing(host.folder, None):
        write_state(host.folder, State(NOW - 30, month_of(NOW), {5: 60}))
    assert read_state(host.folder, NOW - 40 * 86_400, True, MARGIN).given == {5: 60}


def test_the_state_is_for_root_alone(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    world(monkeypatch, MINE)
    host.once()
    assert (host.folder / STATE).stat().st_mode & 0o777 == 0o600
    assert json.loads((host.folder / STATE).read_text())["given"] == {"1001": 900}
