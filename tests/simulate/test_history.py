"""What was known at a submission: the runs that had ended by then, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.errors import AdminkitError
from adminkit.job import Job
from adminkit.recommend.hints import learn
from adminkit.recommend.menu import MENU, Offer
from adminkit.recommend.needs import Cautions
from adminkit.simulate.change import Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.history import expected, recommended
from adminkit.stats.runs import runs
from adminkit.trace.connect import reader
from tests.simulate.cases import case
from tests.support.builders import HOUR, MONDAY, job, make_trace


def one(number: int, **changes: Any) -> Job:
    """Every run has ended before the next one is submitted, half an hour's need each."""
    start = MONDAY + number * HOUR
    times = {"submit_time": start, "start_time": start, "end_time": start + 1800}
    return job(number, **{"elapsed": 1800, "uid": 1001, **times, **changes})


def told(path: Path, jobs: list[Job], cautions: Cautions | None = None) -> list[int]:
    make_trace(path, jobs)
    keys = {
        "job_id_raw": np.array([each.job_id_raw for each in jobs]),
        "submit_time": np.array([each.submit_time for each in jobs]),
    }
    many = len(jobs)
    today = case([0] * many, [1] * many, [1] * many, [1] * many)
    with reader(path) as db:
        sources = Sources(today, Path(), Offer(), db, "aaic", None, 85, keys)
        if cautions is None:
            return recommended(sources, "it", 0.1, MENU).tolist()
        return expected(sources, "it", cautions).tolist()


def test_a_limit_of_the_menu_is_recommended_once_enough_runs_have_ended(tmp_path: Path) -> None:
    found = told(tmp_path / "t.db", [one(number) for number in range(20)])
    assert found[:5] == [NONE] * 5
    assert set(found[10:]) <= set(MENU)
    assert min(found[10:]) >= 1800


def test_a_run_that_had_not_ended_teaches_nothing(tmp_path: Path) -> None:
    at_once = [one(number, submit_time=MONDAY, start_time=MONDAY, end_time=MONDAY + 1800) for number in range(20)]
    assert told(tmp_path / "t.db", at_once) == [NONE] * 20


def test_nothing_of_what_comes_later_changes_what_was_told(tmp_path: Path) -> None:
    jobs = [one(number, elapsed=1800 + 60 * (number % 5)) for number in range(30)]
    later = [*jobs[:15], *(one(number, elapsed=80_000, end_time=MONDAY + 90 * 86_400) for number in range(15, 30))]
    assert told(tmp_path / "a.db", jobs)[:16] == told(tmp_path / "b.db", later)[:16]


def test_the_expected_need_is_a_quantile_of_earlier_needs_in_whole_minutes(tmp_path: Path) -> None:
    jobs = [one(number, elapsed=600 * (1 + number % 4), job_name="x") for number in range(40)]
    half, most = (told(tmp_path / f"{quantile}.db", jobs, Cautions(quantile)) for quantile in (50, 90))
    assert half[-1] == 1800  # 1200 is too short for half of them, and for the run that no history shows
    assert most[-1] == 2400
    assert all(value % 60 == 0 for value in [*half, *most] if value != NONE)


def test_the_needs_of_a_day_are_those_of_the_midnight_before(tmp_path: Path) -> None:
    jobs = [one(number) for number in range(72)]
    found = told(tmp_path / "t.db", jobs, Cautions(50))
    assert found[:24] == [NONE] * 24, "nothing was known at the first midnight"
    assert found[24:] == [1800] * 48


def test_the_needs_of_a_day_are_those_that_are_installed(tmp_path: Path) -> None:
    """`learn` makes the table of an operator, and it says the same of the next job."""
    jobs = [one(number, elapsed=300 * (1 + number % 7), job_name=f"job{number % 2}") for number in range(49)]
    found = told(tmp_path / "t.db", jobs, Cautions(75))
    with reader(tmp_path / "t.db") as db:
        past = list(runs(db, checkpoint_code=85))
    needs = learn(past[:-1], MONDAY + 48 * HOUR, Offer()).needs
    (row,) = (need.seconds for need in needs if need.job_name == "job0" and need.queue)
    assert found[-1] == -(-row[1] // 60) * 60


def test_a_name_that_is_new_has_the_needs_of_its_user(tmp_path: Path) -> None:
    jobs = [one(number, job_name=f"job{number}") for number in range(30)]
    assert told(tmp_path / "t.db", jobs, Cautions(50))[-1] == 1800


def test_who_has_outlived_too_often_is_planned_with_more_and_then_not_at_all(tmp_path: Path) -> None:
    """Somebody trains the table with short jobs of one name, and runs long ones as often."""
    jobs = [one(number, elapsed=300 if number % 3 else 9000, job_name="x") for number in range(150)]
    kept, capped = (told(tmp_path / f"{share}.db", jobs, Cautions(50, None, share)) for share in (None, 0.3))
    assert kept[-1] < 9000
    assert capped[-1] in (NONE, 9000)


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        ([], "no job"),
        ([one(1, start_time=None, end_time=None)], "a trace without ends"),
    ],
)
def test_a_trace_that_does_not_say_when_jobs_ended_is_refused(jobs: list[Job], why: str, tmp_path: Path) -> None:
    with pytest.raises(AdminkitError, match="needs to know when jobs of the trace ended") as caught:
        told(tmp_path / "t.db", jobs)
    assert caught.value.hint == "import a trace with starts and ends", why


def test_without_a_trace_there_is_no_history() -> None:
    with pytest.raises(AdminkitError, match="needs the history of a trace"):
        recommended(Sources(case([0], [1], [1], [1]), Path(), Offer()), "it", 0.1, MENU)
