"""The rounds of a trial: which side is put in place when, what is on record, and what ends it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from adminkit.deploy import trial_guards, trial_round
from adminkit.deploy.files import put_table, table_path
from adminkit.deploy.refresh import refreshed
from adminkit.deploy.rehearse import check_table
from adminkit.deploy.trial import OVER, TRIAL, Side
from adminkit.deploy.trial_round import NOT_PUT
from adminkit.deploy.trial_sides import INCLUDED
from adminkit.deploy.trial_state import LEASE, is_leased
from adminkit.errors import AdminkitError
from tests.support.trials import DAY, NOW, Tried, policy


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


def test_two_rounds_do_not_act_at_the_same_moment(site: Tried) -> None:
    from adminkit.deploy.extend_state import alone_here

    with alone_here(site.folder, trial_round.LOCK), pytest.raises(AdminkitError, match="another round is at work"):
        site.round(site.at("b"))


def test_the_record_is_whole_json_all_the_time(site: Tried) -> None:
    site.round(site.at("b"))
    assert json.loads((site.folder / TRIAL).read_text())["machine"]["in_place"] == "b"
    assert os.stat(site.folder / TRIAL).st_mode & 0o007 == 0  # noqa: PTH116
