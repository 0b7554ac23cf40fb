"""What sync and import do about months at their end."""

from __future__ import annotations

import time
from pathlib import Path

from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.render.say import say
from adminkit.sections import Months
from adminkit.sqlite import sqlite3
from adminkit.trace import connect
from adminkit.trace.months import duck, manifest, write


def keep_up(path: Path, settings: Months) -> None:
    """Write the months that are due, where the settings say so. What fails is said, and nothing else."""
    if not settings.keep or not duck.is_there():
        return
    try:
        with connect.writer(path) as trace:
            if write.is_wanted(trace, settings):
                write_due(trace, path, settings, int(time.time()))
    except AdminkitError as error:
        say(f"note: months were not written: {error.message}; {error.hint}")


def write_due(trace: sqlite3.Connection, path: Path, settings: Months, now: int) -> None:
    """Write the months that are due, with a bar, and say why all are written again, and which could not be."""
    if other := manifest.of_other_releases(trace):
        say(f"note: {plural(other, 'month')} had other columns in an earlier release: writing them again")
    with progress("writing months", "month") as bar:
        done = write.write_due(trace, path, settings, now, lambda done, of: bar(done, of, done))
    for one in done:
        if one.why:
            say(f"note: {one.month.month} of {quote(one.month.cluster)} was not written: {quote(one.why, 200)}")
