"""The driver of adminkit-ingest: find it, start it, read its progress."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

from adminkit.errors import AdminkitError

NAME = "adminkit-ingest"


def helper_path() -> str:
    """The helper of this installation: beside the running Python's scripts, else on PATH."""
    for folder in (
        sysconfig.get_path("scripts"),
        str(Path(sys.argv[0]).resolve().parent),
        str(Path(sys.executable).parent),
    ):
        candidate = Path(folder) / NAME
        if candidate.is_file():
            return str(candidate)
    found = shutil.which(NAME)
    if found is None:
        raise AdminkitError(
            f"{NAME} is not installed",
            "install adminkit with pip, which builds it (a C compiler and SQLite's headers are needed)",
        )
    return found
