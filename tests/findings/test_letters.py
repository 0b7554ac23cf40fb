"""What letters judge: one run's limit, a user's week."""

from __future__ import annotations

import pytest

from adminkit.findings import estimate
from adminkit.findings import week as judge
from adminkit.findings.estimate import safe_enough, worth_typing
from adminkit.findings.finding import Subject
from adminkit.stats.weeks import Name, Week
from tests.support.builders import HOUR


@pytest.mark.parametrize(
    ("elapsed", "limit", "state", "expected", "why"),
    [
        (HOUR, 4 * HOUR, "COMPLETED", "overestimated", "a quarter"),
        (2 * HOUR, 4 * HOUR, "COMPLETED", "accurate", "just half"),
        (4 * HOUR, 4 * HOUR, "COMPLETED", "hit_limit", "all of it: it may have needed more"),
        (HOUR, 4 * HOUR, "TIMEOUT", "hit_limit", "its limit was shortened meanwhile"),
        (HOUR, None, "COMPLETED", "unlimited", "unlimited"),
        (0, 4 * HOUR, None, "overestimated", "nothing"),
    ],
)
def test_a_limit_is_judged(elapsed: int, limit: int | None, state: str | None, expected: str, why: str) -> None:
    (finding,) = estimate.check(estimate.Measure(Subject(), elapsed, limit, state), estimate.LETTERS)
    assert finding.verdict == expected, why
    assert finding.evidence.keys() == ({"elapsed", "req_limit", "used_fraction"} if limit else {"elapsed"}), why


@pytest.mark.parametrize(
    ("elapsed", "state", "tasks", "expected", "why"),
    [
        (HOUR, "COMPLETED", (60, 120, HOUR), "overestimated", "the longest task speaks for all"),
        (4 * HOUR, "TIMEOUT", (60, 120, 4 * HOUR), "overestimated", "the longest hit it: the median task speaks"),
        (4 * HOUR, "TIMEOUT", (60, 3 * HOUR, 4 * HOUR), "accurate", "the same, and it did well"),
        (4 * HOUR, "TIMEOUT", (60, 4 * HOUR, 4 * HOUR), "hit_limit", "so did most"),
    ],
)
def test_an_array_is_judged(elapsed: int, state: str, tasks: tuple[int, ...], expected: str, why: str) -> None:
    (finding,) = estimate.check(estimate.Measure(Subject(), elapsed, 4 * HOUR, state, tasks), estimate.LETTERS)
    assert finding.verdict == expected, why


@pytest.mark.parametrize(
    ("recommended", "asked", "judged", "expected", "why"),
    [
        (4, 5, "overestimated", True, "a fifth less"),
        (41, 50, "overestimated", False, "less than a fifth"),
        (6, 5, "overestimated", False, "longer, though it was too long"),
        (6, 5, "hit_limit", True, "longer, for it was cut off"),
        (5, 5, "hit_limit", False, "the same again"),
        (5, None, "unlimited", True, "it had none"),
    ],
)
def test_a_limit_is_worth_typing(recommended: int, asked: int | None, judged: str, expected: bool, why: str) -> None:
    assert worth_typing(recommended, asked, judged, estimate.LETTERS) is expected, why


@pytest.mark.parametrize(("risk", "expected"), [(None, True), (0.25, True), (0.26, False), (1.0, False)])
def test_a_limit_that_often_fails_is_no_advice(risk: float | None, expected: bool) -> None:
    assert safe_enough(risk, estimate.LETTERS) is expected


def verdicts(this: Week, before: Week | None = None, names: dict[str | None, Name] | None = None) -> list[str]:
    measure = judge.Measure("aaic", "ada", this, before or Week(), names or {})
    return [one.verdict for one in judge.check(measure, judge.LETTERS)]


def week(runs: int, share: float, unused: int = 0) -> Week:
    return Week(runs, round(share * 1000 * HOUR), 1000 * HOUR, share * runs, unused, 0)


@pytest.mark.parametrize(
    ("this", "before", "expected", "why"),
    [
        (week(3, 0.3), week(9, 0.2), "better", "ten points more"),
        (week(3, 0.1), week(9, 0.2), "worse", "ten points less"),
        (week(3, 0.24), week(9, 0.2), "same", "four points are none"),
        (week(2, 0.9), week(9, 0.2), "unknown", "two runs are an accident"),
        (week(9, 0.9), week(2, 0.2), "unknown", "so are two before"),
        (Week(), week(9, 0.2), "unknown", "no runs"),
    ],
)
def test_a_trend_needs_runs_and_a_difference(this: Week, before: Week, expected: str, why: str) -> None:
    assert verdicts(this, before)[0] == expected, why


@pytest.mark.parametrize(
    ("this", "expected"), [(week(3, 0.5), True), (week(3, 0.49), False), (week(2, 0.9), False), (Week(), False)]
)
def test_praise_is_for_a_good_share_of_some_runs(this: Week, expected: bool) -> None:
    assert ("praise" in verdicts(this)) is expected


def test_the_best_and_the_worst_names_are_found() -> None:
    names = {
        "good": Name(week(3, 0.8)),
        "better": Name(week(2, 0.9)),  # two runs only
        "bad": Name(week(3, 0.1, 9 * HOUR)),
        "worse": Name(week(1, 0.1, 10 * HOUR)),
        "little": Name(week(3, 0.1, HOUR - 1)),
        "fine": Name(week(3, 0.6, 90 * HOUR)),
        "third": Name(week(3, 0.2, 8 * HOUR)),
        "fourth": Name(week(3, 0.2, 7 * HOUR)),
        None: Name(week(9, 0.01, 99 * HOUR)),
    }
    findings = judge.check(judge.Measure("aaic", "ada", Week(), Week(), names), judge.LETTERS)
    assert [(one.verdict, one.subject.name) for one in findings] == [
        ("unknown", None), ("best", "good"), ("worst", "worse"), ("worst", "bad"), ("worst", "third"),
    ]  # fmt: skip
    assert findings[2].evidence["unused"] == 10 * HOUR
    assert verdicts(Week()) == ["unknown"]


def test_one_job_name_alone_is_not_the_best() -> None:
    assert verdicts(Week(), names={"good": Name(week(3, 0.8))}) == ["unknown"]
