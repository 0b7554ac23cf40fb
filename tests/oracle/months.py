"""A copy of a trace, with the files of its months."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from adminkit.config import Config
from adminkit.trace.connect import writer
from adminkit.trace.months import place
from adminkit.trace.months.write import write_due


def write_months(trace: Path, copy: Path) -> Path:
    """Copy the trace, and write its months. Returns their folder."""
    with closing(sqlite3.connect(trace)) as db, closing(sqlite3.connect(copy)) as to:
        db.backup(to)
    with writer(copy) as db:
        written = write_due(db, copy, Config().months, int(time.time()))
        assert written and not [one for one in written if one.why]
    return place.folder_of(copy)
