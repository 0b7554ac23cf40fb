"""B again after the days of a trial, whole, recorded, and not over what somebody changed; rounds of two hosts."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.deploy import trial_round
from adminkit.deploy.files import put_table, table_path
from adminkit.deploy.rehearse import check_table
from adminkit.deploy.trial import KEPT, OVER, TRIAL
from adminkit.deploy.trial_state import write_whole
from adminkit.errors import AdminkitError
from adminkit.slurm import extending
from tests.support.crash import crash_at
from tests.support.trials import DAY, NOW, Tried, policy


def test_b_is_put_in_place_again_after_the_days_of_the_trial_and_stays(site: Tried) -> None:
    """For whoever has read the result: recorded, and left alone by later rounds."""
    end = site.trial.ends
    site.round(end)
    assert site.whole.trial.why == OVER and site.is_whole("a")
    assert trial_round.stop(site.target, end + 3 * DAY, KEPT, keep=True).ok
    trial = site.whole.trial
    assert site.is_whole("b") and trial.kept and trial.ended == end, "the days of the result stay"
    acts = site.acts()
    assert acts[-2:] == ["kept after its end", "put"]
    site.round(end + 4 * DAY)
    site.restore(end + 4 * DAY)
    assert site.is_whole("b") and site.acts() == acts
    with pytest.raises(AdminkitError, match="B was kept already"):
        trial_round.stop(site.target, end + 4 * DAY, KEPT, keep=True)


def test_b_is_not_put_in_place_after_the_trial_over_what_somebody_changed(site: Tried) -> None:
    site.round(site.trial.ends)
    put_table(site.folder, "policy", policy(7), check_table)
    acts = site.acts()
    with pytest.raises(AdminkitError, match="A is not in place any more: the policy"):
        trial_round.stop(site.target, site.trial.ends + 60, KEPT, keep=True)
    assert table_path(site.folder, "policy").read_text() == policy(7) and site.acts() == acts


@pytest.mark.parametrize(
    ("why", "keep", "words"),
    [
        (OVER, False, "no trial is running"),
        ("guard cut: 3 jobs", True, "ended before its time: guard cut: 3 jobs"),
        ("changed by hand: the policy", True, "ended before its time: changed by hand"),
    ],
)
def test_what_is_not_put_in_place_after_the_trial(site: Tried, why: str, keep: bool, words: str) -> None:
    whole = site.whole
    ended = replace(whole, trial=replace(whole.trial, ended=NOW, why=why))
    write_whole(site.folder, ended, None)
    with pytest.raises(AdminkitError, match=words):
        trial_round.stop(site.target, NOW + 60, KEPT, keep=keep)
    assert site.is_whole("a")


def test_a_kill_while_b_is_put_in_place_after_the_trial_is_completed(site: Tried, tmp_path: Path) -> None:
    """By the next round, at each of a sample of calls: A whole, or B whole."""
    now = site.trial.ends + 60
    site.round(now)
    kept = tmp_path / "kept"
    shutil.copytree(site.folder, kept, symlinks=True)
    died, ends = 0, set()
    for number in range(0, 60, 5):
        shutil.rmtree(site.folder)
        shutil.copytree(kept, site.folder, symlinks=True)
        died += crash_at(number, lambda: trial_round.stop(site.target, now, KEPT, keep=True))
        site.round(now + 60)
        ends.add(site.whole.machine.in_place)
        assert site.is_whole("b" if site.whole.trial.kept else "a"), number
    assert died > 5 and ends == {"a", "b"}


def test_a_round_of_a_host_that_is_not_in_control_does_nothing(site: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a switch nor a lease: the other host's rounds decide."""
    now = site.at("b")
    before = (site.folder / TRIAL).read_text()
    monkeypatch.setattr(extending, "is_acting", lambda _: False)
    done = trial_round.once(site.target, now, ("other",))
    assert done.ok and [words.startswith("another host's slurmctld is in control") for words in done.said] == [True]
    assert site.is_whole("a") and (site.folder / TRIAL).read_text() == before and not site.acts()
    monkeypatch.setattr(extending, "is_acting", lambda _: True)
    assert trial_round.once(site.target, now, ("other",)).ok
    assert site.is_whole("b")
