"""The sentences of a search: the verdict first, then the pick and why."""

from __future__ import annotations

import pytest

from adminkit.tune.race import Standing
from adminkit.tune.search import Found
from adminkit.tune.verdict import Word
from tests.support.tune_listings import EARLY, HARMFUL, PICK, SEEN, WEAK, answer, change, standing, verdict

SHORTER = "the mean wait is 8 min shorter (-13 %): 52 min instead of 1 h (95 % interval -9 min to -7 min)"
FIRST: dict[Word, str] = {
    "better": f"recommended: on the 58 days that were held out, {SHORTER}, and no group of jobs waits longer",
    "no change": "the pick does not carry over, so nothing is recommended: on the 58 days that were held out, the mean"
    " wait shows no significant change from today's 1 h (95 % interval -1.3 min to +40 s)",
    "harm": "the pick does not carry over, so nothing is recommended: on the 58 days that were held out, it does harm:"
    " longer waits for size 5-8 GPUs (+11.7 min)",
}


def sentences(found: Found, *, basis: bool = True) -> list[str]:
    """All of them but that of the calibration."""
    return [str(one) for one in answer(found, basis=basis).meta.answers[1:]]


@pytest.mark.parametrize("word", FIRST)
def test_the_held_out_days_have_the_first_word(word: Word) -> None:
    first, why, *_ = sentences(Found(SEEN, PICK, verdict(word)))
    assert first.startswith(FIRST[word])
    assert why.startswith(
        "among 4 combinations, the pick is the best one that breaks no constraint: on the 113 days that were searched,"
        " the mean wait is 10 min shorter (-17 %): 50 min instead of 1 h"
    )


def test_what_harm_is_done_is_listed_the_largest_first() -> None:
    first = sentences(Found(SEEN, PICK, verdict("harm")))[0]
    assert first.endswith(
        " (+10 min), users of decile 7 of 10 by hours (+8.3 min), 1 other group; less of the machine is in use; more"
        " jobs start later than today's backfill promised them; more hours are lost at limits"
    )


@pytest.mark.parametrize(
    ("tried", "sentence"),
    [
        (
            [WEAK],
            "nothing is recommended: 1 combination was tried, and none is better than today beyond its interval",
        ),
        (
            [WEAK, EARLY],
            "nothing is recommended: 2 combinations were tried, and none is better than today beyond its interval",
        ),
        (
            [EARLY],
            "nothing is recommended: 1 combination was tried, and each did harm, or was worse than another, before it"
            " had twenty replicates",
        ),
        ([WEAK, HARMFUL], "nothing is recommended: 2 combinations were tried, and those that are better do harm. The"),
    ],
)
def test_why_nothing_is_recommended(tried: list[Standing], sentence: str) -> None:
    (only,) = sentences(Found(tried, None, None))
    assert only.startswith(sentence)


@pytest.mark.parametrize(
    ("worst", "sentence"),
    [
        (-30.0, "on these days, the group whose mean wait shrinks least is size 1 GPU: -30 s (-1 %), from 1 h today"),
        (30.0, "on these days, the group whose mean wait grows most is size 1 GPU: +30 s (+1 %), from 1 h today"),
    ],
)
def test_the_group_that_gains_least_is_named(worst: float, sentence: str) -> None:
    pick = standing(PICK.choice, PICK.objective, [change("1 GPU", worst, part="size")])
    assert sentence in sentences(Found([pick], pick, verdict("better")))


@pytest.mark.parametrize(
    ("measure", "unit", "today", "by", "sentence"),
    [
        ("p95_wait", "seconds", 7200.0, -600.0, "the 95th percentile of waits is 10 min shorter (-8 %): 1.8 h instead"),
        ("mean_slowdown", "ratio", 4.0, -1.0, "the mean slowdown is 1.00 less (-25 %): 3.00 instead of 4.00"),
        (
            "lost_hours", "hours", 40.0, -10.0,
            "the time of CPUs or GPUs that is lost at limits is 10 h less (-25 %): 30 h instead of 40 h",
        ),
    ],
)  # fmt: skip
def test_each_objective_has_its_words(measure: str, unit: str, today: float, by: float, sentence: str) -> None:
    objective = change(change=by, half=abs(by) / 10, today=today, measure=measure, unit=unit)
    pick = standing(PICK.choice, objective)
    assert any(sentence in line for line in sentences(Found([pick], pick, verdict("better"))))


def test_without_a_basis_each_line_says_so() -> None:
    lines = sentences(Found(SEEN, PICK, verdict("better")), basis=False)
    assert all(line.startswith("no basis: ") for line in lines)
