"""The caller's own file (trace/own_file.py), for commands whose trace this user may not read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from adminkit.cli.own import readable_trace
from adminkit.config import Config
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import quote
from adminkit.trace import own_file
from adminkit.trace.sight import own_name
from adminkit.units import show_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adminkit.reports.own_file import Own


def own_of(flag: Path | None, settings: Config, users: Sequence[str], as_of: str | None = None) -> Own | None:
    """What adminkit wrote down for this user; None where a trace is named or readable, or there is no such file.

    UsageError for others' names, and for another day: the file has neither.
    """
    if readable_trace(flag, settings) is not None:
        return None
    found = own_file.read(settings.own, os.geteuid())
    if found is None:
        return None
    from adminkit.reports.own_file import read_back

    me = own_name()
    for user in users:
        if user != me:
            raise UsageError(
                f"only {quote(user)} and the operators may see what {quote(user)} has",
                f"for yours name {me}, or leave the user out",
            )
    if as_of is not None:
        raise UsageError("your own file shows one day only", "leave out --as-of, or name a trace with --db")
    return read_back(found, str(own_file.path_of(settings.own, os.geteuid())))


def made_note(own: Own) -> str:
    """Say of when the file is."""
    return f"as adminkit wrote it down for you at {show_time(own.made)}"


def no_points(own: Own) -> AdminkitError:
    """Why there are no points in it."""
    return AdminkitError(
        f"your points are not known: {own.why_not}", "points are computed from runs that ended; ask an operator"
    )
