"""GPUs that were stranded by memory or CPUs, and how many other sizes would have left usable."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.stats.select import Filter
from adminkit.stats.waste import waste
from adminkit.stats.waste_freed import DAY, LEAST_DAYS, Freed, freed
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY
from tests.support.size_listings import CODE, NOW, sized
from tests.support.uses import GIB

#: GPU-seconds: seven GPUs beside ada's one, six beside bob's two, for six hours three times a day.
BY_MEMORY, BY_CPUS = 7 * 6 * HOUR, 6 * 6 * HOUR
Sizes = Mapping[tuple[int, int], float]


def run(number: int) -> tuple[int, int]:
    """JobIDRaw and Submit of the `number`th run of ada, from 0 on."""
    return 1 + number, MONDAY + number * 8 * HOUR - 60


def found(path: Path, what: str, sizes: Sizes, rows: int = 1 << 17) -> Freed | None:
    with reader(path) as db:
        return freed(db, "aaic", NOW, what, sizes, checkpoint_code=CODE, rows=rows)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sized(tmp_path_factory.mktemp("freed") / "t.db")


@pytest.mark.parametrize(
    ("sizes", "runs", "why"),
    [
        ({}, 0, "none has another size"),
        ({run(n): 16.0 * GIB for n in range(10)}, 10, "ten runs leave 48 GiB each"),
        ({run(n): 63.0 * GIB for n in range(10)}, 10, "a GiB is enough to start something"),
        ({run(n): 63.5 * GIB for n in range(10)}, 0, "half of one is not"),
        ({run(n): 128.0 * GIB for n in range(10)}, 0, "nobody is given more than they had"),
        ({(one, at + 1): 16.0 * GIB for one, at in map(run, range(10))}, 0, "of another submission"),
    ],
)
def test_a_gpu_is_usable_where_a_gib_beside_it_is_free(trace: Path, sizes: Sizes, runs: int, why: str) -> None:
    measured = found(trace, "mem", sizes)
    assert measured is not None
    assert (measured.stranded, measured.freed) == (48 * BY_MEMORY, runs * BY_MEMORY), why


def test_cpus_are_those_that_the_gpus_take(trace: Path) -> None:
    sizes = {(1001 + n, MONDAY + n * 8 * HOUR - 60): (8.0 if n < 5 else 40.0) for n in range(48)}
    measured = found(trace, "cpu", sizes)
    assert measured is not None
    assert (measured.stranded, measured.freed) == (48 * BY_CPUS, 5 * BY_CPUS)


def test_it_is_what_report_waste_has(trace: Path) -> None:
    with reader(trace) as db:
        chosen = Filter(("aaic",), states=(), min_elapsed=-1, checkpoint_code=CODE)
        shapes = {one.kind: one.gpu for one in waste(db, chosen, NOW).totals}
    for what, kind in (("mem", "gpus_without_memory"), ("cpu", "gpus_without_cpus")):
        measured = found(trace, what, {})
        assert measured is not None and measured.stranded == shapes[kind]


@pytest.mark.parametrize("rows", [1, 7, 1 << 17])
def test_blocks_of_time_change_nothing(trace: Path, rows: int) -> None:
    sizes = {run(n): 16.0 * GIB for n in range(0, 48, 3)}
    assert found(trace, "mem", sizes, rows) == found(trace, "mem", sizes)


def test_the_share_has_an_interval_where_there_are_days_enough(tmp_path: Path) -> None:
    few = found(sized(tmp_path / "few.db", LEAST_DAYS - 1), "mem", {run(n): 16.0 * GIB for n in range(9)})
    many = found(sized(tmp_path / "many.db", 40), "mem", {run(n): 16.0 * GIB for n in range(0, 120, 2)})
    assert few is not None and (few.days, few.low, few.high) == (LEAST_DAYS - 1, None, None)
    assert many is not None and many.low is not None and many.high is not None
    assert 0.4 < many.low <= 0.5 <= many.high < 0.6


def test_the_share_has_no_interval_where_draws_of_days_have_no_stranded_gpu(tmp_path: Path) -> None:
    path = sized(tmp_path / "rare.db", LEAST_DAYS)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "UPDATE job SET start_time = start_time + :later, end_time = end_time + :later"
            " WHERE job_id_raw = (SELECT max(job_id_raw) FROM job)",
            {"later": 300 * DAY},
        )
    with reader(path) as db:
        measured = freed(
            db, "aaic", NOW + 400 * DAY, "mem", {run(n): 16.0 * GIB for n in range(15)}, checkpoint_code=CODE
        )
    assert measured is not None and measured.days >= LEAST_DAYS
    assert (measured.low, measured.high) == (None, None), "an infinite share is not a bound"


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DELETE FROM node", "no node is known"),
        ("UPDATE node SET mem = NULL", "nobody knows the memory of the nodes"),
        ("UPDATE job SET node_list = NULL", "nobody knows where the runs were"),
        ("UPDATE job SET mem = NULL, req_mem = NULL", "nobody knows what the runs held"),
    ],
)
def test_what_is_not_known_is_not_nothing(tmp_path: Path, sql: str, why: str) -> None:
    path = sized(tmp_path / "t.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql)
    measured = found(path, "mem", {run(n): 16.0 * GIB for n in range(10)})
    if why.startswith("nobody knows what"):
        # Between the runs it is known that the nodes were free.
        assert measured is not None and (measured.stranded, measured.low) == (0, None), why
    else:
        assert measured is None, why
