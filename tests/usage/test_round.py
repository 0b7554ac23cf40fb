"""A whole round on a slurmctld of a few jobs, where anything may fail: what is done, counted and recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli import idle as cli
from adminkit.cli.main import main
from adminkit.deploy.extend_state import alone_here
from adminkit.deploy.idle_orders import REQUEUE
from adminkit.deploy.idle_state import LOCK
from adminkit.errors import AdminkitError
from adminkit.slurm import cluster, extending, gpu_jobs, idle_acts
from adminkit.trace import sight
from adminkit.usage import sources
from adminkit.usage.usage import GpuUse
from tests.support.builders import make_trace
from tests.usage.jobs import NOW, SETTINGS, job, use
from tests.usage.world import AWAY, IDLE, USED, World, did

CANCEL = replace(SETTINGS, acts=("cancel",))


#: What `adminkit idle --all` shows.
Shown = Callable[[], dict[str, tuple[str | None, str | None]]]


def test_a_job_is_warned_and_after_its_notice_put_back(world: World) -> None:
    first = world.once()
    assert did(first) == [(11, "warned", "idle"), (12, "nothing", "busy")] and first.ok
    ((what, number, text),) = world.calls
    assert (what, number) == ("notify", 11) and text.startswith("adminkit: 2 of this job's 2 GPUs have not been used")
    assert world.recorded() == [("warned", 11, None), ("warned", 11, True)], "before it, and after it"
    assert (11, "nothing", "notice") in did(world.once(NOW + 1799))
    second = world.once(NOW + 1800)
    assert did(second)[0] == (11, "requeue", "idle")
    until = NOW + 1800 + REQUEUE
    assert world.calls[1:] == [("comment", 11, f"el1:gpus=0,until={until}")]
    assert world.recorded()[2:] == [("requeue", 11, None), ("requeue", 11, True)]
    assert (world.state().orders, world.state().past[11].tried) == ({11: until}, {"requeue": 1})


def test_each_act_on_a_job_is_tried_as_often_as_the_policy_says(world: World) -> None:
    world.settings = replace(CANCEL, times=2)
    world.refuses = {"cancel"}
    world.once()
    of_11 = [(what, why) for late in (1800, 1801, 3600, 5400, 7200) for job_id, what, why in did(world.once(NOW + late))
             if job_id == 11]  # fmt: skip
    assert of_11 == [("cancel", "idle"), ("nothing", "acted"), ("cancel", "idle"), *[("nothing", "times")] * 2]
    assert world.recorded()[2:] == [("cancel", 11, None), ("cancel", 11, False)] * 2
    assert world.state().past[11].tried == {"cancel": 2}


def test_nothing_is_done_while_a_source_is_away(world: World) -> None:
    world.once()
    world.away = True
    done = world.once(NOW + 1800)
    assert not [one for one in did(done) if one[1] != "nothing"] and done.notes == [AWAY]
    assert len(world.calls) == 1 and len(world.recorded()) == 2, "only the warning of before"


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ({11: USED}, "busy"),
        ({}, "nobody"),
        ({11: (use(0),)}, "count"),
        ({11: IDLE, 13: (use(1),)}, "shared"),
    ],
)
def test_what_the_second_look_does_not_confirm_is_not_done(
    world: World, then: dict[int, Sequence[GpuUse]], why: str
) -> None:
    world.settings = CANCEL
    world.once()
    world.looks, world.second = [], then
    assert (11, "nothing", why) in did(world.once(NOW + 1800))
    assert world.looks == [[11, 12], [11]], "only those that something would be done about"
    assert [what for what, *_ in world.calls] == ["notify"]


@pytest.mark.parametrize(
    "changes",
    [None, {"start_time": NOW - 60}, {"state": "COMPLETING"}],
    ids=["it is over", "it was put back and runs again", "it ends"],
)
def test_a_job_that_is_over_or_another_run_is_not_touched(
    world: World, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any] | None
) -> None:
    world.settings = CANCEL
    world.once()
    meanwhile = {} if changes is None else {11: replace(world.jobs[11].listed, **changes)}
    monkeypatch.setattr(idle_acts, "now_of", lambda ids: meanwhile)
    (act,) = [one for one in world.once(NOW + 1800).done if one.act.did != "nothing"]
    assert (act.act.did, act.held, act.said) == ("cancel", False, "it is no longer that run")
    assert [what for what, *_ in world.calls] == ["notify"]


def test_a_warning_that_slurm_refuses_is_not_a_warning(world: World) -> None:
    world.settings, world.refuses = CANCEL, {"notify"}
    for late in (0, 1800, 3600):
        done = world.once(NOW + late)
        assert did(done)[0] == (11, "warned", "idle") and not done.ok
    assert not world.calls and world.state().past == {}


def test_a_job_that_used_its_gpus_again_is_warned_again(world: World) -> None:
    world.settings = CANCEL
    world.once()
    world.uses[11] = USED
    world.once(NOW + 1800)
    assert world.state().past[11].warned is None
    world.uses[11] = IDLE
    assert did(world.once(NOW + 3600))[0] == (11, "warned", "idle")
    assert [what for what, *_ in world.calls] == ["notify", "notify"]


def test_nothing_is_done_that_could_not_be_recorded(world: World) -> None:
    world.config.acts.mkdir()
    with pytest.raises(AdminkitError):
        world.once()
    assert not world.calls and not world.looks


def test_one_round_at_a_time_and_only_where_slurmctld_is_at_work(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with alone_here(world.folder, LOCK), pytest.raises(AdminkitError, match="another round"):
        world.once()
    monkeypatch.setattr(extending, "is_acting", lambda others: False)
    assert world.once(others=("head2",)).idle
    assert not world.calls and not world.config.acts.exists()


def test_a_section_that_is_off_looks_at_nothing(world: World) -> None:
    world.settings = None
    assert not world.once().enabled
    assert not world.looks and not world.calls and not world.config.acts.exists()


def test_what_was_ordered_is_carried_on_when_the_section_is_turned_off(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.once()
    world.once(NOW + 1800)
    world.settings = None
    del world.jobs[11]
    done = world.once(NOW + 2100)
    assert [line["did"] for line in done.settled] == ["over"] and world.state().orders == {}
    assert world.recorded()[-1] == ("over", 11, True)


@pytest.fixture
def shown(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shown:
    """`adminkit idle --all`, half an hour later: (next, kept) by job."""
    monkeypatch.setattr(cli, "site", lambda folder: (world.folder, None))
    monkeypatch.setattr(gpu_jobs, "gpu_jobs", world.gpu_jobs)
    monkeypatch.setattr(cluster, "local_cluster", lambda: "alpha")
    monkeypatch.setattr(sources, "measure", lambda usage, jobs, now: world.measure(jobs, now))

    def rows() -> dict[str, tuple[str | None, str | None]]:
        monkeypatch.setattr(time, "time", lambda: NOW + 1800.0)
        assert main(["idle", "--all", "--format", "json", "--db", str(make_trace(tmp_path / "t.db"))]) == 0
        return {row["job"]: (row["next"], row["kept"]) for row in json.loads(capsys.readouterr().out)["rows"]}

    return rows


def test_a_preview_changes_nothing(world: World, shown: Shown) -> None:
    world.once()
    before, kept = list(world.calls), world.state()
    assert shown() == {"11": ("requeue", None), "12": (None, "busy")}
    assert (world.calls, world.state(), len(world.recorded())) == (before, kept, 2)


@pytest.mark.parametrize(("sees", "expected"), [(True, {"11", "12"}), (False, {"12"})])
def test_only_operators_are_shown_the_jobs_of_others(
    world: World, shown: Shown, monkeypatch: pytest.MonkeyPatch, sees: bool, expected: set[str]
) -> None:
    world.jobs[12] = job(12, user="bob", uid=1002)
    monkeypatch.setattr(sight, "sees_others", lambda path: sees)
    monkeypatch.setattr(sight, "own_name", lambda: "bob")
    assert set(shown()) == expected
