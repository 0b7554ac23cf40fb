"""What doctor says of soft limits."""

# ruff: noqa: F811 - the fixtures of test_soft_guard.py

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from adminkit import config
from adminkit.deploy.planning import BEST
from adminkit.doctor import soft_limits
from adminkit.doctor.check import Check
from tests.deploy.test_soft_guard import NOW, SITE, FakeSlurm, folder, slurm  # noqa: F401


@pytest.fixture
def checked(slurm: FakeSlurm, folder: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """`says(now)`: the checks at a moment."""
    monkeypatch.setattr(soft_limits, "controller_or_conf", lambda: None)
    monkeypatch.setattr(soft_limits, "site_folder", lambda *_: folder)
    monkeypatch.setattr(soft_limits.release, "release", lambda: BEST)

    def says(now: int) -> list[Check]:
        monkeypatch.setattr(soft_limits.time, "time", lambda: now)
        return list(soft_limits.soft_limits(config.Policy()))

    return SimpleNamespace(says=says, slurm=slurm, folder=folder, log=folder / "acts.jsonl")


def test_a_timer_that_does_not_run_is_one(checked: SimpleNamespace) -> None:
    assert [one.status for one in checked.says(NOW)] == ["missing"]


@pytest.mark.parametrize("release", [(25, 5, 8), (25, 11, 7), (26, 5, 2)])
def test_a_release_whose_backfill_may_undo_a_limit_is_said(
    checked: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, release: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(soft_limits.release, "release", lambda: release)
    first = checked.says(NOW)[0]
    assert (first.status, "before 26.05.3 backfill may, in rare cases, undo" in first.found) == ("warn", True), first
