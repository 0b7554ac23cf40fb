"""Locales made for tests; the host's are left alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest


def make_locales(folder: Path, names: Iterable[str]) -> Path:
    """A folder for LOCPATH with each `LANGUAGE.CHARMAP`; the test is skipped where none can be made."""
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/locales/tr_TR").exists():
        pytest.skip("not run: no localedef with its sources (apt-get install locales)")
    for name in names:
        language, _, charmap = name.partition(".")
        made = folder / name
        subprocess.run(["localedef", "-c", "-i", language, "-f", charmap, str(made)], capture_output=True, check=False)
        assert made.is_dir(), made
    return folder
