"""A search from beginning to end: what is better is found, kept and recommended; kills and shards change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.simulate.answer import Effort
from adminkit.simulate.core import Request, Schedule, simulate
from adminkit.tune.engine import Shard
from adminkit.tune.race import Round
from adminkit.tune.search import Found, Question, evaluations_in, kept_of, search, work_on
from tests.tune.months import GOAL, asked, months
from tests.tune.spaces import space

#: As rounds_of makes them, but few.
ROUNDS = [Round(0, 6, 1), Round(3, 0, 3), Round(2, 0, 20)]
WIDE = space(("nodes.factor", (0.75, 1.5)), ("scheduler.order", (0, 1)), ("scheduler.depth", (1, 2, 3)))


class Killed(Exception):
    """As a kill."""


def effort(keep: Path | None = None, seed: int = 1) -> Effort:
    return Effort(20, seed, 2, keep)


def counted(runs: list[Request], most: int = 1 << 30) -> object:
    def run(request: Request, progress: object = None) -> Schedule:
        if len(runs) >= most:
            raise Killed
        runs.append(request)
        return simulate(request)

    return run


def found(question: Question, keep: Path | None = None, seed: int = 1) -> Found:
    return search(question, effort(keep, seed), ROUNDS)


def test_more_processors_are_found_and_carry_over() -> None:
    made = found(asked())
    assert made.pick is not None and made.pick.choice == (1.5,)
    assert made.verdict is not None and made.verdict.word == "better" and not made.verdict.harm
    assert made.verdict.standing.objective.is_less


def test_what_changes_nothing_is_not_recommended() -> None:
    made = found(asked(levers=space(("scheduler.depth", (1, 2, 3)), ("load.factor", (1.0,)))))
    assert made.pick is None and made.verdict is None
    assert {one.objective.change for one in made.tried} == {0}


def test_what_is_better_only_before_the_cut_does_not_carry_over() -> None:
    """After the cut there are so few jobs that none waits."""
    busy = months()
    late = busy.column("submit") >= 60 * 86_400
    quiet = replace(busy, request=replace(busy.request, jobs={**busy.request.jobs}))
    quiet.request.jobs["run"] = busy.column("run").copy()  # type: ignore[index]
    quiet.request.jobs["run"][late] = 60
    made = found(asked(quiet))
    assert made.pick is not None and made.pick.choice == (1.5,)
    assert made.verdict is not None and made.verdict.word == "no change"


@pytest.mark.parametrize("objective", ["mean_wait", "p95_wait", "mean_slowdown"])
def test_each_objective_is_searched_for(objective: str) -> None:
    made = found(asked(goal=replace(GOAL, objective=objective)))
    assert made.pick is not None and made.pick.objective.measure == objective
    assert made.verdict is not None and made.verdict.carries_over


def test_the_same_question_has_the_same_answer_whatever_was_kept(tmp_path: Path) -> None:
    question = asked(levers=WIDE)
    bare, kept, again = found(question), found(question, tmp_path), found(question, tmp_path)
    assert bare == kept == again


def test_what_is_kept_is_not_run_again(tmp_path: Path) -> None:
    runs: list[Request] = []
    first = search(asked(levers=WIDE), effort(tmp_path), ROUNDS, run=counted(runs))  # type: ignore[arg-type]
    many = len(runs)
    assert many > 40
    assert search(asked(levers=WIDE), effort(tmp_path), ROUNDS, run=counted(runs)) == first  # type: ignore[arg-type]
    assert len(runs) == many


@pytest.mark.parametrize("after", [1, 20, 60])
def test_a_search_that_was_killed_resumes_to_the_same_answer(after: int, tmp_path: Path) -> None:
    question = asked(levers=WIDE)
    with pytest.raises(Killed):
        search(question, effort(tmp_path), ROUNDS, run=counted([], after))  # type: ignore[arg-type]
    assert found(question, tmp_path) == found(question)


def test_a_question_that_differs_takes_nothing_of_what_was_kept(tmp_path: Path) -> None:
    names = {
        kept_of(question, effort(tmp_path, seed)).digest
        for question, seed in (
            (asked(), 1), (asked(), 2), (asked(months(seed=2)), 1),
            (asked(goal=replace(GOAL, objective="p95_wait")), 1),
            (asked(levers=space(("nodes.factor", (0.75, 1.75)))), 1), (asked(goal=replace(GOAL, parts=("size",))), 1),
        )
    }  # fmt: skip
    assert len(names) == 6
    assert kept_of(asked(), effort(tmp_path)).digest == kept_of(asked(), effort(tmp_path)).digest


@pytest.mark.parametrize("tasks", [1, 4])
def test_shards_of_every_round_make_the_same_answer_and_leave_nothing_to_run(tasks: int, tmp_path: Path) -> None:
    question = asked(levers=WIDE)
    for number in range(len(ROUNDS)):
        for index in range(tasks):
            work_on(question, effort(tmp_path), ROUNDS, Shard(number, index, tasks))
    runs: list[Request] = []
    made = search(question, effort(tmp_path), ROUNDS, run=counted(runs))  # type: ignore[arg-type]
    assert made == found(question)
    assert len(runs) <= 40, "today and the pick on the held-out days"


def test_a_shard_that_was_killed_and_one_that_ran_twice_change_nothing(tmp_path: Path) -> None:
    question = asked(levers=WIDE)
    for number in range(len(ROUNDS)):
        for index in (0, 0, 2, 3):  # the second of four was killed before it did anything
            work_on(question, effort(tmp_path), ROUNDS, Shard(number, index, 4))
    assert found(question, tmp_path) == found(question)


def test_each_search_that_looks_at_the_held_out_days_is_counted(tmp_path: Path) -> None:
    """Who searches until a look pleases takes luck for an answer."""
    seeds = (1, 2, 1, 3)
    looks = [found(asked(), tmp_path, seed).looks for seed in seeds]
    assert looks == [1, 2, 1, 3], "the same search again is the same look"
    assert found(asked(months(seed=2)), tmp_path).looks == 1, "other days"
    more = search(asked(), effort(tmp_path), [*ROUNDS[:-1], replace(ROUNDS[-1], keep=1)])
    assert more.looks == 4, "more evaluations are another search"


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    question = asked()
    first = found(question, tmp_path)
    for path in tmp_path.iterdir():
        path.write_text(path.read_text()[:-20])
    assert found(question, tmp_path) == first


def test_a_budget_becomes_a_number_of_evaluations_once(tmp_path: Path) -> None:
    def ticks(step: float) -> Iterator[float]:
        now = 0.0
        while True:
            yield now
            now += step

    def clock(step: float) -> object:
        source = ticks(step)
        return lambda: next(source)

    question = asked(levers=WIDE)
    many = evaluations_in(1000, question, effort(tmp_path), clock(16.0))  # type: ignore[arg-type]
    assert many == 938, "a second each, and 61 for the pick and today on all days, which have 1500 jobs to 983"
    assert evaluations_in(1000, question, effort(tmp_path), clock(1.0)) == many  # type: ignore[arg-type]
    assert evaluations_in(2000, question, effort(tmp_path), clock(16.0)) > many  # type: ignore[arg-type]
    assert evaluations_in(1, question, effort(tmp_path), clock(16.0)) == 130, "the fewest"  # type: ignore[arg-type]
