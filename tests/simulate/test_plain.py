"""The plain models: the program and its plain twin say the same of any jobs, and both keep the models' promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.simulate.core import Model, Request, Schedule, simulate
from tests.simulate.twin_plain import NONE, Entry, Job, Twin

COLUMNS = ("id", "submit", "run", "limit", "procs", "plan", "priority")
ORDERS = ("submit", "need", "priority")


def ask(
    model: Model, jobs: list[Job], procs: int, order: str = "submit", depth: int = NONE, promises: int = 0
) -> Schedule:
    columns = {name: np.array([getattr(job, name) for job in jobs], np.int64) for name in COLUMNS}
    return simulate(
        Request(model, columns, {"procs": procs, "order": ORDERS.index(order), "depth": depth, "promises": promises})
    )


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


@pytest.mark.parametrize("model", ["easy", "easy-sjbf"])
@given(jobs=st.lists(ANY, max_size=25), order=st.sampled_from(ORDERS))
def test_the_first_of_the_queue_is_promised_what_the_twin_says(model: Model, jobs: list[Job], order: str) -> None:
    twin = Twin(model, jobs, 8, order).simulate()
    said = ask(model, jobs, 8, order, promises=1)
    assert said.promised is not None and said.promised.tolist() == [entry.promised for entry in twin]
    assert rows_of(said) == rows(twin)


def test_a_promise_is_the_first_and_does_not_move() -> None:
    """By plans: a job that ends early brings the start of the head forward, one that outlives its plan puts it off."""
    early = ask("easy", [job(0, 2, 9, 3), job(1, 9, 9, 4), job(2, 5, 7, 1)], 4, promises=1)
    assert early.promised is not None and (early.promised.tolist(), early.start.tolist()) == ([-1, 9, -1], [0, 7, 2])
    late = ask("easy", [job(0, 9, 9, 3, 2), job(1, 9, 9, 4)], 4, promises=1)
    assert late.promised is not None and (late.promised.tolist(), late.start.tolist()) == ([-1, 2], [0, 9])
    assert ask("easy", [job(0, 9, 9, 3)], 4).promised is None


#: A deep queue of few kinds, whose jobs end early: reservations move in long rows.
DEEP = st.builds(
    Job, st.just(0), st.integers(0, 6), st.integers(1, 12), st.sampled_from((6, 12, 20)), st.sampled_from((1, 1, 2, 5))
)


@settings(max_examples=40)
@given(jobs=st.lists(DEEP, min_size=12, max_size=28), depth=st.sampled_from((NONE, NONE, 12)))
def test_a_deep_queue_moves_as_its_jobs_would_one_by_one(jobs: list[Job], depth: int) -> None:
    twin = Twin("conservative", jobs, 8, "submit", depth).simulate()
    assert rows_of(ask("conservative", jobs, 8, "submit", depth)) == rows(twin)


def job(submit: int, run: int, limit: int, procs: int, plan: int = NONE, priority: int = NONE) -> Job:
    return Job(0, submit, run, limit, procs, plan, priority)


@pytest.mark.parametrize(
    ("model", "jobs", "order", "depth", "start", "why"),
    [
        ("easy", [job(0, 9, 9, 3), job(1, 9, 9, 4), job(2, 5, 7, 1)], "submit", NONE, [0, 9, 2], "ends in time"),
        ("easy", [job(0, 9, 9, 3), job(1, 9, 9, 4), job(2, 5, 8, 1)], "submit", NONE, [0, 9, 18], "it might not"),
        ("easy", [job(0, 9, 9, 3), job(1, 9, 9, 3), job(2, 5, 99, 1)], "submit", NONE, [0, 9, 2], "left over"),
        ("easy", [job(0, 2, 9, 3), job(1, 9, 9, 4), job(2, 5, 7, 1)], "submit", NONE, [0, 7, 2], "an early end"),
        ("easy", [job(0, 9, 9, 4), job(1, 9, 9, 4), job(2, 1, 1, 4)], "submit", NONE, [0, 9, 18], "by submission"),
        ("easy", [job(0, 9, 9, 4), job(1, 9, 9, 4), job(2, 1, 1, 4)], "need", NONE, [0, 10, 9], "the shortest first"),
        ("easy", [job(0, 9, 9, 4), job(1, 1, 9, 4), job(2, 1, 9, 4, NONE, 7)], "priority", NONE, [0, 10, 9], "urgent"),
        ("easy", [job(0, 9, 9, 3, 2), job(1, 9, 9, 4), job(4, 5, 5, 1)], "submit", NONE, [0, 9, 4], "outlived: limit"),
        ("easy", [job(0, 3, 3, 1), job(0, 9, 9, 3), job(1, 9, 9, 4), job(1, 6, 6, 1), job(1, 2, 2, 1)], "submit", NONE,
         [0, 0, 9, 3, 18], "behind the first, too, by submission"),
        ("easy", [job(0, 3, NONE, 1, 1), job(0, 1, 9, 4), job(0, 1, 9, 1, 3), job(1, 2, 4, 1, 1)], "submit", NONE,
         [0, 3, 2, 1], "a corrected plan moves the first's start from 3 to 5: the third ends in time"),
        ("easy-sjbf", [job(0, 3, 3, 1), job(0, 9, 9, 3), job(1, 9, 9, 4), job(1, 6, 6, 1), job(1, 2, 2, 1)], "submit",
         NONE, [0, 0, 9, 18, 3], "the shortest first; the other would delay the first then"),
        ("conservative", [job(0, 9, 9, 3), job(1, 9, 9, 3), job(1, 5, 9, 2), job(2, 5, 16, 1)], "submit", NONE,
         [0, 9, 18, 2], "the last delays nobody"),
        ("conservative", [job(0, 9, 9, 3), job(1, 9, 9, 3), job(1, 5, 9, 4), job(2, 5, 17, 1)], "submit", NONE,
         [0, 9, 18, 23], "it would delay the third"),
        ("conservative", [job(0, 9, 9, 3), job(1, 9, 9, 3), job(1, 5, 9, 4), job(2, 5, 17, 1)], "submit", 1,
         [0, 9, 18, 2], "the third has no reservation"),
        ("conservative", [job(0, 2, 9, 3), job(1, 9, 9, 3), job(1, 5, 9, 4)], "submit", NONE,
         [0, 2, 11], "an early end moves all"),
    ],
)  # fmt: skip
def test_who_starts_when_on_four_processors(
    model: Model, jobs: list[Job], order: str, depth: int, start: list[int], why: str
) -> None:
    assert ask(model, jobs, 4, order, depth).start.tolist() == start, why


@pytest.mark.parametrize("model", MODELS)
@given(jobs=st.lists(ANY, max_size=40), order=st.sampled_from(ORDERS), depth=st.sampled_from((NONE, 0, 1, 3)))
def test_nobody_starts_early_and_no_processor_is_used_twice(
    model: Model, jobs: list[Job], order: str, depth: int
) -> None:
    ran = [(at, end, one) for one, (at, end, *_) in zip(jobs, rows_of(ask(model, jobs, 8, order, depth)), strict=True)]
    assert [one.need > 0 and 0 < one.procs <= 8 for one in jobs] == [at >= 0 for at, _, _ in ran]
    ran = [(at, end, one) for at, end, one in ran if at >= 0]
    assert all(at >= one.submit and end == at + one.need for at, end, one in ran)
    for moment, _, _ in ran:
        assert sum(one.procs for at, end, one in ran if at <= moment < end) <= 8


@given(jobs=st.lists(PLAIN, max_size=25))
def test_conservative_with_one_reservation_is_easy(jobs: list[Job]) -> None:
    """While nobody takes the head's place, and no job outlives its plan."""
    assert rows_of(ask("conservative", jobs, 8, "submit", 1)) == rows_of(ask("easy", jobs, 8, "submit"))


class Watched(Twin):
    """Checks the promises of its model after each decision."""

    def decide(self, freed: bool) -> None:
        promised = {entry.place: entry.reserved for entry in self.queue if entry.reserved is not None}
        super().decide(freed)
        for entry in self.queue:
            if entry.place in promised and entry.reserved is not None:
                assert entry.reserved <= promised[entry.place], "a reservation slipped"
        for moment, _, _ in self.uses():
            assert self.free(max(moment, self.now)) >= 0
        if self.model == "conservative":
            behind = self.queue[len(self.queue) if self.depth == NONE else self.depth :]
            assert not any(self.fits(entry.job, self.now) for entry in behind), "it could start"
        if self.model != "conservative" and self.queue:
            assert self.queue[0].job.procs > self.free(self.now), "the first could start"

    def start(self, entry: Entry) -> None:
        assert entry.reserved is None or entry.reserved >= self.now, "later than reserved"
        super().start(entry)


@pytest.mark.parametrize("model", ["easy", "easy-sjbf", "conservative"])
@given(jobs=st.lists(PLAIN, max_size=25), depth=st.sampled_from((NONE, 1, 2, 5)))
def test_promises_are_kept_where_plans_are_limits(model: str, jobs: list[Job], depth: int) -> None:
    Watched(model, jobs, 8, "submit", depth).simulate()


@pytest.mark.parametrize("model", ["easy", "easy-sjbf"])
@given(jobs=st.lists(PLAIN, min_size=3, max_size=25))
def test_the_first_of_the_queue_starts_no_later_than_first_promised(model: str, jobs: list[Job]) -> None:
    twin = Twin(model, jobs, 8).simulate()
    assert all(entry.start <= entry.promised for entry in twin if entry.promised != NONE)
