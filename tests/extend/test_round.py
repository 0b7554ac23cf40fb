"""A whole round on a slurmctld of a few jobs, where anything may fail: what is done, counted and recorded."""

from __future__ import annotations

import time
from typing import Any

import pytest

from adminkit.deploy import extend_round
from adminkit.deploy.extend_round import look
from adminkit.deploy.extend_state import STATE, alone_here
from adminkit.errors import AdminkitError
from adminkit.slurm import extending
from adminkit.slurm.squeue import QueuedJob
from tests.extend.jobs import RECORD, run, wait
from tests.extend.world import MINE, Host, world
from tests.fit.rooms import NOW


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


def test_only_the_host_whose_slurmctld_is_at_work_decides(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(monkeypatch, MINE, acting=False)
    assert host.once(others=("other",)).idle and not there.calls
    there.acting = True
    done = host.once(others=("other",))
    assert [one.act.why for one in done.done] == ["budget"], "nobody knows here what the other host gave this month"


def test_nothing_is_asked_where_it_is_off(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    world(monkeypatch, MINE, fails={"queue"})
    monkeypatch.setattr(extend_round, "settings_in_force", lambda folder: None)
    assert not host.once().enabled and not (host.folder / STATE).exists()
