"""doctor's check of a trial: quiet without one, and after one; else whether its rounds run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from adminkit import config
from adminkit.deploy import trial_round
from adminkit.deploy.trial import TRIAL
from adminkit.deploy.trial_state import LEASE
from adminkit.doctor import trial as checks
from tests.support.trials import Tried, tried


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    folder = tmp_path / "site"
    folder.mkdir()
    controller = SimpleNamespace(others=lambda: ())
    monkeypatch.setattr(checks, "controller_or_conf", lambda: controller)
    monkeypatch.setattr(checks, "site_folder", lambda *_: folder)
    return tried(folder, monkeypatch)


def said(monkeypatch: pytest.MonkeyPatch, now: int) -> list[tuple[str, str]]:
    monkeypatch.setattr("adminkit.doctor.trial.time.time", lambda: now)
    return [(one.status, one.found) for one in checks.trial(config.Config())]


def test_a_round_that_ran_lately_is_well(site: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    now = site.at("b")
    site.round(now)
    ((status, found),) = said(monkeypatch, now + 60)
    assert status == "ok" and found.startswith("B is in place; the lease lasts until")


def test_what_is_wrong_is_named(site: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    now = site.at("b")
    site.round(now)
    late = said(monkeypatch, now + LEASE + 60)
    assert [status for status, _ in late] == ["missing"] and "did not run lately" in late[0][1]
    site.ctld.update_queue("gq", {"MaxTime": "2-00:00:00"})
    hand = said(monkeypatch, now + 60)
    assert ("missing", "changed by hand: gq MaxTime is 2-00:00:00") in hand
    (site.folder / TRIAL).write_text("{")
    assert [status for status, _ in said(monkeypatch, now)] == ["missing"]


def test_it_is_quiet_without_a_trial_and_after_one_but_for_what_b_left(
    site: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = site.at("b")
    site.round(now)
    trial_round.stop(site.target, now + 60, "stopped", keep=True)
    ((status, found),) = said(monkeypatch, now + 120)
    assert status == "warn" and found.startswith("B was kept")
    site.keep(kept=False)
    assert said(monkeypatch, now + 120) == []
    (site.folder / TRIAL).unlink()
    assert said(monkeypatch, now + 120) == []
