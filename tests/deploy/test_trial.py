"""The file of a trial: what is read is what was written, and nothing unsound is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy.trial import Placed, Trial, parse_trial, trial_table
from adminkit.errors import AdminkitError
from adminkit.stats.switchback import calendar

DAY = 86_400
NOW = 1_796_000_400
MADE = Trial(
    "aaic", NOW - 60, 7, 3600, calendar(range(NOW, NOW + 15 * DAY, DAY), 7), -0.2, ("today", "tuned"),
    ["bf_window becomes 4 d"], None, "", [Placed(NOW, "a"), Placed(NOW + DAY, "b"), Placed(NOW + DAY + 60, "")],
)  # fmt: skip
PATH = Path("trial.json")


def test_what_is_written_is_read() -> None:
    assert parse_trial(json.dumps(trial_table(MADE)), PATH) == MADE


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": 2}, "of another release"),
        ({"days": []}, "no day"),
        ({"days": [[NOW, NOW + DAY, True]]}, "not whole fortnights"),
        ({"days": [[NOW, NOW, True]] * 14}, "days without length"),
        ({"carry_over": -1}, "before the day"),
        ({"carry_over": 1e9}, "not a whole number"),
        ({"placed": [[NOW, "c"]]}, "no such side"),
        ({"hoped": 3}, "no share"),
        ({"lines": [7]}, "not words"),
        ({"lines": ["x"] * 1000}, "more than fits a report"),
        ({"names": ["A"]}, "one name"),
        ({"ended": True}, "no time"),
        ({"cluster": None}, "no cluster"),
    ],
)
def test_a_file_that_says_nothing_sound_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(AdminkitError, match="not a trial as adminkit writes it"):
        parse_trial(json.dumps({**trial_table(MADE), **changes}), PATH)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "null"])
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(AdminkitError, match="not a trial as adminkit writes it"):
        parse_trial(text, PATH)


def test_b_belongs_in_place_on_its_days_only() -> None:
    for nth, day in enumerate(MADE.days, 1):
        assert (MADE.side(day.since), MADE.side(day.until - 1)) == (("b", "b") if day.on else ("a", "a"))
        assert MADE.day(day.since) == (nth, day)
    assert (MADE.side(MADE.begins - 1), MADE.side(MADE.ends)) == ("a", "a")
