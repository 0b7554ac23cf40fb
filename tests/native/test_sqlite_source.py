"""The build takes an SQLite that is new enough, and says what to do where there is none."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "adminkit/native"


def _folder(path: Path, version: str) -> Path:
    """A folder with SQLite's header of a release."""
    path.mkdir()
    (path / "sqlite3.h").write_text(f'#define SQLITE_VERSION        "{version}"\n')
    (path / "sqlite3.c").write_text('#include "sqlite3.h"\n')
    return path


@pytest.mark.skipif(not shutil.which("cmake"), reason="not run: no cmake")
@pytest.mark.parametrize(
    ("option", "version", "expected"),
    [
        ("SQLite3_INCLUDE_DIR", "3.34.1", "3.37 or newer with its headers, and this system has '3.34.1'"),
        ("ADMINKIT_SQLITE_SOURCE", "3.34.1", "source has SQLite '3.34.1', and the helper needs 3.37 or newer"),
        ("ADMINKIT_SQLITE_SOURCE", "3.53.2", "SQLite 3.53.2 of"),
    ],
)
def test_an_sqlite_that_is_too_old_is_named_before_anything_is_compiled(
    option: str, version: str, expected: str, tmp_path: Path
) -> None:
    source = _folder(tmp_path / "source", version)
    options = [f"-D{option}={source}", "-DSKBUILD_SCRIPTS_DIR=bin", "-DSKBUILD_DATA_DIR=."]
    done = subprocess.run(
        ["cmake", "-S", NATIVE, "-B", tmp_path / "build", *options], capture_output=True, text=True, check=False
    )
    said = re.sub(r"\s+", " ", done.stdout + done.stderr)
    assert expected in said
    assert (done.returncode == 0) == (version == "3.53.2"), said
