"""The host of rounds, on which 24 hours may be given to each user in a month and no rule refuses a limit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.deploy import extend_bounds, extend_round
from adminkit.deploy.files import SUBFOLDER
from adminkit.deploy.in_force import Answer
from tests.extend.jobs import SETTINGS
from tests.extend.world import Host
from tests.fit.rooms import HOUR


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    (tmp_path / SUBFOLDER).mkdir()
    settings = replace(SETTINGS, budget=24 * HOUR)
    monkeypatch.setattr(extend_round, "settings_in_force", lambda folder: settings)
    monkeypatch.setattr(extend_bounds.Rules, "of_more", lambda self, job, asked, limit, batch: Answer())
    return Host(tmp_path, tmp_path / "acts.jsonl")
