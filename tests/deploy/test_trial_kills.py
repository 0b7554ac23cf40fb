"""A round of a trial that is cut off, by a kill, by slurmctld or by a full disk: the next one completes it."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from adminkit.deploy import trial_round, trial_work
from adminkit.deploy.trial import Side
from adminkit.deploy.trial_sides import INCLUDED, other
from adminkit.deploy.trial_state import LEASE
from adminkit.errors import AdminkitError
from adminkit.slurm import switching
from tests.support.crash import crash_at
from tests.support.trials import Tried

KILLS = 100


@pytest.mark.parametrize("end", ["stop", "hand"])
def test_why_it_ended_is_on_record_also_where_a_kill_came_before_the_line(
    site: Tried, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    now = site.at("b")
    site.round(now)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as within:
        within.setattr(trial_work, "record", killed)
        with pytest.raises(KeyboardInterrupt):
            if end == "stop":
                trial_round.stop(site.target, now + 60, "stopped")
            else:
                site.ctld.update_queue("gq", {"MaxTime": "2-00:00:00"})
                site.round(now + 60)
    site.round(now + 120)
    last = json.loads((site.folder / "acts.jsonl").read_text().splitlines()[-1])
    assert last["ended"] == site.whole.trial.why, last


def _copy(site: Tried, kept: Path) -> None:
    """The folder as it was kept."""
    shutil.rmtree(site.folder)
    shutil.copytree(kept, site.folder, symlinks=True)


@pytest.mark.parametrize("to", ["a", "b"])
def test_a_kill_anywhere_leaves_what_the_next_round_completes(site: Tried, tmp_path: Path, to: Side) -> None:
    """At every call to the file system of a switch, of which there are at least fifty each way: the record says that a
    switch is under way wherever not all is of one side, and the next round has the side whole.
    """
    start, end = site.at(other(to)), site.at(to)
    if end < start:
        end = site.at(to, 6)
    site.round(start)
    kept, number, mixed = tmp_path / "kept", 0, 0
    shutil.copytree(site.folder, kept, symlinks=True)
    while True:
        _copy(site, kept)
        died = crash_at(number, lambda: site.round(end))
        machine = site.whole.machine
        if machine.under_way is None:
            assert site.is_whole(machine.in_place), number
        mixed += not (site.is_whole("a") or site.is_whole("b"))
        site.round(end + 60)
        assert site.is_whole(to) and site.whole.trial.ended is None, number
        if not died:
            break
        number += 1
    assert number >= 50 and mixed


def test_a_kill_anywhere_of_what_puts_a_back_is_completed(site: Tried, tmp_path: Path) -> None:
    """At random calls of a stop, of a restore and of an end by hand; then a round, or the next restore."""
    now, pick = site.at("b"), random.Random(44)
    site.round(now)
    kept = tmp_path / "kept"
    shutil.copytree(site.folder, kept, symlinks=True)
    acts = {
        "stop": lambda: trial_round.stop(site.target, now + 60, "stopped"),
        "restore": lambda: site.restore(now + LEASE + 5),
        "hand": lambda: site.round(now + 60),
    }
    died = 0
    for nth in range(KILLS // 2):
        _copy(site, kept)
        name = list(acts)[nth % 3]
        if name == "hand":
            site.ctld.update_queue("gq", {"MaxTime": "2-00:00:00"})
        died += crash_at(pick.randrange(60), acts[name])
        site.restore(now + LEASE + 65)
        left = [part for part in site.seen().parts if part.whose == "b"]
        assert not left, (nth, name, left)
    assert died > KILLS // 4


def test_a_queue_that_somebody_closed_stays_closed_where_a_switch_is_cut_off(
    site: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """slurmctld opens it as it reads slurm.conf again, and the round ends before it closes the queue."""
    now = site.at("b")
    site.ctld.update_queue("gq", {"State": "DRAIN"})

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as within:
        within.setattr(switching, "update_queue", killed)
        with pytest.raises(KeyboardInterrupt):
            site.round(now)
    assert site.ctld.holds().queues["gq"]["State"] == "UP"
    site.round(now + 60)
    assert site.is_whole("b") and site.ctld.holds().queues["gq"]["State"] == "DRAIN"
    assert site.whole.machine.before == {}, "whoever opens it now has it open"


def test_a_queue_that_somebody_closes_between_two_attempts_stays_closed(site: Tried) -> None:
    site.ctld.refuses = True
    site.round(site.at("b"), ok=False)
    site.ctld.update_queue("gq", {"State": "DOWN"})
    site.ctld.refuses = False
    site.round(site.at("b") + 60)
    assert site.is_whole("b") and site.ctld.holds().queues["gq"]["State"] == "DOWN"


def test_lines_that_slurm_refuses_do_not_stay_in_slurm_conf(site: Tried) -> None:
    """slurmctld would not start with them, and no program of Slurm would work."""
    site.ctld.refuses = True
    site.round(site.at("b"), ok=False)
    assert (site.folder / INCLUDED).read_text() == site.pair.a.text
    site.ctld.refuses = False
    site.round(site.at("b") + 60)
    assert site.is_whole("b")


def test_each_switch_is_on_record_before_it_counts(site: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise AdminkitError("no space left")

    with monkeypatch.context() as within:
        within.setattr(trial_work, "record", full)
        with pytest.raises(AdminkitError, match="no space left"):
            site.round(site.at("b"))
    site.round(site.at("b") + 60)
    assert site.acts() == ["put"] and site.is_whole("b")
