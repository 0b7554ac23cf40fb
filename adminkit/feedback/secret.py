"""Files with secrets: only this user or root may own and read them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from adminkit.errors import AdminkitError
from adminkit.files import open_named


def secret_lines(path: Path, hint: str, most: int = 4096) -> list[str]:
    """The lines of such a file of at most `most` bytes. AdminkitError for one that others may read."""
    try:
        with open_named(path, most) as file:
            facts = os.fstat(file.fileno())
            if facts.st_uid not in (0, os.geteuid()) or facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                mode = stat.S_IMODE(facts.st_mode)
                raise AdminkitError(
                    f"{path} is not secret: it has mode {mode:04o} and belongs to uid {facts.st_uid}", hint
                )
            return file.read(most).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise AdminkitError(f"couldn't read {path}: {why.lower()}", hint) from error
