"""A whole round on a slurmctld of a few jobs, where anything may fail: what is done, counted and recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adminkit import actions
from adminkit.deploy import extend_bounds, extend_round
from adminkit.deploy.extend_round import look, once
from adminkit.deploy.extend_state import STATE, State, alone_here, month_of, read_state, write_state
from adminkit.deploy.files import SUBFOLDER, changing
from adminkit.deploy.in_force import Answer
from adminkit.errors import AdminkitError
from adminkit.extend.words import given_of
from adminkit.slurm import extending
from adminkit.slurm.extending import Queue
from adminkit.slurm.room import Room, RoomJob
from adminkit.slurm.squeue import QueuedJob
from tests.extend.jobs import RECORD, SETTINGS, listed, run, wait
from tests.fit.rooms import HOUR, NOW, make, node, taken

MARGIN = 120
AWAY = AdminkitError("couldn't reach slurmctld", "scontrol ping")


@dataclass
class World:
    """slurmctld: its jobs in both views, and the calls that fail, by name; `acting`: whether this host's is at work."""

    jobs: dict[int, tuple[RoomJob, QueuedJob]]
    fails: set[str] = field(default_factory=set)
    calls: list[tuple[int, int]] = field(default_factory=list)
    acting: bool = True
    meanwhile: dict[int, dict[str, Any]] = field(default_factory=dict)  # what becomes of jobs behind the snapshot
    overwrites: str = ""  # the comment that another writes just behind an update

    def queue(self, now: int) -> Queue:
        self._may("queue")
        rooms, found = zip(*self.jobs.values(), strict=True) if self.jobs else ((), ())
        return Queue(now, {}, rooms, found)

    def room_around(self, of: Queue, names: Collection[str]) -> tuple[Room, str]:
        self._may("room")
        there = [node(name, taken(*(job for job in of.jobs if name in job.nodes and job.runs))) for name in names]
        return make(there, *of.jobs), ""

    def again(self, job_ids: Collection[int]) -> dict[int, QueuedJob]:
        self._may("after" if self.calls else "again")
        for number, changes in () if self.calls else self.meanwhile.items():
            room, one = self.jobs[number]
            self.jobs[number] = room, replace(one, **changes)
        return {number: self.jobs[number][1] for number in job_ids if number in self.jobs}

    def move_limit(self, job: QueuedJob, by: int, comment: str) -> None:
        self._may("update")
        self.calls.append((job.job_id, by))
        room, one = self.jobs[job.job_id]
        if "held" not in self.fails:
            limit = (one.time_limit or 0) + by
            self.jobs[job.job_id] = (
                replace(room, time_limit=limit),
                replace(one, time_limit=limit, admin_comment=self.overwrites or comment),
            )
        self._may("killed")

    def set_comment(self, job: QueuedJob, comment: str) -> None:
        self._may("comment")
        room, one = self.jobs[job.job_id]
        self.jobs[job.job_id] = room, replace(one, admin_comment=comment)

    def is_acting(self, others: Collection[str]) -> bool:
        return self.acting

    def _may(self, what: str) -> None:
        if what in self.fails:
            raise KeyboardInterrupt if what == "killed" else AWAY


@dataclass
class Host:
    """slurmctld's host: the folder of job_submit.lua and the action log."""

    folder: Path
    log: Path

    def once(self, now: int = NOW, others: tuple[str, ...] = ()) -> extend_round.Round:
        return once(self.folder, now, self.log, None, others)

    def recorded(self) -> list[tuple[str, int, int | None, str, bool | None]]:
        acts = actions.read(self.log)
        return [(one["did"], one["job"], one["becomes"], one["why"], one["held"]) for one in acts]

    def state(self, now: int = NOW) -> State:
        return read_state(self.folder, now, True, MARGIN)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    (tmp_path / SUBFOLDER).mkdir()
    settings = replace(SETTINGS, budget=24 * HOUR)
    monkeypatch.setattr(extend_round, "settings_in_force", lambda folder: settings)
    monkeypatch.setattr(extend_bounds.Rules, "of_more", lambda self, job, asked, limit, batch: Answer())
    return Host(tmp_path, tmp_path / "acts.jsonl")


def world(monkeypatch: pytest.MonkeyPatch, *jobs: tuple[RoomJob, str], **more: Any) -> World:
    made = World({room.job_id: (room, listed(room, comment)) for room, comment in jobs}, **more)
    for name in ("queue", "room_around", "again", "move_limit", "set_comment", "is_acting"):
        monkeypatch.setattr(extending, name, getattr(made, name))
    return made


MINE = (run(1), RECORD)


def test_a_job_near_its_limit_is_given_more(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(monkeypatch, MINE, (run(2, "n2", left=1500), RECORD), (run(3, "n3"), "ak1:lim=3600,src=e"))
    done = host.once()
    assert done.ok and (done.opted_in, [one.held for one in done.done]) == (2, [True])
    assert there.calls == [(1, 900)] and there.jobs[1][1].admin_comment == f"{RECORD} xt1:asked=3600,lim=4500,n=1"
    assert host.recorded() == [("given", 1, 4500, "free", None), ("given", 1, 4500, "free", True)]
    assert (host.state().given, host.state().under_way) == ({1001: 900}, ())


def test_one_round_at_a_time(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by the timer and one by hand would both raise a limit that both have just read."""
    there = world(monkeypatch, MINE)
    with alone_here(host.folder), pytest.raises(AdminkitError, match="another round"):
        host.once()
    assert not there.calls and not host.log.exists()
    assert host.once().ok and there.calls == [(1, 900)]


def test_what_was_decided_too_long_ago_is_not_done(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what is taken back might end a job now, which had its lead when that was decided."""
    there = world(monkeypatch, MINE, (run(2, "n2", left=400), RECORD))
    clock = [0.0]
    update = there.move_limit

    def slow(job: QueuedJob, by: int, comment: str) -> None:
        clock[0] += 61
        update(job, by, comment)

    monkeypatch.setattr(extending, "move_limit", slow)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    done = host.once()
    assert [one.held for one in done.done] == [True, False] and not done.ok
    assert there.calls == [(1, 900)] and host.state().given == {1001: 900}


def test_a_preview_changes_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(monkeypatch, MINE)
    found = look(host.folder, NOW)
    assert [(one.act.did, one.held) for one in found.done] == [("given", None)]
    assert not there.calls and not host.log.exists() and not (host.folder / STATE).exists()


def test_a_refusal_is_recorded_once_for_a_job_and_a_why(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(monkeypatch, MINE, (wait(5), ""))
    host.once()
    host.once(NOW + 30)
    assert host.recorded() == [("refused", 1, None, "waiting", None)]
    del there.jobs[1]
    host.once(NOW + 60)
    assert host.state().refused == {}, "a job that is gone is forgotten"


@pytest.mark.parametrize(
    ("fails", "reason"),
    [("queue", "squeue does not answer"), ("room", "scontrol does not answer")],
)
def test_a_slurm_that_does_not_answer_gives_nothing(
    host: Host, monkeypatch: pytest.MonkeyPatch, fails: str, reason: str
) -> None:
    there = world(monkeypatch, MINE, fails={fails})
    with pytest.raises(AdminkitError, match="couldn't reach slurmctld"):
        host.once()
    assert not there.calls and not host.recorded() and host.state().given == {}, reason


def test_what_cannot_be_recorded_is_not_done(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(monkeypatch, MINE)
    host.log.mkdir()
    with pytest.raises(AdminkitError, match="couldn't record actions"):
        host.once()
    assert not there.calls


@pytest.mark.parametrize(
    ("fails", "calls", "held", "reason"),
    [
        ({"update"}, [], False, "slurmctld refuses the update"),
        ({"held"}, [(1, 900)], False, "it takes it and changes nothing"),
    ],
)
def test_an_update_that_did_not_hold_is_said(
    host: Host, monkeypatch: pytest.MonkeyPatch, fails: set[str], calls: list[Any], held: bool, reason: str
) -> None:
    there = world(monkeypatch, MINE, fails=fails)
    done = host.once()
    assert not done.ok and there.calls == calls and host.recorded()[-1][-1] is held, reason
    assert host.state().given == {}, "what was not given does not count"


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


def test_only_the_host_whose_slurmctld_is_at_work_decides(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(monkeypatch, MINE, acting=False)
    assert host.once(others=("other",)).idle and not there.calls
    there.acting = True
    done = host.once(others=("other",))
    assert [one.act.why for one in done.done] == ["budget"], "nobody knows here what the other host gave this month"


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


def test_nothing_is_asked_where_it_is_off(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    world(monkeypatch, MINE, fails={"queue"})
    monkeypatch.setattr(extend_round, "settings_in_force", lambda folder: None)
    assert not host.once().enabled and not (host.folder / STATE).exists()
