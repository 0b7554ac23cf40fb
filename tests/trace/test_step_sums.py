"""What a run used, from its steps."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Step
from adminkit.trace.runs import fill_from_steps
from adminkit.trace.step_sums import Metered, energy_of_steps
from tests.support.builders import HOUR, MONDAY, job
from tests.support.uses import make_used, step_of

MJ = 1_000_000


def on(start: int | None, end: int | None, energy: int, nodes: int | None = 1) -> Metered:
    return Metered(start, end, nodes, energy)


@pytest.mark.parametrize(
    ("steps", "nodes", "energy", "why"),
    [
        ([], 1, None, "no step has joules"),
        ([on(None, None, 5)], None, 5, "one step, whenever it was"),
        ([on(0, 3600, 36), on(0, 3600, 36), on(0, 3600, 36)], 1, 36, "batch, extern and 0 show the node, thrice"),
        ([on(0, 3600, 36), on(1, 3601, 35)], 1, 36, "a second earlier is the same time"),
        ([on(0, 3600, 36), on(5, 3630, 37)], 1, 37, "and so is a hundredth of it"),
        ([on(0, 100, 10), on(100, 200, 20)], 1, 30, "one after the other"),
        ([on(0, 100, 10, 2), on(200, 300, 20, None)], 2, 30, "one after the other, on whatever nodes"),
        ([on(0, 1000, 50), on(0, 500, 20), on(500, 1000, 25)], 1, 50, "two within the batch step"),
        ([on(0, 500, 20), on(200, 1000, 30)], 1, None, "partly at one time: what is common is not known"),
        ([on(0, 100, 10), on(0, 100, 10)], 2, None, "one node each, or the same"),
        ([on(0, 100, 20, 2), on(0, 100, 10), on(20, 80, 8)], 2, 20, "the step on both nodes has all"),
        ([on(0, 100, 10), on(20, 80, 12, 2)], 2, None, "the batch step's node counts before and after"),
        ([on(0, 100, 10, None), on(0, 100, 10, None)], 1, 10, "all steps of one node are on it"),
        ([on(0, 100, 10, None), on(0, 100, 10, None)], 2, None, "on which of two?"),
        ([on(0, 100, 10), on(0, 100, 10)], None, None, "of how many nodes?"),
        ([on(0, 100, 10), on(None, 100, 10)], 1, None, "since when?"),
        ([on(0, 2, 3), on(0, 50, 20), on(50, 51, 1), on(60, 70, 4)], 1, 25, "short ones beside and behind"),
        ([on(0, 0, 1), on(0, 0, 1)], 1, 1, "less than a second"),
        ([on(0, 100_000, 9)] + [on(n, n + 1, 1) for n in range(100_000)], 1, 9, "a loop of srun"),
        ([on(n, n + 1, 1) for n in range(100_000)], 1, 100_000, "the same under salloc"),
    ],
)  # fmt: skip
def test_no_joule_counts_twice(steps: list[Metered], nodes: int | None, energy: int | None, why: str) -> None:
    assert energy_of_steps(steps, nodes) == energy, why
    assert energy_of_steps(steps[::-1], nodes) == energy, why


ONE = job(1, nodes=1, elapsed=HOUR, start_time=MONDAY, end_time=MONDAY + HOUR)
WHOLE: dict[str, Any] = {"cpu_time": 5.0, "max_rss": 7, "disk_read": 11, "disk_write": 13}


@pytest.mark.parametrize(
    ("own", "steps", "found", "why"),
    [
        ({}, [step_of(ONE, **WHOLE), step_of(ONE, "0", **WHOLE)], (10.0, 7, 22, 26, None), "sums, and the largest"),
        ({}, [step_of(ONE, **WHOLE), step_of(ONE, "0")], (None, 7, None, None, None), "step 0 does not say"),
        ({"cpu_time": 99.0}, [step_of(ONE, **WHOLE), step_of(ONE, "0")], (99.0, 7, None, None, None),
         "the job's own word is better than a part"),
        ({"cpu_time": 99.0}, [step_of(ONE, **WHOLE)], (5.0, 7, 11, 13, None), "steps count before the job's row"),
        ({}, [step_of(ONE, **WHOLE), step_of(ONE, "extern")], (5.0, 7, 11, 13, None), "extern may say nothing"),
        ({}, [step_of(ONE, energy=36 * MJ), step_of(ONE, "extern", energy=36 * MJ), step_of(ONE, "0", energy=0)],
         (None, None, None, None, 36 * MJ), "once"),
        ({"energy": 3}, [step_of(ONE, energy=36 * MJ)], (None, None, None, None, 3), "the job's own is slurmctld's"),
    ],
)  # fmt: skip
def test_a_run_is_filled_from_its_steps(
    tmp_path: Path, own: dict[str, Any], steps: list[Step], found: tuple[object, ...], why: str
) -> None:
    one = job(1, nodes=1, elapsed=HOUR, start_time=MONDAY, end_time=MONDAY + HOUR, **own)
    with closing(sqlite3.connect(make_used(tmp_path / "t.db", [one], steps))) as db:
        fill_from_steps(db, "aaic", 0, 1 << 60)
        row = db.execute("SELECT cpu_time, max_rss, disk_read, disk_write, energy FROM job").fetchone()
    assert row == found, why
