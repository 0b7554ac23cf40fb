"""Traces of runs that ask for more memory, or CPUs, than they use beside GPUs that nobody can use; what is advised."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from adminkit.cli.recommend_options import Asked, freed_on
from adminkit.job import Job, Step
from adminkit.recommend import cpus, memory
from adminkit.recommend.freed import Held
from adminkit.render.report import Report
from adminkit.reports import recommend_cpus, recommend_memory
from adminkit.stats.cpus_used import PARTS, CpusUsed
from adminkit.stats.peaks import MIB, Peaks
from adminkit.stats.runs import Kind
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job
from tests.support.uses import GIB, make_used, step_of

CODE: Final = 85
#: When the trace is looked at.
NOW: Final = MONDAY + 100 * 24 * HOUR
_EVERY: Final = 8 * HOUR


def sized(path: Path, days: int = 16, **changes: object) -> Path:
    """Two nodes with 8 GPUs, 40 CPUs and 64 GiB. ada holds all memory of one for 6 of 8 hours, and one GPU; bob holds
    all CPUs of the other, and two GPUs. one run of ada runs out of memory; of another one nothing is known."""
    runs: list[tuple[Job, list[Step]]] = []
    for nth in range(3 * days):
        start = MONDAY + nth * _EVERY
        times = {"submit_time": start - 60, "eligible_time": start - 60, "start_time": start,
                 "end_time": start + 6 * HOUR, "elapsed": 6 * HOUR, "time_limit": 24 * HOUR}  # fmt: skip
        ada = job(1 + nth, user="ada", job_name="fit", gpus=1, cpus=8, mem=64 * GIB, req_mem=64 * GIB, node_list="n1",
                  cpu_time=6.0 * HOUR * (2 + nth % 3), **times)  # fmt: skip
        bob = job(1001 + nth, user="bob", job_name="feed", gpus=2, cpus=40, mem=8 * GIB, req_mem=8 * GIB,
                  node_list="n2", cpu_time=6.0 * HOUR * (5 + nth % 4 / 2), **times)  # fmt: skip
        if nth == 20:
            ada = replace(ada, state="OUT_OF_MEMORY")
        ada, bob = replace(ada, **changes), replace(bob, **changes)  # type: ignore[arg-type]
        runs.append((ada, [step_of(ada, nodes=1, tasks=1, max_rss=(8 + nth % 4) * GIB)]))
        runs.append((bob, [step_of(bob, nodes=1, tasks=2, max_rss=2 * GIB)]))
    last = runs[-2][0]
    runs[-2] = replace(last, cpu_time=None), []
    make_used(
        path, [one for one, _ in runs], [step for _, steps in runs for step in steps], [("n1", 40, 8), ("n2", 40, 8)]
    )
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE node SET mem = ?, queues = 'gq'", (64 * GIB,))
    return path


def _of(make: Callable[[Asked], Report], path: Path, kind: Kind) -> Report:
    with reader(sized(path / "t.db")) as db:
        return make(Asked(db, kind, "trace.db"))


def _memory(of: Asked) -> Report:
    peaks = Peaks(of.trace, of.users, of.clusters, CODE)
    advice = memory.memory(peaks.runs(), of.kind, memory.RISK)
    return recommend_memory.advice_report(advice, of.history(memory.RISK), memory.RISK, peaks.unknown)


def _memory_tested(of: Asked) -> Report:
    peaks, given = Peaks(of.trace, of.users, of.clusters, CODE), Held(MIB)
    tested = memory.backtest(peaks.runs(), memory.RISK, given)
    freed = freed_on(of, NOW, "mem", given, CODE)
    return recommend_memory.backtest_report(tested, of.history(memory.RISK), peaks.unknown, freed)


def _cpus(of: Asked) -> Report:
    used = CpusUsed(of.trace, of.users, of.clusters, CODE)
    advice = cpus.cpus(used.runs(), of.kind, cpus.RISK)
    return recommend_cpus.advice_report(advice, of.history(cpus.RISK), cpus.RISK, used.unknown)


def _cpus_tested(of: Asked) -> Report:
    used, given = CpusUsed(of.trace, of.users, of.clusters, CODE), Held(1 / PARTS, by_gpus=True)
    tested = cpus.backtest(used.runs(), cpus.RISK, given)
    freed = freed_on(of, NOW, "cpu", given, CODE)
    return recommend_cpus.backtest_report(tested, of.history(cpus.RISK), used.unknown, freed)


def advised_memory(path: Path) -> Report:
    return _of(_memory, path, Kind(user="ada", job_name="fit"))


def tested_memory(path: Path) -> Report:
    return _of(_memory_tested, path, Kind())


def advised_cpus(path: Path) -> Report:
    return _of(_cpus, path, Kind(user="bob", job_name="feed"))


def tested_cpus(path: Path) -> Report:
    return _of(_cpus_tested, path, Kind())
