"""Whether a run that has ended is worth a letter: both the share and the floor, at their edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adminkit.findings.finding import Subject
from adminkit.findings.overestimate import REASONS, Limits, Measure, check, why_not
from adminkit.stats.due import Ended, Habit
from tests.support.builders import HOUR, MONDAY

#: One GPU for one hour of ten.
RUN = Ended(
    1, 0, MONDAY, MONDAY + HOUR, "ada", 1001, "vision", "gq", "train",
    tasks=1, open=0, completed=1, bounded=1, elapsed=HOUR, req_limit=10 * HOUR, used=HOUR, reserved=10 * HOUR,
    on_gpus=1, interactive=0, checkpoint=0, lost=0, lost_elapsed=0, lost_units=0,
)  # fmt: skip
#: Each of these reasons by itself.
WRONG: dict[str, dict[str, Any]] = {
    "open": {"open": 1},
    "state": {"completed": 0},
    "interactive": {"interactive": 1},
    "checkpoint": {"checkpoint": 1},
    "limit": {"bounded": 0},
    "short": {"elapsed": 599},
    "used_fraction": {"used": 5 * HOUR},
    "unused": {"used": 1, "reserved": 4 * HOUR},
}


@pytest.mark.parametrize(
    ("changes", "reason", "why"),
    [
        ({}, None, "worth one"),
        ({"used": 5 * HOUR - 1}, None, "just under the share"),
        ({"used": 5 * HOUR}, "used_fraction", "the share itself"),
        ({"used": 600, "reserved": 600 + 4 * HOUR}, None, "the floor itself"),
        ({"used": 600, "reserved": 599 + 4 * HOUR}, "unused", "just under the floor"),
        ({"on_gpus": 0, "used": 600, "reserved": 600 + 64 * HOUR}, None, "without GPUs 16 CPUs weigh as much as one"),
        ({"on_gpus": 0, "used": 600, "reserved": 599 + 64 * HOUR}, "unused", "just under it"),
        ({"on_gpus": 0, "used": 0, "reserved": 0}, "used_fraction", "unknown CPUs: nothing is known to be unused"),
        ({"elapsed": 600}, None, "just long enough"),
        ({"tasks": 4, "completed": 2, "bounded": 2}, None, "half of the tasks completed"),
        ({"tasks": 5, "completed": 2, "bounded": 2}, "state", "less than half did"),
        *((changes, reason, reason) for reason, changes in WRONG.items()),
    ],
)
def test_one_run(changes: dict[str, Any], reason: str | None, why: str) -> None:
    measure = Measure("aaic", replace(RUN, **changes))
    assert why_not(measure, Limits()) == reason, why
    assert len(check(measure, Limits())) == (reason is None), why


@pytest.mark.parametrize(
    ("habit", "reason", "why"),
    [
        (None, None, "nothing known"),
        (Habit(5, 70.0, 100.0), "well", "does well, over just enough runs"),
        (Habit(4, 100.0, 100.0), None, "too few runs to say"),
        (Habit(50, 69.0, 100.0), None, "does not"),
    ],
)
def test_a_habit(habit: Habit | None, reason: str | None, why: str) -> None:
    assert why_not(Measure("aaic", RUN, habit), Limits()) == reason, why


def test_the_first_reason_is_the_one_that_is_told() -> None:
    everything = {key: value for changes in WRONG.values() for key, value in changes.items()}
    assert why_not(Measure("aaic", replace(RUN, **everything), Habit(9, 1.0, 1.0)), Limits()) == REASONS[0]
    assert {*WRONG, "well"} == set(REASONS)


def test_a_finding_says_of_what_it_is_and_what_it_compared() -> None:
    (finding,) = check(Measure("aaic", RUN), Limits())
    assert (finding.kind, finding.verdict, finding.severity) == ("overestimate", "overestimated", "warn")
    assert finding.subject == Subject(cluster="aaic", user="ada", name="train", run=f"1@{MONDAY}")
    assert finding.evidence == {
        "tasks": 1, "elapsed": HOUR, "req_limit": 10 * HOUR, "used": HOUR, "reserved": 10 * HOUR, "unused": 9 * HOUR,
        "used_fraction": 0.1,
    }  # fmt: skip
