"""When a letter last left, in a file beside the trace: a trace that does not know of it is an older copy of itself.

Such a trace would send again what left after the copy was made.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from adminkit import journal
from adminkit.errors import AdminkitError
from adminkit.files import read_plain


def mark_of(trace: Path) -> Path:
    """Where it is."""
    return trace.with_name(f".{trace.name}-outbox.mark")


def is_behind(mark: Path, last: int) -> bool:
    """Whether a letter left after `last`, the newest that the trace knows of; epoch seconds."""
    try:
        return int(read_plain(mark, 20)) > last
    except (OSError, ValueError):
        return False
    except AdminkitError as error:
        journal.refused("links", mark, None, error.message)
        return False


def keep(mark: Path, last: int) -> None:
    """Put `last` there. Letters that have left are no reason to fail."""
    aside = mark.with_name(f"{mark.name}.new")
    with suppress(OSError):
        aside.unlink(missing_ok=True)  # of a run that was killed
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
        with os.fdopen(handle, "w") as file:
            file.write(f"{last}\n")
            file.flush()
            os.fsync(file.fileno())
        aside.rename(mark)
