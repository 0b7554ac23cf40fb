"""adminkit: the Slurm operator's kit for honest time limits.

Trap: a Python that is too old says so only while this file and __main__.py are in its language, that of 3.6.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(
        f"adminkit needs Python 3.11 or newer, and this is {sys.version_info[0]}.{sys.version_info[1]}", name="adminkit"
    )

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from adminkit.frames import Trace, When

__version__ = "0.2.0"
__all__ = ("__version__", "open")


def open(path: "str | Path | None" = None, *, as_of: "When | None" = None) -> "Trace":
    """The trace at `path`, read-only, for notebooks: docs/python.md. None: the one that the command line would take.

    `as_of` shows it as it was then, as --as-of does.
    """
    from adminkit.frames import open_trace

    return open_trace(path, as_of)
