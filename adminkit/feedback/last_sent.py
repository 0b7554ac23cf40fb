"""When a letter was last sent, in a file beside the trace. A trace whose outbox ends earlier was restored from a copy.

It would send again what was sent after the copy was made.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from adminkit import journal
from adminkit.errors import AdminkitError
from adminkit.files import folder_to_write, read_plain, replace_file


def mark_of(trace: Path) -> Path:
    """The path of the file, beside the trace."""
    return trace.with_name(f".{trace.name}-outbox.mark")


def is_behind(mark: Path, last: int) -> bool:
    """Whether a letter was sent after `last`, the newest in the outbox of the trace; epoch seconds."""
    try:
        return int(read_plain(mark, 20)) > last
    except (OSError, ValueError):
        return False
    except AdminkitError as error:
        journal.refused("links", mark, None, error.message)
        return False


def keep(mark: Path, last: int) -> None:
    """Write `last` there. An error is ignored: the letters were sent."""
    with suppress(OSError), folder_to_write(mark.parent) as folder:
        replace_file(folder, mark.name, f"{last}\n".encode(), mode=0o640, aside=f"{mark.name}.new")
