"""Runs by hand: one user's, an hour apart unless told otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adminkit.recommend.menu import DAY, Offer
from adminkit.recommend.predict import Predictor, Recommendation, Rule
from adminkit.stats.runs import Kind, Run
from tests.support.builders import HOUR, MONDAY

ADA = Kind("aaic", "ada", "train", "gq", 1, 8, 1, 24 * HOUR)
#: Finer than the defaults, so that a limit shows what it was made of.
OFFER = Offer((900, 1800, *(hours * HOUR for hours in (1, 2, 3, 4, 6, 8, 12, 24, 36, 48)), 3 * DAY))


def run(number: int, elapsed: int, state: str = "COMPLETED", kind: Kind = ADA, **changes: Any) -> Run:
    """The `number`th run: submitted `number` hours after MONDAY, started at once."""
    submit = changes.pop("submit_time", MONDAY + number * HOUR)
    given = {
        "uid": 1001, "array_job": None, "submit_time": submit, "end_time": submit + elapsed, "elapsed": elapsed,
        "state": state,
    }  # fmt: skip
    return Run(kind, **{**given, **changes})


def history(needs: Iterable[int], **changes: Any) -> list[Run]:
    """Runs that needed so long, one after the other."""
    return [run(number, need, **changes) for number, need in enumerate(needs)]


def after(runs: Iterable[Run], kind: Kind = ADA, rule: Rule | None = None) -> Recommendation:
    """What is recommended once all of `runs` have ended."""
    predictor = Predictor(rule)
    for one in sorted(runs, key=lambda one: one.end_time):
        predictor.ended(one)
    return predictor.predict(kind)
