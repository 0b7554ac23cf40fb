"""What a trial showed, in sentences: one for each way in which it may go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.deploy.trial import KEPT_AFTER, OVER, Placed, Trial
from adminkit.render.report import Report, Trend
from adminkit.reports.trial import KEEP_AFTER, KEEP_BY_HAND, RESULT_FIELDS, plan_notes, result_report
from adminkit.stats.switchback import calendar
from adminkit.stats.waits import waits
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY = 24 * HOUR
#: (number of the day, whether it is B's, GPUs) -> the wait of its jobs, seconds.
Wait = Callable[[int, bool, int], int]


def trial(days: int = 28, **changes: object) -> Trial:
    calendar_days = calendar(range(MONDAY, MONDAY + (days + 1) * DAY, DAY), 7)
    placed = [Placed(day.since + 60, "b" if day.on else "a") for day in calendar_days]
    made = Trial("aaic", MONDAY, 7, 6 * HOUR, calendar_days, lines=["bf_window 4 days"], placed=placed)
    return replace(made, **changes)  # type: ignore[arg-type]


def shown(tmp_path: Path, made: Trial, wait: Wait, now: int | None = None) -> Report:
    now = made.ends if now is None else now
    jobs = []
    for nth, day in enumerate(made.days):
        for gpus in (1, 8):
            at = day.since + 12 * HOUR
            start = at + wait(nth, day.on, gpus)
            more = {"start_time": start, "end_time": start + HOUR, "elapsed": HOUR}
            jobs.append(job(10 * nth + gpus, eligible_time=at, gpus=gpus, nodes=1, **more))
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        return result_report(made, waits(db, "aaic", made.begins, made.ends, now), "t.db", now)


def usual(nth: int) -> int:
    return 600 + 90 * (nth * 5 % 11)


def shorter(nth: int, on: bool, gpus: int) -> int:
    return usual(nth) * (2 if on else 4)


def wide_longer(nth: int, on: bool, gpus: int) -> int:
    return usual(nth) * ((1 if on else 9) if gpus == 1 else (4 if on else 2))


def alike(nth: int, on: bool, gpus: int) -> int:
    return usual(nth)


def longer(nth: int, on: bool, gpus: int) -> int:
    return usual(nth) * (4 if on else 2)


B = "with B the mean wait is"
WORSE = "longer, by more than chance:"
KEEP = "keep: adminkit trial stop --keep b --apply / undo: adminkit trial stop --apply"
EARLY = "not known yet: the first look is after 14 days, and the trial has had 1"
UNSEEN = "not known yet: too few pairs of days with waits by look 2 of 2; 28 days did"
AT = MONDAY + 20 * DAY
LAST = MONDAY + 27 * DAY


@pytest.mark.parametrize(
    ("made", "wait", "now", "answers", "why"),
    [
        (trial(), shorter, None, [f"{B} 56.6 % shorter", KEEP_AFTER], "over: A is in place"),
        (trial(42), shorter, LAST + DAY, [f"{B} 56.6 % shorter", KEEP], "under way"),
        (trial(42), wide_longer, LAST + DAY, [f"{B} 60.5 % shorter", f"{WORSE} ", "undo: "], "some wait longer"),
        (trial(), longer, None, [f"{B} 73.8 % longer", f"{WORSE} 1 GPU, 2"], "nothing to keep"),
        (trial(), alike, None, ["no significant change of the mean wait (95 % interval -"], "over"),
        (trial(), alike, AT, ["not known yet: too few pairs of days with waits by look 1 of 2", "undo: "], "early"),
        (trial(), shorter, MONDAY + DAY, [EARLY, "undo: "], "before the first look"),
        (trial(placed=[]), shorter, None, [UNSEEN], "nothing was seen in place"),
        (trial(ended=LAST + DAY, why=OVER), shorter, None, [f"{B} 56.6 % shorter", KEEP_AFTER], "its last round ran"),
        (trial(ended=LAST + DAY, why=KEPT_AFTER), shorter, None, [f"{B} 56.6 % shorter", "B was kept"], "kept since"),
        (trial(ended=LAST + DAY, why="guard"), shorter, None, [f"{B} 56.6 % shorter", KEEP_BY_HAND], "on its last day"),
        (trial(ended=AT, why="guard"), shorter, None, ["not known yet: too few pairs"], "ended early"),
    ],
)  # fmt: skip
def test_the_answer_says_what_was_shown_and_what_to_type(
    tmp_path: Path, made: Trial, wait: Wait, now: int | None, answers: Sequence[str], why: str
) -> None:
    report = shown(tmp_path, made, wait, now)
    assert len(report.meta.answers) == len(answers), (why, report.meta.answers)
    for said, begin in zip(report.meta.answers, answers, strict=True):
        assert said.startswith(begin), why


def test_the_first_row_is_all_jobs_mean_wait_and_groups_follow(tmp_path: Path) -> None:
    report = shown(tmp_path, trial(), wide_longer)
    rows = {tuple(row[:3]): dict(zip([one.name for one in RESULT_FIELDS], row, strict=True)) for row in report.rows}
    assert [*rows][:3] == [("all", "all", one) for one in ("mean wait", "p95 wait", "mean slowdown")]
    verdicts = {name: row["verdict"] for (part, name, _), row in rows.items() if part == "size"}
    assert verdicts == {"1 GPU": "less", "2 to 8 GPUs": "more"}
    assert rows["all", "all", "mean slowdown"]["unit"] == "ratio"


def test_a_guard_that_fired_and_what_b_changes_are_notes(tmp_path: Path) -> None:
    made = trial(ended=AT, why="p95 of waits is 1.8 times that of A's days")
    notes = shown(tmp_path, made, shorter).meta.notes
    assert notes[0] == "it ended after 20 of 28 days: p95 of waits is 1.8 times that of A's days"
    assert "B: bf_window 4 days" in notes
    assert "the last 6 days do not count, as their fortnight is not complete" in notes


def test_a_trial_that_ran_to_its_end_is_not_one_that_was_ended(tmp_path: Path) -> None:
    notes = shown(tmp_path, trial(ended=trial().ends, why=OVER), shorter).meta.notes
    assert not any(note.startswith("it ended after") for note in notes)


def test_a_day_without_its_side_drops_its_pair(tmp_path: Path) -> None:
    placed = [one for one in trial().placed if not MONDAY < one.since < MONDAY + DAY]
    report = shown(tmp_path, trial(placed=placed), shorter)
    assert report.rows[0][3] == 13
    assert "left out with their pairs: 1 day that did not have their side in place" in report.meta.notes


def test_an_earlier_look_that_showed_it_is_named(tmp_path: Path) -> None:
    notes = shown(tmp_path, trial(56), shorter).meta.notes
    assert "the change was significant at the look after 28 days" in notes


def test_the_picture_has_each_day_on_its_own_side(tmp_path: Path) -> None:
    made = trial()
    pictures = shown(tmp_path, made, shorter).pictures
    assert pictures is not None
    (panel,) = pictures.panels
    assert isinstance(panel, Trend) and [name for name, _ in panel.lines] == ["A", "B"]
    for nth, day in enumerate(made.days):
        a, b = (values[nth] for _, values in panel.lines)
        assert (a is None, b is None) == (day.on, not day.on)
    assert pictures.title.startswith("with B the mean wait is")


def test_where_nobody_waits_there_is_nothing_to_draw(tmp_path: Path) -> None:
    assert shown(tmp_path, trial(), lambda *_: 0).pictures is None


def test_a_plan_says_what_is_hoped_for_and_what_it_needs() -> None:
    past = [600.0 + 120 * (day % 7) + 90 * (day * 5 % 11) for day in range(140)]
    said = plan_notes(28, -0.2, past)
    assert said[0].startswith("judging by 140 days of this site's past, 28 days show a mean wait ")
    assert said[1].startswith("a change of -20.0 % is shown by 28 days with a probability of ")
    assert said[1].endswith("; 80 % need 42 days")
    assert len(plan_notes(28, None, past)) == 1
    assert plan_notes(28, -0.001, past)[1].endswith("80 % need more than a year")
    (unknown,) = plan_notes(28, -0.2, [60.0] * 20)
    assert unknown == "what 28 days can show is not known: the trace has 20 days with waits, and 28 are needed"
    assert plan_notes(28, -0.2, [0.0] * 60) == ["what 28 days can show is not known: nobody waited"]
