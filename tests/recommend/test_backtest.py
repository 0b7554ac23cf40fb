"""The backtest: nothing of the future, and the figures of a trace small enough to work out by hand."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.recommend.backtest import LAST_TWO, REQUEST, SAFE, Backtest, backtest
from adminkit.recommend.online import online
from adminkit.recommend.predict import Predictor, Recommendation, Rule
from adminkit.render import text
from adminkit.reports.recommend import History, backtest_report
from adminkit.stats.runs import Kind, Run, runs
from adminkit.stats.sources import by_source
from adminkit.trace.connect import reader
from tests.recommend.histories import ADA, OFFER, history, run
from tests.support.builders import HOUR, MONDAY, job, make_trace

some_runs = st.lists(
    st.tuples(
        st.integers(0, 100 * HOUR),  # submission
        st.integers(0, 20 * HOUR),  # wait
        st.integers(1, 24 * HOUR),
        st.sampled_from(["COMPLETED", "TIMEOUT", "FAILED", "CANCELLED"]),
        st.sampled_from(["train", "test"]),
        st.sampled_from([None, 7]),
    ),
    min_size=2,
    max_size=60,
).map(
    lambda found: [
        run(
            0, elapsed, state, ADA._replace(job_name=name), submit_time=MONDAY + at,
            end_time=MONDAY + at + wait + elapsed, array_job=array,
        )
        for at, wait, elapsed, state, name, array in sorted(found, key=lambda one: one[0])
    ]
)  # fmt: skip


def given_at_each_submission(found: list[Run]) -> list[Recommendation]:
    predictor, told = Predictor(Rule(unseen=0.1)), []
    for has_ended, one in online(found):
        if has_ended:
            predictor.ended(one)
        else:
            told.append(predictor.predict(one.kind))
    return told


@given(some_runs, st.integers(0, 10**6), st.data())
def test_what_has_not_ended_at_a_submission_changes_nothing_there(
    found: list[Run], seed: int, data: st.DataObject
) -> None:
    """The future, shuffled: other lengths, ends, states and arrays, other jobs after."""
    place = data.draw(st.integers(0, len(found) - 1))
    now = found[place].submit_time
    chance = random.Random(seed)
    other = [
        one if one.end_time < now or number >= place else run(
            0, chance.randint(1, 10**6), chance.choice(["COMPLETED", "TIMEOUT"]), one.kind, submit_time=one.submit_time,
            end_time=now + chance.randint(0, 10**6), array_job=chance.choice([None, 7, 8]),
        )
        for number, one in enumerate(found)
    ]  # fmt: skip
    later = sorted(other[place + 1 :], key=lambda _: chance.random())
    future = [run(0, n.elapsed, n.state or "", n.kind, submit_time=now, end_time=now + n.elapsed) for n in later]
    assert given_at_each_submission(found)[place] == given_at_each_submission([*other[: place + 1], *future])[place]


@given(some_runs)
def test_online_is_a_clock(found: list[Run]) -> None:
    events = list(online(found))
    assert [one for has_ended, one in events if not has_ended] == found
    assert sorted(map(id, found)) == sorted(id(one) for has_ended, one in events if has_ended)
    submitted: list[Run] = []
    known: set[int] = set()
    for has_ended, one in events:
        if has_ended:
            known.add(id(one))
        else:
            assert known == {id(before) for before in submitted if before.end_time < one.submit_time}
            submitted.append(one)


def test_a_run_that_ends_in_the_second_of_a_submission_is_not_known_to_it() -> None:
    first = run(0, HOUR)
    events = [
        (has_ended, one.submit_time)
        for has_ended, one in online([first, run(1, HOUR), run(1, HOUR, submit_time=MONDAY + HOUR + 1)])
    ]
    assert [has_ended for has_ended, _ in events] == [False, False, True, False, True, True]


def figures(tested: Backtest, method: str) -> tuple[int, float, int]:
    score = next(one for one in tested.scores if one.method == method)
    return score.given, round(score.prediction_accuracy_sum / tested.runs, 4), score.over


def test_the_figures_of_ten_equal_runs_are_worked_out_by_hand() -> None:
    """Six of ten come after five had ended; one hour of the 24 asked for, 1.1 hours recommended."""
    tested = backtest(history([HOUR - 60] * 11), OFFER)
    assert (tested.runs, tested.at_limit, tested.no_limit) == (11, 0, 0)
    need = HOUR - 60
    before, told = need / (24 * HOUR), need / round(need * 1.1)
    assert figures(tested, REQUEST) == (11, round(before, 4), 0)
    assert figures(tested, LAST_TWO) == (10, round((before + 10) / 11, 4), 0)
    assert figures(tested, SAFE) == (5, round((6 * before + 5 * told) / 11, 4), 0)


def test_a_run_that_needs_more_is_over_and_one_at_its_own_limit_is_counted_apart() -> None:
    needs = [HOUR - 60] * 10 + [5 * HOUR]
    tested = backtest(
        [*history(needs), run(30, 24 * HOUR + 30, "TIMEOUT"), run(40, HOUR, kind=ADA._replace(req_limit=None))], OFFER
    )
    assert (tested.runs, tested.at_limit, tested.no_limit) == (12, 1, 1)
    assert figures(tested, SAFE)[2] == 2, "the long one, and the one at its limit, which asked for more than was told"
    assert figures(tested, REQUEST)[2] == 0


def test_nobody_is_given_more_than_they_asked_for() -> None:
    tested = backtest([*history([HOUR - 60] * 10), run(20, 600, kind=ADA._replace(req_limit=900))], OFFER)
    request, safe = tested.scores[0], tested.scores[3]
    assert request.asked - safe.asked == (10 - 6) * (24 * HOUR - 3894)


def small_trace(path: Path) -> Path:
    """Three users and what each teaches: a steady one, one of two kinds of jobs, one who is always cut off."""
    jobs = []
    for n in range(1, 41):
        at = {"submit_time": MONDAY + n * 20 * HOUR, "start_time": MONDAY + n * 20 * HOUR + 60}
        steady, mixed = HOUR + 60 * (n % 5), (6 * HOUR if n % 4 == 0 else 600)
        for number, user, elapsed, state in (
            (n, "ada", steady, "COMPLETED"),
            (100 + n, "bob", mixed, "COMPLETED"),
            (200 + n, "cyd", 12 * HOUR, "TIMEOUT"),
        ):
            end = at["start_time"] + elapsed
            jobs.append(job(number, user=user, elapsed=elapsed, state=state, time_limit=12 * HOUR, end_time=end, **at))
    jobs.append(job(300, elapsed=None, state="RUNNING", user="ada"))
    return make_trace(path, jobs)


@pytest.mark.parametrize(
    ("suffix", "shown"),
    [("txt", lambda r: text.table(r, UTC, None, colour=False, ascii_only=False)), ("json", text.as_json)],
)
def test_the_table_is_as_reviewed(
    tmp_path: Path, golden: Callable[[str, str], None], suffix: str, shown: Callable[..., str]
) -> None:
    with reader(small_trace(tmp_path / "t.db")) as db:
        tested, told = backtest(runs(db, checkpoint_code=85), OFFER), by_source(db)
        report = backtest_report(tested, History(Kind(), Rule(), "/var/lib/adminkit/trace.db", ["aaic"], told))
    golden(f"recommend-backtest.{suffix}", shown(report))


def test_an_empty_trace_says_so(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db")) as db:
        tested = backtest(runs(db, checkpoint_code=85), OFFER)
    report = backtest_report(tested, History(Kind(), Rule(), "t.db", [], {}))
    assert (list(report.rows), report.meta.notes) == ([], ["no run with a limit has ended"])


PUBLIC = {
    "RICC-2010-2.swf.gz": (0.45, 0.11, 447_782),
    "KTH-SP2-1996-2.swf.gz": (0.52, 0.11, 28_481),
}


def public(name: str) -> Path | None:
    found = sorted(Path(os.environ.get("ADMINKIT_TRACES") or "/nonexistent").rglob(name))
    return found[0] if found else None


@pytest.mark.parametrize("name", PUBLIC)
def test_public_traces_reach_their_targets(tmp_path: Path, name: str) -> None:
    source = public(name)
    if source is None:
        pytest.skip(f"not run: no {name} under $ADMINKIT_TRACES")
    from adminkit.cli.main import main

    accuracy, over, count = PUBLIC[name]
    assert main(["import", str(source), "--cluster", "public", "--db", str(tmp_path / "t.db")]) == 0
    with reader(tmp_path / "t.db") as db:
        tested = backtest(runs(db, checkpoint_code=85), OFFER)
    safe = next(one for one in tested.scores if one.method == SAFE)
    assert tested.runs == count
    assert safe.prediction_accuracy_sum / tested.runs >= accuracy
    assert safe.over / tested.runs <= over
    assert (safe.worst_tenth() or 0) <= OFFER.risk + 0.05
