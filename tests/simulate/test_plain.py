"""The plain models: the program and its plain twin say the same of any jobs, and both keep the models' promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.simulate.core import Model, Request, Schedule, simulate
from tests.simulate.twin_plain import NONE, Entry, Job, Twin

COLUMNS = ("id", "submit", "run", "limit", "procs", "plan", "priority")
ORDERS = ("submit", "need", "priority")


def ask(model: Model, jobs: list[Job], procs: int, order: str = "submit", depth: int = NONE) -> Schedule:
    columns = {name: np.array([getattr(job, name) for job in jobs], np.int64) for name in COLUMNS}
    return simulate(Request(model, columns, {"procs": procs, "order": ORDERS.index(order), "depth": depth}))


def rows(entries: list[Entry]) -> list[tuple[int, ...]]:
    return [(entry.start, entry.end, entry.outcome, entry.order) for entry in entries]


def rows_of(said: Schedule) -> list[tuple[int, ...]]:
    return [*zip(*(column.tolist() for column in (said.start, said.end, said.outcome, said.order)), strict=True)]


#: Few values, so that submissions, ends and sizes meet often.
SECONDS = st.sampled_from((1, 2, 3, 5, 8, 10, 20, 30))
PLAIN = st.builds(
    Job, st.integers(0, 9), st.integers(0, 30), SECONDS, SECONDS, st.integers(1, 8), st.just(NONE), st.integers(-1, 3)
)
ANY = st.builds(
    Job,
    st.integers(0, 9),
    st.integers(0, 30),
    st.integers(0, 12),
    st.integers(-1, 20),
    st.integers(0, 9),
    st.integers(-1, 25),
    st.integers(-1, 3),
)
MODELS: tuple[Model, ...] = ("fcfs", "easy", "easy-sjbf", "conservative")


@pytest.mark.parametrize("model", MODELS)
@given(jobs=st.lists(ANY, max_size=25), order=st.sampled_from(ORDERS), depth=st.sampled_from((NONE, 0, 1, 2, 3, 7)))
def test_the_program_and_its_twin_say_the_same(model: Model, jobs: list[Job], order: str, depth: int) -> None:
    twin = Twin(model, jobs, 8, order, depth).simulate()
    assert rows_of(ask(model, jobs, 8, order, depth)) == rows(twin)
