"""The rounds of a trial: which side is put in place when, what ends it, and what a kill leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adminkit.deploy import trial_guards, trial_round, trial_work
from adminkit.deploy.files import put_table, table_path
from adminkit.deploy.refresh import refreshed
from adminkit.deploy.rehearse import check_table
from adminkit.deploy.trial import OVER, TRIAL, Side
from adminkit.deploy.trial_look import look
from adminkit.deploy.trial_round import NOT_PUT
from adminkit.deploy.trial_sides import INCLUDED, other
from adminkit.deploy.trial_state import LEASE, is_leased
from adminkit.errors import AdminkitError
from adminkit.slurm import switching
from tests.support.crash import crash_at
from tests.support.trials import DAY, NOW, Tried, policy, tried

KILLS = 100


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    folder = tmp_path / "site"
    folder.mkdir()
    return tried(folder, monkeypatch)


def test_each_side_is_put_in_place_on_its_days_and_the_lease_renewed(site: Tried) -> None:
    site.round(NOW - 30)
    assert site.is_whole("a"), "it has not begun"
    sides: tuple[Side, ...] = ("b", "a")
    for side in sides:
        now = site.at(side)
        site.round(now)
        assert site.is_whole(side)
        machine = site.whole.machine
        assert (machine.in_place, machine.under_way) == (side, None) and now + LEASE <= machine.lease_until
        before = site.acts()
        site.round(now + 60)
        assert site.acts() == before, "it is in place already"


def test_its_end_puts_a_back_and_later_rounds_do_nothing(site: Tried) -> None:
    site.round(site.at("b"))
    site.round(site.trial.ends + 5)
    assert site.is_whole("a")
    assert (site.whole.trial.ended, site.whole.trial.why) == (site.trial.ends, OVER)
    (site.folder / INCLUDED).write_text("# the site's own now\n")
    site.round(site.trial.ends + 65)
    assert (site.folder / INCLUDED).read_text() == "# the site's own now\n"


def test_a_gap_that_nobody_saw_is_on_record(site: Tried) -> None:
    now = site.at("b")
    site.round(now)
    site.round(now + LEASE - 60)
    assert [one.side for one in site.whole.trial.placed] == ["a", "", "b"], "a short gap, behind a long one"
    site.round(now + 3 * LEASE)
    assert [one.side for one in site.whole.trial.placed] == ["a", "", "b", "", "b"]


HANDS: dict[str, Callable[[Tried], object]] = {
    "a policy": lambda site: put_table(site.folder, "policy", policy(7), check_table),
    "the other side's policy": lambda site: put_table(site.folder, "policy", site.pair.a.policy, check_table),
    "a line of the included file": lambda site: (site.folder / INCLUDED).write_text(
        site.pair.b.text.replace("20000", "7")
    ),
    "slurm.conf": lambda site: (site.folder / "slurm.conf").write_text(
        (site.folder / "slurm.conf").read_text().replace("1000", "7")
    ),
    "a key of a queue": lambda site: site.ctld.update_queue("gq", {"MaxTime": "2-00:00:00"}),
}


@pytest.mark.parametrize("hand", HANDS)
def test_what_was_changed_by_hand_ends_it_and_stays(site: Tried, hand: str) -> None:
    now = site.at("b")
    site.round(now)
    HANDS[hand](site)
    files = (table_path(site.folder, "policy"), site.folder / "slurm.conf")
    before = {part.name: part.now for part in site.seen().parts if part.whose == "other"}
    texts = [path.read_text() for path in files]
    site.round(now + 60)
    assert site.whole.trial.why.startswith("changed by hand: "), hand
    assert {path.read_text() for path in files} >= {text for text in texts if text != site.pair.b.policy}
    parts = site.seen().parts
    assert not [part for part in parts if part.whose == "b"], "what was still the trial's is given back"
    kept = {part.name: part.now for part in parts if part.whose == "other"}
    if hand not in ("a policy", "the other side's policy"):
        assert before.items() <= kept.items() or hand == "a line of the included file"
    if hand == "a line of the included file":
        assert "PriorityWeightAge=7" in (site.folder / INCLUDED).read_text()
        assert "bf_window" not in (site.folder / INCLUDED).read_text()
    acts = site.acts()
    site.round(now + 120)
    assert site.acts() == acts, "it has ended"


def test_what_b_has_stays_where_somebody_put_it_while_a_was_in_place(site: Tried) -> None:
    """The trial did not put it there, though it is the same."""
    now = site.at("a")
    site.round(now)
    put_table(site.folder, "policy", site.pair.b.policy, check_table)
    site.round(now + 60)
    assert site.whole.trial.why == "changed by hand: the policy"
    assert table_path(site.folder, "policy").read_text() == site.pair.b.policy
    site.round(now + 120)
    assert table_path(site.folder, "policy").read_text() == site.pair.b.policy, "it has ended"


def test_operators_that_were_looked_up_again_are_nobodys_hand(site: Tried) -> None:
    """And who is no operator any more does not pass again on the other side's days."""
    now = site.at("b")
    site.round(now)
    text = refreshed(table_path(site.folder, "policy").read_text(), {0}).text
    put_table(site.folder, "policy", text, check_table)
    site.ctld.load()
    site.round(now + 60)
    assert site.whole.trial.ended is None
    site.round(site.at("a"))
    assert site.is_whole("a")
    assert "[2001] = true" not in table_path(site.folder, "policy").read_text()


def test_a_queue_that_a_restart_set_back_is_put_again(site: Tried) -> None:
    now = site.at("b")
    site.round(now)
    site.ctld.restart()
    assert not site.is_whole("b")
    site.round(now + 60)
    assert site.is_whole("b") and site.acts()[-1] == "put again"


def test_b_that_cannot_be_put_in_place_ends_it(site: Tried) -> None:
    site.ctld.refuses = True
    now = site.at("b")
    site.round(now, ok=False)
    assert not is_leased(site.whole.machine, now), "nothing renews the lease"
    site.ctld.refuses = False
    site.keep(under_since=now - LEASE - 60)
    site.round(now + 60)
    assert site.whole.trial.why == NOT_PUT and site.is_whole("a")


def test_a_guard_that_fires_ends_it(site: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    now = site.at("b")
    site.round(now)
    monkeypatch.setattr(trial_guards, "guard", lambda _: "guard cut: 3 jobs")
    site.round(now + 60)
    assert site.whole.trial.why == "guard cut: 3 jobs" and site.is_whole("a")


@pytest.mark.parametrize("later", [LEASE + 1, -DAY])
def test_a_comes_back_when_the_lease_has_run_out_and_not_before(site: Tried, later: int) -> None:
    """Also where the clock was set back: a lease that seems to last for a day is none."""
    now = site.at("b")
    site.round(now)
    site.restore(now + LEASE - 5)
    assert site.is_whole("b")
    site.restore(now + later)
    assert site.is_whole("a") and site.whole.trial.placed[-1].side == "a"
    acts = site.acts()
    site.restore(now + later + 60)
    assert site.acts() == acts


def test_a_comes_back_in_files_while_slurmctld_is_away(site: Tried) -> None:
    now = site.at("b")
    site.round(now)
    site.ctld.away = True
    assert not site.restore(now + LEASE + 1).ok
    site.ctld.away = False
    site.ctld.restart()
    assert site.is_whole("a")


@pytest.mark.parametrize("damage", ["{", "", "[]", '{"format": 1}'])
def test_a_damaged_file_gives_a_back_whoever_finds_it(site: Tried, damage: str) -> None:
    for act in (site.round, site.restore):
        (site.folder / f"{TRIAL}.damaged").unlink(missing_ok=True)
        kept = (site.folder / TRIAL).read_text()
        site.round(site.at("b"))
        (site.folder / TRIAL).write_text(damage)
        act(site.at("b") + 60)
        assert not (site.folder / TRIAL).exists() and (site.folder / f"{TRIAL}.damaged").exists()
        (site.folder / TRIAL).write_text(kept)
        assert site.is_whole("a")


def test_a_link_in_the_place_of_its_file_is_not_followed(site: Tried, tmp_path: Path) -> None:
    site.round(site.at("b"))
    elsewhere = tmp_path / "elsewhere.json"
    shutil.copy(site.folder / TRIAL, elsewhere)
    (site.folder / TRIAL).unlink()
    (site.folder / TRIAL).symlink_to(elsewhere)
    text = elsewhere.read_text()
    site.round(site.at("b") + 60)
    assert elsewhere.read_text() == text
    (site.folder / TRIAL).unlink(missing_ok=True)
    shutil.copy(elsewhere, site.folder / TRIAL)
    assert site.is_whole("a")


@pytest.mark.parametrize("in_place", ["a", "b"])
def test_a_comes_back_where_the_folder_of_b_is_damaged(site: Tried, in_place: Side) -> None:
    """Its digest is in the record; A's own folder is still whole."""
    site.round(site.at(in_place))
    side = site.folder / "adminkit/trial/b/side.json"
    side.write_text(side.read_text().replace("20000", "9"))
    done = site.round(site.at("b") + 60)
    assert "not as adminkit writes it" in done.said[0]
    assert not (site.folder / TRIAL).exists()
    assert (site.folder / INCLUDED).read_text() == site.pair.a.text
    assert site.ctld.holds().queues["gq"]["MaxTime"] == "3-00:00:00"
    assert table_path(site.folder, "policy").read_text() == site.pair.a.policy


def test_a_comes_back_where_its_file_is_gone(site: Tried) -> None:
    kept = (site.folder / TRIAL).read_text()
    site.round(site.at("b"))
    (site.folder / TRIAL).unlink()
    assert "is gone" in look(site.target, site.at("b") + 30).notes[0]
    site.restore(site.at("b") + 60)
    assert look(site.target, site.at("b") + 90).ok
    acts = site.acts()
    site.round(site.at("b") + 120)
    assert site.acts() == acts, "once"
    (site.folder / TRIAL).write_text(kept)
    assert site.is_whole("a")


@pytest.mark.parametrize("damage", ["{", '{"format": 2}', None])
def test_b_that_was_kept_stays_whatever_becomes_of_the_file_of_the_trial(site: Tried, damage: str | None) -> None:
    """The next release may write another format."""
    site.round(site.at("b"))
    trial_round.stop(site.target, site.at("b") + 60, "kept", keep=True)
    site.round(site.at("b") + 120)
    if damage is None:
        (site.folder / TRIAL).unlink()
    else:
        (site.folder / TRIAL).write_text(damage)
    acts = site.acts()
    site.round(site.at("b") + 180)
    site.restore(site.at("b") + 180)
    assert site.acts() == acts
    assert (site.folder / INCLUDED).read_text() == site.pair.b.text
    assert site.ctld.holds().queues["gq"]["MaxTime"] == "1-00:00:00"


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


def test_two_rounds_do_not_act_at_the_same_moment(site: Tried) -> None:
    from adminkit.deploy.extend_state import alone_here

    with alone_here(site.folder, trial_round.LOCK), pytest.raises(AdminkitError, match="another round is at work"):
        site.round(site.at("b"))


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


def test_the_record_is_whole_json_all_the_time(site: Tried) -> None:
    site.round(site.at("b"))
    assert json.loads((site.folder / TRIAL).read_text())["machine"]["in_place"] == "b"
    assert os.stat(site.folder / TRIAL).st_mode & 0o007 == 0  # noqa: PTH116
