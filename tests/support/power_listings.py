"""Listings of measured curves."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.power.files import Read
from adminkit.recommend.gpu_waits import GpuWaits
from adminkit.recommend.gpus import Known, advise
from adminkit.render.report import Report
from adminkit.reports.power import import_report, power_report
from adminkit.reports.recommend_gpus import gpus_report
from adminkit.stats.power_curve import curves
from adminkit.stats.wait_given_limit import Expected
from adminkit.trace.connect import reader, writer
from adminkit.trace.power_curve import Measurement, store
from tests.support.builders import MONDAY, make_trace

_HOSTILE: Final = "$x$<script>|\u202e*red*</script>"
#: Two GPUs that gain nothing, at two power limits; a model with all it takes; one that nobody knows anything about.
SOME: Final = [
    *(
        Measurement("resnet18", "v100", gpus, None, cap, seconds, joules, None)
        for gpus, cap, seconds, joules in ((1, 250, 9.99, 1900), (2, 250, 10.35, 2764), (1, 150, 10.18, 1450))
    ),
    *(
        Measurement("bert", "a100", gpus, 64, None, 20 / gpus + 2, (20 / gpus + 2) * gpus * 250, 100)
        for gpus in (1, 2, 4, 8)
    ),
    Measurement(_HOSTILE, "", 1, None, None, 5, None, None),
]


def make_curves(path: Path) -> Path:
    make_trace(path)
    with writer(path) as db:
        store(db, "some.csv", enumerate(SOME, start=2), MONDAY)
    return path


def shown(path: Path) -> Report:
    with reader(make_curves(path / "t.db")) as db:
        return power_report(curves(db), "/var/lib/adminkit/trace.db", pictures=True)


def advised(_: Path) -> Report:
    runs = {"each_seconds": (0.10, 0.11, 0.105), "each_joules": (20.0, 21.0, 20.5)}
    known = [
        Known(1, 0.105, 20.5, 3, **runs),
        Known(2, 0.1, 31.0, 3, (0.1, 0.102, 0.098), (31.0, 30.0, 32.0)),
        Known(8, 0.09, 90.0),
    ]
    advice = advise(known, 2, 0.06)
    assert advice is not None
    waits = GpuWaits({1: Expected(60, 20, 600), 2: Expected(3600, 900, 9000)}, "wait by history: of two numbers")
    return gpus_report(advice, f"{_HOSTILE} of ada", "/var/lib/adminkit/trace.db", 0.06, ["two notes", _HOSTILE], waits)


def imported(_: Path) -> Report:
    found = Read("Zeus' windows", rows=list(enumerate(SOME, start=2)), broken=[(9, "no number: 'x'", "x")])
    table = Read("a table of throughput", empty=3)
    return import_report([("windows.csv", found, 7), (_HOSTILE, table, 0)], dry_run=False)
