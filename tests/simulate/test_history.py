"""What was known at a submission: the runs that had ended by then, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.errors import AdminkitError
from adminkit.job import Job
from adminkit.recommend.menu import MENU, Offer, round_up
from adminkit.recommend.predict import Predictor, Rule
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


def told(path: Path, jobs: list[Job], quantile: float | None = None) -> list[int]:
    make_trace(path, jobs)
    keys = {
        "job_id_raw": np.array([each.job_id_raw for each in jobs]),
        "submit_time": np.array([each.submit_time for each in jobs]),
    }
    many = len(jobs)
    today = case([0] * many, [1] * many, [1] * many, [1] * many)
    with reader(path) as db:
        sources = Sources(today, Path(), Offer(), db, "aaic", None, 85, keys)
        if quantile is None:
            return recommended(sources, "it", 0.1, MENU).tolist()
        return expected(sources, "it", quantile).tolist()


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
    half, most = (told(tmp_path / f"{quantile}.db", jobs, quantile) for quantile in (0.5, 0.9))
    assert half[-1] == 1800  # 1200 is too short for half of them, and for the run that no history shows
    assert most[-1] == 2400
    assert all(value % 60 == 0 for value in [*half, *most] if value != NONE)


def test_a_recommendation_is_that_of_recommend_for_the_same_past(tmp_path: Path) -> None:
    jobs = [one(number) for number in range(12)]
    found = told(tmp_path / "t.db", jobs, 0.5)
    with reader(tmp_path / "t.db") as db:
        past = list(runs(db, checkpoint_code=85))
    predictor = Predictor(Rule(risk=0.5, margin=1.0))
    for run in past[:-1]:
        predictor.ended(run)
    assert found[-1] == round_up(predictor.predict(past[-1].kind).safe or 0, (1800,))


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
