"""Jobs that come once another one has ended, in every model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.errors import AdminkitError
from adminkit.simulate.core import MODELS, NONE, Model, Request, simulate
from tests.simulate.cases import many
from tests.simulate.test_plain import ANY
from tests.simulate.twin_plain import Job, Twin

PLAIN = tuple(model for model in MODELS if model != "slurm")
SITE = {"queues": [{}], "nodes": [{"count": 6}], "settings": {"batch_sched_delay": 1, "sched_min_interval": 0}}


def request(model: Model, jobs: list[dict[str, int]], procs: int = 4) -> Request:
    usual = {"id": 0, "submit": 0, "run": 10, "limit": 60, "procs": 1, "after": NONE, "delay": 0}
    rows = [{**usual, "id": number, **job} for number, job in enumerate(jobs)]
    columns = {name: np.array([row[name] for row in rows], np.int64) for name in usual}
    return Request(model, columns, {"procs": procs})


@pytest.mark.parametrize("model", PLAIN)
@pytest.mark.parametrize(
    ("jobs", "start", "why"),
    [
        ([{}, {"after": 0}], [0, 10], "at the end of the first"),
        ([{}, {"after": 0, "delay": 5}], [0, 15], "later than its end"),
        ([{}, {"after": 0, "submit": 40}], [0, 40], "its own submit is later"),
        ([{}, {"after": 0}, {"after": 1}], [0, 10, 20], "a chain"),
        ([{}, {"after": 0}, {"after": 0}], [0, 10, 10], "two that follow one"),
        ([{"run": 90}, {"after": 0}], [0, 60], "the first is ended at its limit"),
        ([{"procs": 4}, {"after": 0, "procs": 4}, {"submit": 1, "procs": 4}], [0, 20, 10], "it queues behind"),
        ([{"procs": 9}, {"after": 0}], [NONE, NONE], "the first never runs"),
        ([{}, {"after": 0, "procs": 9}, {"after": 1}], [0, NONE, NONE], "nor does one that follows"),
        ([{}, {"after": 0, "run": 0}, {"submit": 30}], [0, NONE, 30], "one that needs nothing"),
        ([{}, {"after": 0, "limit": 0}, {"after": 1}], [0, NONE, NONE], "one that may run for no second"),
    ],
)
def test_a_job_comes_once_the_one_before_it_has_ended(
    model: Model, jobs: list[dict[str, int]], start: list[int], why: str
) -> None:
    assert simulate(request(model, jobs)).start.tolist() == start, why


@pytest.mark.parametrize("model", PLAIN)
def test_followers_with_the_submissions_that_they_turn_out_to_have_give_the_same_schedule(model: Model) -> None:
    """A job that follows is one that is submitted at that moment, and nothing else."""
    case = many(400, machine=6)
    rng = np.random.default_rng(7)
    after = np.array([NONE, *(int(rng.integers(0, n)) if rng.random() < 0.4 else NONE for n in range(1, 400))])
    jobs = {**case.request.jobs, "after": after, "delay": rng.integers(0, 600, 400)}
    first = simulate(replace(case.request, model=model, jobs=jobs))
    later = np.where(after == NONE, 0, first.end[after] + jobs["delay"])
    told = {**case.request.jobs, "submit": np.maximum(jobs["submit"], later)}
    second = simulate(replace(case.request, model=model, jobs=told))
    assert first.start.tolist() == second.start.tolist()


@pytest.mark.parametrize("model", PLAIN)
@given(st.lists(st.tuples(ANY, st.integers(0, 3), st.integers(1, 4)), max_size=20))
@settings(max_examples=40)
def test_the_twin_starts_a_follower_in_the_same_second(model: Model, rows: list[tuple[Job, int, int]]) -> None:
    """The twin is given each follower as a job that is submitted when it turned out to come."""
    # `before`: how many places before a job is the one that it follows; 0: it follows none.
    after = [place - before if 0 < before <= place else NONE for place, (_, before, _) in enumerate(rows)]
    jobs = [job for job, _, _ in rows]
    names = ("id", "submit", "run", "limit", "procs", "plan", "priority")
    columns = {name: np.array([getattr(job, name) for job in jobs], np.int64) for name in names}
    columns |= {"after": np.array(after, np.int64), "delay": np.array([delay for *_, delay in rows], np.int64)}
    said = simulate(Request(model, columns, {"procs": 8}))
    told = []
    for place, (job, _, delay) in enumerate(rows):
        end = 0 if after[place] == NONE else int(said.end[after[place]])
        came = job.submit if after[place] == NONE else max(job.submit, end + delay)
        told.append(replace(job, submit=came, run=0 if end == NONE else job.run))
    twin = Twin(model, told, 8).simulate()
    assert [(entry.start, entry.end, entry.outcome) for entry in twin] == list(
        zip(said.start.tolist(), said.end.tolist(), said.outcome.tolist(), strict=True)
    )


def test_the_slurm_model_takes_a_follower_as_it_takes_a_submission() -> None:
    case = many(400)
    rng = np.random.default_rng(7)
    after = np.array([NONE, *(int(rng.integers(0, n)) if rng.random() < 0.4 else NONE for n in range(1, 400))])
    columns = {**case.request.jobs, "nodes": case.column("procs"), "cpus": case.column("procs"),
               "user": case.facts["user"]}  # fmt: skip
    jobs = {**columns, "after": after, "delay": rng.integers(0, 600, 400)}
    first = simulate(Request("slurm", jobs, **SITE))  # type: ignore[arg-type]
    assert (first.start[after != NONE] >= (first.end[after] + jobs["delay"])[after != NONE]).all()
    later = np.where(after == NONE, 0, first.end[after] + jobs["delay"])
    told = {**columns, "submit": np.maximum(columns["submit"], later)}
    assert first.start.tolist() == simulate(Request("slurm", told, **SITE)).start.tolist()  # type: ignore[arg-type]
    assert (first.start != NONE).all()


@pytest.mark.parametrize("after", [0, 1, -2])
def test_only_an_earlier_job_can_be_followed(after: int) -> None:
    with pytest.raises(AdminkitError, match="adminkit-simulate: "):
        simulate(request("fcfs", [{"after": after}, {}]))
