"""When a letter last left, in a file beside the trace: a trace that does not know of it is an older copy of itself.

Such a trace would send again what left after the copy was made.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from adminkit import journal
from adminkit.errors import AdminkitError
from adminkit.files import folder_to_write, read_plain, replace_file


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
    with suppress(OSError), folder_to_write(mark.parent) as folder:
        replace_file(folder, mark.name, f"{last}\n".encode(), mode=0o640, aside=f"{mark.name}.new")
