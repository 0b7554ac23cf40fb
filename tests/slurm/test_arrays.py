"""How many tasks a job's id stands for; tests/c/test_sacct.c has the same texts for adminkit-ingest."""

from __future__ import annotations

import pytest

from adminkit.slurm.arrays import tasks_of


@pytest.mark.parametrize(
    ("job_id", "tasks", "why"),
    [
        ("123", 1, "a job"),
        ("123_4", 1, "a task"),
        ("123+1", 1, "a component of a het job"),
        ("123_[7]", 1, "one of them"),
        ("123_[5-9%2]", 5, "two at a time"),
        ("123_[0-9:3%1]", 4, "every third"),
        ("123_[60-89,91-94,96-98]", 37, "with gaps"),
        ("123_[1,3,5-8:2,11%7]", 5, "all at once"),
        ("123_[9201-10000%50", 800, "cut behind the tasks"),
        ("123_[1,3,5,7,11,20-29,40,43,46,4", None, "cut"),
        ("123_[1-3,...]", None, "cut by newer releases"),
        ("123_[9-5]", None, "backwards"),
        ("123_[5-9:0]", None, "without a step"),
        ("123_[5-]", None, "half a range"),
        ("123_[5,,7]", None, "nothing between two commas"),
        ("123_[%2]", None, "no task"),
    ],
)
def test_the_tasks_of_a_list(job_id: str, tasks: int | None, why: str) -> None:
    assert tasks_of(job_id) == tasks, why
