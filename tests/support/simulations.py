"""A report of each listing of the simulator's that shows all it can say: made by hand, with hostile names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from adminkit.render.report import Report
from adminkit.reports.calibration import calibration_report
from adminkit.reports.simulate import run_report
from adminkit.simulate.calibrate import Calibration, Part, Waits
from adminkit.simulate.core import DONE, KILLED, Schedule
from adminkit.simulate.jobs import Jobs, Missing
from adminkit.simulate.machine import pool
from adminkit.simulate.subject import Subject
from adminkit.simulate.unmodelled import Cause
from adminkit.stats.select import Filter
from adminkit.stats.workload import Runs
from tests.support.builders import MONDAY
from tests.support.reports import HOSTILE

DB: Final = "/var/lib/adminkit/trace.db"
_EVERYBODY: Final = Filter(checkpoint_code=75)


def _column(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def _subject(notes: tuple[str, ...]) -> Subject:
    """Four jobs of a pool of four processors; one is too large, and two are missing."""
    columns = {"id": _column(11, 12, 13, 14), "submit": MONDAY + _column(0, 10, 20, 30), "procs": _column(4, 2, 2, 9)}
    real = {"submit": columns["submit"], "nodes": _column(1, 1, 1, -1)}
    missing = (Missing(f"in queues that the site does not have: {HOSTILE}", 2, (15, 16), True),)
    jobs = Jobs(columns, real, {}, {}, "cpus", "aaic", missing)
    runs = Runs({"id": _column()}, {}, {}, "aaic", {"cluster": 3}, (MONDAY, MONDAY + 500))
    return Subject("easy", jobs, pool(4), runs, 4, notes=notes)


def run(_: Path) -> Report:
    start = MONDAY + _column(0, 100, 100)
    made = Schedule(
        np.append(start, -1), np.append(start + _column(100, 5, 200), -1), _column(DONE, KILLED, DONE, 0),
        _column(0, 1, 2, -1), {},
    )  # fmt: skip
    return run_report(_subject(("4 processors: the site's",)), made, _EVERYBODY, DB)


def replay(_: Path) -> Report:
    which = np.ones(3, dtype=bool)
    real, made = Waits(120.0, 60.0, 900.0), Waits(100.5, 45.0, 1000.0)
    parts = [
        Part("all", "all", 300, real, made, -0.1625, -0.21, -0.1, 0.97, "direction only", which),
        Part("queue", HOSTILE, 295, real, made, -0.16, -0.2, -0.09, 0.95, "direction only", which),
        Part("queue", "few", 5, Waits(0.0, 0.0, 0.0), Waits(1.0, 1.0, 1.0), None, None, None, None, None, which),
        Part("class", "multi-node", 40, real, made, 3.0, 1.5, 4.0, None, "no basis", which),
    ]
    causes = [Cause("fair-share", 1.0, 1.0), Cause("arrays' %N", 0.1, 0.05, True)]
    waits = _column(0, 60, 900), _column(1, 45, 1000)
    why = f"the error of the mean wait is -16.2% (-21.0% to -10.0%), the order of starts agrees by 0.95 in {HOSTILE}"
    found = Calibration("direction only", why, parts, causes, 0.05, (0.81, 0.8), 300, waits)
    return calibration_report(_subject(("jobs come when they were eligible",)), found, _EVERYBODY, DB)
