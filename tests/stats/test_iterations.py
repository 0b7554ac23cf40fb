"""How much a job has yet to do, by what runs wrote of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats.iterations import done_before, least_whole
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

NOW = MONDAY + 24 * HOUR


def run(number: int, told: int | None, state: str = "COMPLETED", nth: int = 0, **changes: Any) -> Job:
    """The nth run of a job, an hour each."""
    start = MONDAY + nth * HOUR
    given = {
        "job_id_raw": number, "submit_time": start, "start_time": start, "end_time": start + HOUR, "elapsed": HOUR,
        "user": "ada", "job_name": "train", "state": state, "admin_comment": None if told is None else f"pf1:it={told}",
    }  # fmt: skip
    return job(number, **{**given, **changes})


THREE = [run(1, 100), run(2, 90), run(3, 120)]
#: (runs, the fewest iterations of a finished job, why)
WHOLE: list[tuple[list[Job], int | None, str]] = [
    (THREE, 90, "the shortest of three"),
    (THREE[:2], None, "two are too few"),
    ([*THREE, run(4, 10, "TIMEOUT")], 90, "one that was killed is not done"),
    ([*THREE, run(4, 50, "REQUEUED"), run(4, 30, nth=1)], 80, "all runs of a job together"),
    ([*THREE, run(4, None, "REQUEUED"), run(4, 30, nth=1)], 90, "of which one said nothing"),
    ([*THREE, run(4, 5, job_name="test")], 90, "of another name"),
    ([*THREE, run(4, 5, user="bob")], 90, "of another user"),
]


@pytest.mark.parametrize(("runs", "expected", "why"), WHOLE, ids=[case[2] for case in WHOLE])
def test_the_whole_of_a_job(tmp_path: Path, runs: list[Job], expected: int | None, why: str) -> None:
    make_trace(tmp_path / "t.db", runs)
    with reader(tmp_path / "t.db") as db:
        assert least_whole(db, NOW, runs[0].cluster, "ada", "train") == expected, why


#: (restarts that Slurm counts, the runs before, what they did, why)
BEFORE: list[tuple[int, list[Job], int | None, str]] = [
    (0, [], 0, "its first run"),
    (1, [run(7, 40, "REQUEUED")], 40, "one before"),
    (2, [run(7, 40, "REQUEUED"), run(7, 30, "REQUEUED", nth=1)], 70, "two before"),
    (2, [run(7, 40, "REQUEUED")], None, "one is not in the trace yet"),
    (1, [run(7, None, "REQUEUED")], None, "it said nothing"),
    (1, [run(7, 40, "REQUEUED", user="bob")], None, "the number was somebody else's before"),
]


@pytest.mark.parametrize(("restarts", "runs", "expected", "why"), BEFORE, ids=[case[3] for case in BEFORE])
def test_what_a_job_did_before(tmp_path: Path, restarts: int, runs: list[Job], expected: int | None, why: str) -> None:
    make_trace(tmp_path / "t.db", runs)
    with reader(tmp_path / "t.db") as db:
        cluster = THREE[0].cluster
        found = done_before(db, NOW, cluster, "ada", "train", 7, MONDAY + 9 * HOUR, restarts)
    assert found == expected, why
