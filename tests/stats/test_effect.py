"""Whether letters work: known changes are found, chance and regression to the mean are not taken for one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Feedback
from adminkit.feedback.holdout import held_out, is_held_out
from adminkit.findings.effect import REPORT, Measure, check
from adminkit.reports.feedback import feedback_report
from adminkit.stats.effect import Change, Design, Effect
from tests.support.builders import HOUR, MONDAY, job
from tests.support.effects import CHOSEN, DAY, HELD, LETTER, NOW, lettered, measured, of, sample, user_runs


def judged(change: Change) -> str:
    """The verdict of the one finding on a change."""
    (finding,) = check(Measure("aaic", change), REPORT)
    return finding.verdict


def accuracy(found: Effect) -> Change:
    return found.changes[0]


def test_the_effect_is_the_change_less_that_of_others_who_were_alike(tmp_path: Path) -> None:
    """By hand: 0.1 to 0.5 with a letter; of those without, two were alike and went to 0.2 and 0.3, one was not."""
    jobs = [
        *user_runs(1, [0.1] * 4, [0.5] * 4),
        *user_runs(2, [0.1] * 4, [0.2] * 4),
        *user_runs(3, [0.15] * 4, [0.35] * 4),
        *user_runs(4, [0.9] * 4, [0.1] * 4),
    ]
    found = measured(tmp_path / "t.db", jobs, {1: LETTER})
    one = accuracy(found)
    assert (one.users, one.compared, one.others) == (1, 1, 2)
    assert (one.before, one.after) == (pytest.approx(0.1), pytest.approx(0.5))
    assert (one.change, one.expected, one.effect) == tuple(map(pytest.approx, (0.4, 0.15, 0.25)))
    hours = found.changes[1]
    # four runs of 10 h, 2 GPUs: 72 of 80 GPU-hours unused in four weeks before, 40 after
    assert (hours.before, hours.after) == (pytest.approx(18.0), pytest.approx(10.0))
    assert judged(one) == "too few users"


@pytest.mark.parametrize("gain", [0.0, 0.15])
def test_a_known_effect_is_found_and_regression_to_the_mean_is_not_taken_for_one(tmp_path: Path, gain: float) -> None:
    """20 clusters. Those with a letter do better anyway, and so does the hold-out; what is left is the letters'."""
    samples = {f"c{seed}": sample(seed, gain, f"c{seed}") for seed in range(20)}
    path = lettered(
        tmp_path / "t.db",
        [one for jobs, _ in samples.values() for one in jobs],
        {name: letters for name, (_, letters) in samples.items()},
    )
    naive, covered, verdicts = [], 0, []
    for name in samples:
        found = of(path, name, HELD.__contains__)
        one = accuracy(found)
        assert found.held_out and one.change is not None and one.low is not None and one.high is not None
        naive.append(one.change)
        covered += one.low <= gain <= one.high
        verdicts.append(judged(one))
    assert sum(naive) / 20 > gain + 0.03, "the case is one of regression to the mean"
    assert covered >= 16, "of 20 intervals of 95 %"
    assert verdicts.count("better") == 20 if gain else verdicts.count("no significant change") >= 16


def test_the_same_trace_gives_the_same_interval(tmp_path: Path) -> None:
    path = lettered(tmp_path / "t.db", *sample(2, gain=0.1))
    assert of(path, held=HELD.__contains__) == of(path, held=HELD.__contains__)


@pytest.mark.parametrize(
    ("letters", "now", "said", "why"),
    [
        ({}, NOW, None, "no letter was sent"),
        ({1: LETTER}, LETTER + 20 * DAY, {"lettered": 1, "too_recent": 1}, "the weeks after are not over"),
        ({9: LETTER}, NOW, {"lettered": 1, "too_few": 1}, "no runs on either side"),
        ({1: LETTER, 2: LETTER, 3: LETTER}, NOW, {"lettered": 3, "too_recent": 0, "too_few": 0}, "nobody is left"),
    ],
)
def test_nothing_is_concluded_from_nothing(
    tmp_path: Path, letters: dict[int, int], now: int, said: dict[str, int] | None, why: str
) -> None:
    jobs = [one for uid in (1, 2, 3) for one in user_runs(uid, [0.1] * 4, [0.5] * 4)]
    found = measured(tmp_path / "t.db", jobs, letters, now=now)
    report = feedback_report(found, CHOSEN, Design(), "t.db")
    if said is None:
        assert report.rows == [] and "no letter has been sent" in report.meta.notes[0]
    else:
        assert {name: getattr(found, name) for name in said} == said, why
        assert accuracy(found).effect is None
        assert {row[-1] for row in report.rows} <= {"nobody to compare with", "too few users"}


def test_the_run_that_a_letter_was_about_counts_nowhere(tmp_path: Path) -> None:
    """It was chosen because it was bad; so were others that ended that day."""
    bad = job(
        77, uid=1, user="u1", submit_time=LETTER - 2 * DAY, start_time=LETTER - 2 * DAY, end_time=LETTER - HOUR,
        elapsed=60 * HOUR, time_limit=6000 * HOUR,
    )  # fmt: skip
    found = measured(tmp_path / "t.db", [bad, *user_runs(1, [0.4] * 4, [0.4] * 4)], {1: LETTER})
    assert accuracy(found).before == pytest.approx(0.4)


def test_a_user_with_a_letter_later_is_one_of_the_others_until_then(tmp_path: Path) -> None:
    jobs = [one for uid in (1, 2) for one in user_runs(uid, [0.1] * 4, [0.3] * 4)]
    assert accuracy(measured(tmp_path / "a.db", jobs, {1: LETTER, 2: LETTER + 29 * DAY})).compared == 1
    assert accuracy(measured(tmp_path / "b.db", jobs, {1: LETTER, 2: LETTER + 28 * DAY})).compared == 0


@pytest.mark.parametrize(
    ("chosen", "many", "users", "others", "why"),
    [
        ({}, 2, 2, 1, "all"),
        ({"since": LETTER + 1}, 1, 1, 1, "the second letter"),
        ({"until": LETTER + 2 * DAY}, 1, 1, 1, "the first letter"),
        ({"since": LETTER, "until": LETTER + 2 * DAY + 1}, 2, 2, 1, "both"),
        ({"until": LETTER}, 0, 0, 0, "before the first letter"),
        ({"queues": ("gq",)}, 2, 2, 1, "all runs are of this queue"),
        ({"queues": ("debug",)}, 2, 0, 0, "nobody has a run there"),
    ],
)
def test_a_window_is_that_of_first_letters_and_not_of_runs(
    tmp_path: Path, chosen: dict[str, Any], many: int, users: int, others: int, why: str
) -> None:
    jobs = [one for uid in (1, 2, 3) for one in user_runs(uid, [0.1] * 4, [0.3] * 4)]
    found = of(lettered(tmp_path / "t.db", jobs, {1: LETTER, 2: LETTER + 2 * DAY}), **chosen)
    assert (found.lettered, accuracy(found).users, found.others) == (many, users, others), why


def test_a_window_without_a_first_letter_says_so(tmp_path: Path) -> None:
    found = of(lettered(tmp_path / "t.db", [*user_runs(1, [0.1] * 4, [0.5] * 4)], {1: LETTER}), until=LETTER)
    report = feedback_report(found, replace(CHOSEN, until=LETTER), Design(), "t.db")
    assert report.rows == []
    assert report.meta.notes == ["no user's first letter was sent in the window, so there is nothing to compare"]
    assert report.meta.filters["first letter"] == "until 2026-02-14T00:00:00"


@pytest.mark.parametrize(
    ("measure", "low", "high", "compared", "others", "expected"),
    [
        ("accuracy", 0.1, 0.2, 10, 5, "better"),
        ("accuracy", -0.2, -0.1, 10, 5, "worse"),
        ("accuracy", -0.1, 0.1, 10, 5, "no significant change"),
        ("accuracy", 0.0, 0.1, 10, 5, "no significant change"),
        ("unused_hours", -2.0, -1.0, 10, 5, "better"),
        ("unused_hours", 1.0, 2.0, 10, 5, "worse"),
        ("accuracy", 0.1, 0.2, 9, 5, "too few users"),
        ("accuracy", 0.1, 0.2, 10, 4, "too few users"),
        ("accuracy", None, None, 0, 0, "nobody to compare with"),
        ("accuracy", float("nan"), float("nan"), 10, 5, "no significant change"),
    ],
)
def test_an_interval_decides(
    measure: Any, low: float | None, high: float | None, compared: int, others: int, expected: str
) -> None:
    assert judged(Change(measure, 10, 0.1, 0.2, compared, others, 0.1, 0.0, 0.1, low, high)) == expected


# The hold-out


def test_a_hold_out_is_of_its_size_always_the_same_and_grows_with_the_share() -> None:
    drawn = is_held_out(Feedback(holdout=0.2, holdout_salt="x"))
    held = {uid for uid in range(1000, 21_000) if drawn(uid)}
    assert 0.18 < len(held) / 20_000 < 0.22
    more = is_held_out(Feedback(holdout=0.3, holdout_salt="x"))
    assert all(more(uid) for uid in held)
    other = is_held_out(Feedback(holdout=0.2, holdout_salt="y"))
    assert 0.15 < sum(other(uid) for uid in held) / len(held) < 0.25


@pytest.mark.parametrize(
    ("share", "until", "now", "some", "why"),
    [
        (0.0, "2026-03-31", MONDAY, False, "off by default"),
        (0.5, None, MONDAY, False, "without an end there is none"),
        (0.5, "2026-03-31", MONDAY, True, "on"),
        (0.5, "2026-01-05", MONDAY, False, "it ends with the midnight of that day"),
        (0.5, "2026-01-06", MONDAY + DAY - 1, True, "a second before"),
        (0.5, "2026-01-06", MONDAY + DAY, False, "and not after"),
    ],
)
def test_a_hold_out_has_an_end(share: float, until: str | None, now: int, some: bool, why: str) -> None:
    settings = Feedback(holdout=share, holdout_until=until)
    assert any(held_out(uid, settings, now, UTC) for uid in range(1000, 1100)) == some, why
