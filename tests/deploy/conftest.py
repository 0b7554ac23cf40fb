"""What several files of this folder use: the host of a trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.trials import Tried, tried


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    folder = tmp_path / "site"
    folder.mkdir()
    return tried(folder, monkeypatch)
