"""What others do to a job while a round is at work, and rounds that are cut off."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy import extend_round
from adminkit.deploy.extend_state import State
from adminkit.errors import AdminkitError
from tests.extend.jobs import RECORD, run
from tests.extend.world import MINE, Host, world
from tests.fit.rooms import HOUR, NOW


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"time_limit": 10 * HOUR}, "an operator raised it"),
        ({"time_limit": 600}, "its owner lowered it"),
        ({"admin_comment": f"{RECORD} xt1:asked=3600,lim=3660,n=1"}, "another round was there"),
    ],
)
def test_a_job_that_was_changed_behind_the_snapshot_is_left_alone(
    host: Host, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], reason: str
) -> None:
    there = world(monkeypatch, MINE, meanwhile={1: changes})
    assert not host.once().ok, reason
    assert there.calls == [] and host.recorded()[-1][-1] is False, reason


def test_a_job_that_ends_meanwhile_is_no_failure(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(monkeypatch, MINE, meanwhile={1: {"state": "COMPLETING"}})
    done = host.once()
    assert done.ok and [one.over for one in done.done] == [True]
    assert there.calls == [] and host.recorded()[-1][-1] is False and host.state().given == {}


def test_a_word_that_another_wrote_meanwhile_stays(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(monkeypatch, MINE, meanwhile={1: {"admin_comment": f"{RECORD} pf1:it=5"}})
    host.once()
    assert there.jobs[1][1].admin_comment == f"{RECORD} pf1:it=5 xt1:asked=3600,lim=4500,n=1"


@pytest.mark.parametrize(
    ("fails", "held", "reason"),
    [
        (set(), True, "the word is written again, beside the other's"),
        ({"comment"}, None, "slurmctld is away by then: the next round says what became of it"),
    ],
)
def test_a_word_that_another_overwrites_is_written_again(
    host: Host, monkeypatch: pytest.MonkeyPatch, fails: set[str], held: bool | None, reason: str
) -> None:
    there = world(monkeypatch, MINE, fails=fails, overwrites=f"{RECORD} ck1:at=9,heard=1,rq=0")
    done = host.once()
    assert [one.held for one in done.done] == [held] and there.calls == [(1, 900)], reason
    if held:
        assert there.jobs[1][1].admin_comment == f"{RECORD} ck1:at=9,heard=1,rq=0 xt1:asked=3600,lim=4500,n=1"
        assert len(host.recorded()) == 2


def test_a_word_is_written_again_though_its_owner_lowers_the_limit(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its word the limit, most of which was given, would be taken for the one that was asked for."""
    there = world(monkeypatch, MINE, afterwards={1: {"time_limit": 4440}}, overwrites=f"{RECORD} ck1:at=9,heard=1,rq=0")
    assert host.once().ok and host.state().given == {1001: 900}
    assert there.jobs[1][1].admin_comment == f"{RECORD} ck1:at=9,heard=1,rq=0 xt1:asked=3600,lim=4500,n=1"


@pytest.mark.parametrize(
    ("fails", "held", "reason"),
    [
        ({"killed"}, True, "it ended just behind the update"),
        ({"again"}, False, "it ended before any"),
        ({"after"}, True, "slurmctld was away when it was to be read back"),
    ],
)
def test_a_round_that_was_cut_off_is_completed_by_the_next(
    host: Host, monkeypatch: pytest.MonkeyPatch, fails: set[str], held: bool, reason: str
) -> None:
    there = world(monkeypatch, MINE, fails=fails)
    with suppress(KeyboardInterrupt, AdminkitError):
        host.once()
    state = host.state()
    assert (state.given, [line["job"] for line in state.under_way]) == ({1001: 900}, [1]), reason
    there.fails = set()
    there.jobs[1] = replace(there.jobs[1][0], ends=NOW + 1100), there.jobs[1][1]
    host.once(NOW + 30)
    assert host.recorded()[-1] == ("given", 1, 4500, "free", held), reason
    after = host.state(NOW + 30)
    assert (after.given, after.under_way) == ({1001: 900 if held else 0}, ()), reason


def test_an_outcome_is_recorded_once_however_often_rounds_are_cut_off(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last line of the log and the state, in two rounds in a row."""
    now = int(time.time())
    there = world(monkeypatch, (replace(run(1), ends=now + 400), RECORD))
    write = extend_round.write_state
    for at in (now, now + 30):

        def cut(folder: Path, state: State) -> None:
            if not state.under_way:
                raise KeyboardInterrupt
            write(folder, state)

        monkeypatch.setattr(extend_round, "write_state", cut)
        with suppress(KeyboardInterrupt):
            host.once(at)
        there.jobs[1] = replace(there.jobs[1][0], ends=now + 1100), there.jobs[1][1]
    monkeypatch.setattr(extend_round, "write_state", write)
    host.once(now + 60)
    assert [line[-1] for line in host.recorded()] == [None, True]
    assert (host.state(now + 60).given, host.state(now + 60).under_way) == ({1001: 900}, ())


def test_an_act_is_told_from_that_of_the_round_before_in_the_same_second(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is cut off before its update, the second behind it, the third says what became of both."""
    now = int(time.time())
    there = world(monkeypatch, (replace(run(1), ends=now + 400), RECORD), fails={"again"})
    for fails in ({"again"}, {"killed"}, set[str]()):
        there.fails = fails
        with suppress(KeyboardInterrupt, AdminkitError):
            host.once(now)
        if "killed" in fails:
            there.jobs[1] = replace(there.jobs[1][0], ends=now + 1100), there.jobs[1][1]
    assert [line[-1] for line in host.recorded()] == [False, None, True]
    assert host.state(now).given == {1001: 900}
