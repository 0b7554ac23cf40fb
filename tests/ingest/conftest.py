"""A Slurm that answers from a file, and the place of a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.fake_slurm import FakeSlurm


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    return FakeSlurm(tmp_path / "slurm", monkeypatch)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "trace" / "trace.db"
