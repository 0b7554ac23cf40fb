"""What tests of rounds share."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from adminkit.deploy import idle_round
from adminkit.deploy.files import SUBFOLDER
from adminkit.slurm import idle_acts
from tests.usage.jobs import NOW, SETTINGS, job, use
from tests.usage.world import IDLE, World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Job 11 has not used its two GPUs, job 12 does."""
    (tmp_path / SUBFOLDER).mkdir()
    made = World(tmp_path, SETTINGS, {11: job(11), 12: job(12)}, {11: IDLE, 12: (use(2, quiet=0), use(3, quiet=0))})
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    monkeypatch.setattr(idle_round, "settings_in_force", lambda folder: made.settings)
    monkeypatch.setattr(idle_round, "measures", lambda config: made.measure)
    monkeypatch.setattr(idle_round, "gpu_jobs", made.gpu_jobs)
    monkeypatch.setattr(idle_round, "open_jobs", list)
    monkeypatch.setattr(idle_acts, "now_of", made.now_of)
    monkeypatch.setattr(idle_acts, "notify", lambda of, text: made.call("notify", of, text))
    monkeypatch.setattr(idle_acts, "cancel", lambda of: made.call("cancel", of))
    monkeypatch.setattr(idle_acts, "set_comment", lambda of, text: made.call("comment", of, text))
    return made
