"""Use by steps: the same as run by run, whatever the window, and to the last digit however rows are put together."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from adminkit.job import Job
from adminkit.stats.clip import overlap
from adminkit.stats.select import Filter
from adminkit.stats.utilization import HOUR, utilization
from adminkit.trace.connect import reader
from tests.support.builders import MONDAY, job, make_trace


def _runs(seed: int) -> list[Job]:
    draw, runs = Random(seed), []
    for number in range(1, 120):
        start = MONDAY + draw.randrange(0, 40 * HOUR)
        length = draw.choice([0, 1, draw.randrange(1, 90), draw.randrange(1, 30 * HOUR), 900, HOUR])
        suspended = draw.choice([0, 0, 0, length // 3])
        end = start + length
        given = {"start_time": start, "end_time": end, "elapsed": length - suspended, "suspended": suspended}
        runs.append(job(number, **given, gpus=draw.choice([0, 1, 8, None]), cpus=draw.choice([None, 1, 64])))
    return runs


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("since", "until", "part", "why"),
    [
        (None, None, "day", "all there is"),
        (MONDAY + 7 * HOUR, MONDAY + 31 * HOUR, "hour", "whole hours"),
        (MONDAY + 7 * HOUR + 1234, MONDAY + 31 * HOUR + 777, "hour", "both ends within a step"),
        (MONDAY + 7 * HOUR + 17, MONDAY + 7 * HOUR + 95, "hour", "a window shorter than a step"),
    ],
)
@pytest.mark.parametrize("hours", [0, 5.5])
def test_the_use_is_what_each_run_used_in_each_part(
    tmp_path: Path, seed: int, since: int | None, until: int | None, part: str, why: str, hours: float
) -> None:
    runs, tz = _runs(seed), timezone(timedelta(hours=hours)) if hours else UTC
    with reader(make_trace(tmp_path / "t.db", runs)) as db:
        chosen = Filter(states=(), since=since, until=until, checkpoint_code=85)
        found = utilization(db, chosen, part, MONDAY + 100 * HOUR, tz)
    for one in found.parts:
        used = {"gpu": 0.0, "cpu": 0.0}
        ran = 0
        for run in runs:
            assert run.start_time is not None and run.end_time is not None and run.elapsed is not None
            seconds = overlap(run.start_time, run.end_time, one.begin, one.end)
            length = run.end_time - run.start_time
            ran += overlap(run.start_time, max(run.end_time, run.start_time + 1), one.begin, one.end) > 0
            share = run.elapsed * seconds / length if length else 0.0
            used["gpu"] += share * (run.gpus or 0)
            used["cpu"] += share * (run.cpus or 0)
        assert one.jobs == ran, (why, one)
        for name, value in used.items():
            assert one.hours[name].used == pytest.approx(value, abs=0.002), (why, one)
    assert all(a.end == b.begin for a, b in pairwise(found.parts)), why
