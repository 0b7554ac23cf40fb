"""Letters about jobs that ran over their limits because nobody waited, in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from tests.feedback.letters import LAST, NEXT_MONDAY, end, run, trace, write
from tests.feedback.site import NOW, ended
from tests.feedback.test_due import ends, planned
from tests.support.builders import HOUR

#: Asked for an hour, was given another, and used 18 minutes of it.
GIVEN: dict[str, Any] = {"ext_asked": HOUR, "ext_limit": 2 * HOUR, "ext_times": 2, "time_limit": 2 * HOUR}
OVER: dict[str, Any] = {**GIVEN, "elapsed": 78 * 60}


@pytest.mark.parametrize(
    ("changes", "reason", "why"),
    [
        (OVER, None, "it ran over"),
        ({**OVER, "elapsed": HOUR}, "used_fraction", "it was given more time, and needed none"),
        ({**OVER, "ext_times": 0}, "used_fraction", "all was taken back: somebody else raised the limit"),
        ({**OVER, "submitted_by": "srun"}, "interactive", "its user sat before it"),
        ({**OVER, "ckpt_requeues": 1, "ckpt_heard": 1}, "checkpoint", "it continues in another run"),
        ({**OVER, "state": "FAILED"}, "state", "how long it would have needed is not known"),
        ({**OVER, "elapsed": 2 * HOUR, "state": "TIMEOUT", "gpus": 2}, None, "lost at its last limit"),
        (
            {**OVER, "ext_asked": 300, "ext_limit": 600, "time_limit": 600, "elapsed": 500},
            "short",
            "some minutes are not worth a letter",
        ),
    ],
)
def test_who_is_told(tmp_path: Path, changes: dict[str, Any], reason: str | None, why: str) -> None:
    found = planned(tmp_path, [ended(**changes)])
    counted = {name: number for name, number in found.left_out.items() if number}
    assert (len(ends(found)), counted) == (reason is None, {} if reason is None else {reason: 1}), why


def test_who_runs_over_each_time_is_told_once_in_a_pause(tmp_path: Path) -> None:
    found = planned(tmp_path, [ended(number, HOUR * number, **OVER) for number in range(1, 6)], at=NOW)
    assert (len(ends(found)), sum(found.left_out.values())) == (1, 4)


def over(number: int = 70, back: int = 6, **changes: Any) -> Job:
    given = {**OVER, "job_name": "fit", **changes}
    return run(number, NEXT_MONDAY - back * HOUR, given.pop("elapsed"), **given)


def said(folder: Path, one: Job, *others: Job, language: str = "en") -> str:
    (letter,) = write(trace(folder / f"{language}.db", [LAST, one, *others]), end(one, language))
    return " ".join(f"{letter.subject} {letter.text}".split())


@pytest.mark.parametrize(
    ("one", "others", "says", "never", "why"),
    [
        (
            over(),
            [],
            ("ran 18 min over its limit of 1 h", "Nobody waited for its nodes", "ask for at least"),
            ("scontrol update", "#SBATCH"),
            "its first run: the next step of the menu",
        ),
        (
            over(),
            [over(100 + n, 10 + 20 * n, elapsed=(75 + n % 4) * 60) for n in range(20)],
            ("ran 18 min over its limit of 1 h", "Next time, ask for more", "#SBATCH --time="),
            ("scontrol update", "at least"),
            "from twenty runs of its name",
        ),
        (
            over(elapsed=2 * HOUR + 10, state="TIMEOUT"),
            [],
            ("reached its time limit of 2 h", "had asked for 1 h, and was given more time", "#SBATCH --time="),
            ("Nobody waited for its nodes, so it was not ended",),
            "it ended at its last limit: more than that is needed",
        ),
        (
            over(elapsed=HOUR - 60),
            [],
            ("used 59 min of 1 h",),
            ("over its limit", "given more time"),
            "it needed none of it",
        ),
    ],
)
def test_what_it_says(
    tmp_path: Path, one: Job, others: list[Job], says: tuple[str, ...], never: tuple[str, ...], why: str
) -> None:
    english, japanese = said(tmp_path, one, *others), said(tmp_path, one, *others, language="ja")
    assert [word for word in says if word not in english] == [], (why, english)
    assert [word for word in never if word in english] == [], (why, english)
    assert re.search("[ぁ-ん]", japanese) and "Nobody" not in japanese and "None" not in japanese, why
    pasted = [re.findall(r"#SBATCH\S* \S+", text) for text in (english, japanese)]
    assert pasted[0] == pasted[1], "both languages have the same lines"
    for line in pasted[0]:
        hours, minutes, _ = line.split("=")[1].split(":")
        assert int(hours) * HOUR + int(minutes) * 60 > (one.elapsed or 0), "longer than what was not enough"
