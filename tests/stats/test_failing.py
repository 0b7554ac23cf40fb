"""Job names that fail again and again, and hours of very many submissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats.failing import Failing, Flood, failing, floods, runs
from adminkit.stats.select import Filter
from adminkit.stats.weeks import Reserved
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

EVERY = Filter(states=(), min_elapsed=None, checkpoint_code=85)


def named(first: int, number: int, **changes: Any) -> list[Job]:
    return [job(first + n, **{"submit_time": MONDAY, "job_name": "x", **changes}) for n in range(number)]


BAD = named(1, 2, state="FAILED", elapsed=100, gpus=4)


@pytest.mark.parametrize(
    ("jobs", "expected", "why"),
    [
        (BAD, [("x", 2, 2, 0, 800.0, 0)], "two of two"),
        (BAD + named(9, 1, end_time=7), [("x", 3, 2, 0, 800.0, 7)], "a success tells when it last worked"),
        (BAD + named(9, 3), [], "two of five are less than half"),
        (named(1, 1, state="FAILED"), [], "one is less than two"),
        (named(1, 2, state="OUT_OF_MEMORY", elapsed=None, end_time=None), [("x", 2, 2, 2, 0.0, 0)], "no run time"),
        (BAD + named(9, 2, state="FAILED", job_name="", elapsed=900),
         [("", 2, 2, 0, 1800.0, 0), ("x", 2, 2, 0, 800.0, 0)], "an empty name is a name; what used most is first"),
        (BAD + named(9, 2, state="FAILED", job_name=None), [("x", 2, 2, 0, 800.0, 0)], "no name"),
        (BAD + named(9, 2, state="FAILED", user=None), [("x", 2, 2, 0, 800.0, 0)], "nobody's"),
        ([], [], "no job"),
    ],
)  # fmt: skip
def test_names_that_fail(tmp_path: Path, jobs: list[Job], expected: list[tuple[Any, ...]], why: str) -> None:
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        wanted = [Failing("aaic", "ada", *one[:4], Reserved(one[4]), one[5]) for one in expected]
        assert failing(runs(db, EVERY)[0], 2, 0.5) == wanted, why


def test_hours_of_failures_are_those_of_gpus_and_of_cpus_without(tmp_path: Path) -> None:
    more = named(9, 1, state="FAILED", elapsed=100, gpus=0, cpus=3) + named(19, 1, state="FAILED", gpus=None, cpus=None)
    with reader(make_trace(tmp_path / "t.db", BAD + more)) as db:
        (found,) = failing(runs(db, EVERY)[0], 2, 0.5)
    assert found.used == (800.0, 300.0)


FLOOD = named(1, 3, elapsed=10)


@pytest.mark.parametrize(
    ("jobs", "expected", "why"),
    [
        (FLOOD, [("ada", 1, 3, 3, 30.0)], "three in one hour"),
        (FLOOD + named(9, 4, submit_time=MONDAY + HOUR, elapsed=None), [("ada", 2, 4, 7, 30.0)], "two hours"),
        (FLOOD + named(9, 2, submit_time=MONDAY + HOUR), [("ada", 1, 3, 3, 30.0)], "an hour of two is none"),
        (FLOOD + named(9, 4, user="bob", elapsed=1), [("bob", 1, 4, 4, 4.0), ("ada", 1, 3, 3, 30.0)],
         "the fullest hour first"),
        (FLOOD + named(9, 4, array_job=9), [("ada", 1, 3, 3, 30.0)], "an array is one submission"),
        (FLOOD + named(9, 4, het_job=9, het_offset=1), [("ada", 1, 3, 3, 30.0)], "so is a het job"),
        (named(1, 2), [], "two"),
        ([], [], "no job"),
    ],
)  # fmt: skip
def test_hours_of_many_submissions(tmp_path: Path, jobs: list[Job], expected: list[tuple[Any, ...]], why: str) -> None:
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        assert floods(runs(db, EVERY)[1], 3) == [Flood("aaic", *one) for one in expected], why
