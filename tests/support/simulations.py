"""A report of each listing of the simulator's that shows all it can say: made by hand, with hostile names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from adminkit.render.report import Meta, Report
from adminkit.reports.calibration import calibration_report
from adminkit.reports.elastic import TITLE, elastic_report
from adminkit.reports.simulate import run_report
from adminkit.simulate.calibrate import Calibration, Part, Waits
from adminkit.simulate.core import DONE, KILLED, Schedule
from adminkit.simulate.elastic import Against, Answer, Machine, Measures, Row, Rules
from adminkit.simulate.elastic_input import Curve, Workload
from adminkit.simulate.jobs import Jobs, Missing
from adminkit.simulate.machine import pool
from adminkit.simulate.subject import Subject
from adminkit.simulate.unmodelled import Cause
from adminkit.stats.select import Filter
from adminkit.stats.student import Difference
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
    why = (
        f"the error of the mean wait is -16.2% (-21.0% to -10.0%), the order of starts in {HOSTILE} matches the real"
        " one with tau 0.95"
    )
    found = Calibration("direction only", why, parts, causes, 0.05, (0.81, 0.8), 300, waits)
    return calibration_report(_subject(("jobs arrive when they became eligible",)), found, _EVERYBODY, DB)


def elastic(_: Path) -> Report:
    """Two machines: one where the budget is kept and one where no efficiency keeps it."""
    curve = Curve((1, 2), (10.0, 15.0), (300.0, 500.0))
    jobs = Workload((0, 10, 20), (5000, 3600, 3600), (1, 2, 3), (0, 0, -1), (False, True, False), (curve,),
                    {f"without GPUs: {HOSTILE}": 2})  # fmt: skip
    small, large = Machine(1, 2), Machine(4, 8)
    fifo = Measures(2, 7200.0, 9000.0, 5000.0, 5.4e6, 1e6, 9000, 0, 120.0, 0)
    better = Measures(2, 6000.5, 9100.0, 4000.0, 5.3e6, 1.1e6, 9100, 3, 120.0, 0)
    shorter = Against("fifo", 1.2, Difference(-1199.5, -1300.0, -1099.0, 0.0), "shorter")
    same = Against("fifo", 1.0, Difference(0.1, -0.4, 0.6, 0.7), "no difference")
    rows = [
        Row(small, "fifo", None, fifo), Row(small, "elastic", 0.6, better, [shorter]),
        Row(large, "fifo", None, fifo), Row(large, "elastic", 1.0, fifo, [same]),
    ]  # fmt: skip
    tried = {small: {0: fifo, 600: better}, large: {1000: fifo}}
    found = Answer(rows, tried, {small: 5.4e6, large: 1e6}, {small: True, large: False})
    rules = Rules(sleep_after=600)
    return elastic_report(found, jobs, 0.5, rules, 20, Meta.plain(TITLE, [], filters={"jobs": HOSTILE}))
