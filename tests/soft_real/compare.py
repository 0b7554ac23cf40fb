"""What the simulator does with the days: before any run, and with the records of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adminkit.simulate.core import Request, simulate
from tests.simulate_real import runs as records
from tests.simulate_real.request import request
from tests.simulate_real.workloads import Workload
from tests.soft_real.history import soft_limits
from tests.soft_real.runs import Run
from tests.soft_real.workloads import SHAPE, Day, day

Numbers = NDArray[np.float64]
Column = NDArray[np.int64]

#: How often each run is replayed, with submissions moved by up to a second.
REPLAYS: Final = 8
_RELEASE: Final = "26.05.3"
#: The starts that the simulator found, by the digest of what it was asked.
_STARTS: Final[dict[bytes, Column]] = {}


def replayed(run: Run, seed: int = 0) -> Numbers:
    """The waits of a run's jobs in the simulator, in their order: a row for each replay. `run` says when each was
    submitted, how long it ran and which soft limit it had.

    ValueError where the day is another by now; AssertionError where a job does not run."""
    what = day(run.seed)
    if run.head["digest"] != what.digest:
        raise ValueError(f"day {run.seed} of {run.head['date']} was another one: {run.head['digest']}")
    rows = sorted(run.rows, key=lambda row: row.number)
    names = ("number", "submit", "eligible", "start", "end", "state", "priority", "by", "nodes")
    same = tuple(records.Row(**{name: getattr(row, name) for name in names}) for row in rows)
    return _waits(_with(what, [row.soft for row in rows]), records.Run(run.head, same), seed)


def simulated(what: Day, soft: Sequence[int | None], times: int) -> Numbers:
    """The same before any run, by the day and these soft limits alone."""
    rows = (
        records.Row(
            one.number, one.offset, one.offset, one.offset, one.offset + one.sleep, "COMPLETED", 1, "main", "c1"
        )
        for one in what.workload.jobs
    )
    return _waits(_with(what, soft), records.Run({"release": _RELEASE}, tuple(rows)), what.seed, times)


def expected(what: Day) -> str:
    """A line: how busy the day is, and what soft limits do to its mean wait."""
    jobs = what.workload.jobs
    work = sum(job.nodes * job.gpus * job.sleep for job in jobs)
    machine = sum(one.count * one.gpus for one in SHAPE.nodes)
    off, on = (float(simulated(what, soft, REPLAYS).mean()) for soft in ([None] * len(jobs), soft_limits(what)))
    load = work / machine / max(job.offset for job in jobs)
    return f"day {what.seed}: load {load:.2f} while jobs come, mean wait {off:.1f} s, with soft limits {on:.1f} s"


def _with(what: Day, soft: Sequence[int | None]) -> Workload:
    jobs = tuple(replace(job, soft=its) for job, its in zip(what.workload.jobs, soft, strict=True))
    return replace(what.workload, jobs=jobs)


def _waits(what: Workload, run: records.Run, seed: int, times: int = REPLAYS) -> Numbers:
    asked, random, found = request(what, run), np.random.default_rng(seed), []
    for number in range(times):
        moved = asked.jobs["submit"] + random.integers(-1, 2, len(what.jobs)) * (number > 0)
        start = _starts(replace(asked, jobs={**asked.jobs, "submit": moved}))
        assert (start >= 0).all(), f"{what.name}: {int((start < 0).sum())} jobs did not run"
        found.append((start - moved).astype(float))
    return np.array(found)


def _starts(asked: Request) -> Column:
    """Of each question once: a page asks many again."""
    said = sha256(b"".join(asked.to_bytes())).digest()
    if said not in _STARTS:
        _STARTS[said] = simulate(asked).start
    return _STARTS[said]
