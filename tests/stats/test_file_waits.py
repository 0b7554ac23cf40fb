"""GPU-hours of runs by class, as rows of users, queues and names: each run once, and what is unknown is not zero."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from adminkit.findings.io_bound import BOUND, CLASSES, MAY_BE_BOUND, NOT_BOUND, NOT_GATHERED, SHORT_OF_CPUS, classify
from adminkit.job import Job
from adminkit.sqlite import open_database, sqlite3
from adminkit.stats.file_waits import Waits, file_waits
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from adminkit.trace.months import door
from tests.support.builders import HOUR, job
from tests.support.file_waits import some_file_waits, waited
from tests.support.months import keep
from tests.support.uses import make_used

ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


def measured(db: sqlite3.Connection, part: str = "user") -> Waits:
    return file_waits(db, ALL, part, classify, len(CLASSES))


def of(path: Path, *jobs: Job) -> Waits:
    with reader(make_used(path / "t.db", jobs)) as db:
        return measured(db)


@pytest.mark.parametrize(
    ("run", "place", "held", "idle", "why"),
    [
        (waited(1, only=90, use=0.25, gpus=2), BOUND, 2.0, 1.5, "its GPUs were idle"),
        (waited(1, only=90, use=None, gpus=2), MAY_BE_BOUND, 2.0, 0.0, "the use is not known: nothing is idle"),
        (waited(1, only=90, use=1.0, gpus=2), NOT_BOUND, 2.0, 0.0, "its GPUs were busy"),
        (waited(1, only=0, full=90, use=0.0), SHORT_OF_CPUS, 1.0, 1.0, "its threads wanted all CPUs"),
        (waited(1, only=90, use=None, gpus=0), MAY_BE_BOUND, 0.0, 0.0, "without GPUs nothing confirms it"),
        (waited(1, only=90, use=0.0, gpus=None, cpus=None), MAY_BE_BOUND, 0.0, 0.0, "its GPUs are not known"),
        (waited(1, samples=11, only=11, use=0.0), NOT_GATHERED, 1.0, 1.0, "too few samples"),
        (job(1, gpus=1, elapsed=HOUR), NOT_GATHERED, 1.0, 0.0, "no word"),
        (job(1, gpus=1, elapsed=HOUR, start_time=None, admin_comment="io1:at=1"), NOT_GATHERED, 1.0, 0.0, "it is cut"),
    ],
)
def test_a_run_is_in_its_class(tmp_path: Path, run: Job, place: int, held: float, idle: float, why: str) -> None:
    overall = of(tmp_path, run).overall
    assert [one.jobs for one in overall.classes] == [int(k == place) for k in range(len(CLASSES))], why
    assert (overall.classes[place].gpu_seconds / HOUR, overall.classes[place].idle_seconds / HOUR) == (held, idle), why


def test_what_never_ran_is_not_counted(tmp_path: Path) -> None:
    assert of(tmp_path, waited(1, only=90, use=0.0, elapsed=0)).overall.jobs == 0


@pytest.mark.parametrize("part", ["user", "queue", "name"])
def test_each_run_is_in_one_row_and_one_class(tmp_path: Path, part: str) -> None:
    jobs = some_file_waits()
    with reader(make_used(tmp_path / "t.db", jobs)) as db:
        found = measured(db, part)
    assert sum(group.jobs for group in found.groups) == found.overall.jobs == len(jobs) - 1  # one never ran
    assert sum(group.gpu_seconds for group in found.groups) == pytest.approx(found.overall.gpu_seconds)
    hours = [group.gpu_seconds for group in found.groups]
    assert hours == sorted(hours, reverse=True)


def test_files_of_months_have_the_same_waits(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    path = make_used(tmp_path / "t.db", some_file_waits())
    assert [one.why for one in keep(path)] == [None]
    with reader(path) as db:
        assert door.reads_files(db, ["measured_file_samples"], "FROM run WHERE TRUE", {})
        of_files = measured(db)
    with closing(open_database(path)) as db:
        assert of_files == measured(db)
    assert all(one.jobs for one in of_files.overall.classes)
