"""adminkit: the Slurm operator's kit for honest time limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from adminkit.frames import Trace, When

__version__ = "0.2.0"
__all__ = ("__version__", "open")


def open(path: str | Path | None = None, *, as_of: When | None = None) -> Trace:
    """The trace at `path`, read-only, for notebooks: docs/python.md. None: the one that the command line would take.

    `as_of` shows it as it was then, as --as-of does.
    """
    from adminkit.frames import open_trace

    return open_trace(path, as_of)
