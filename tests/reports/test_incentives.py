"""Incentives as people read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC

from adminkit.economy.build import Table, Worth
from adminkit.economy.tables import points
from adminkit.render import text
from adminkit.render.report import Report
from adminkit.reports.incentives import LACKING, REASONS, everybody_report, preview, user_report
from adminkit.slurm.priority import Spread
from adminkit.stats.incentives import DAY, LEFT_OUT
from tests.economy.incentive_cases import NOW, PER_HOUR, ada, everybody, good, policy, run, step
from tests.support.builders import HOUR

SETTINGS = policy(name_day_hours=48).incentives
WIDE = run(300, 1, gpus=8, cpus=64, job_name="sweep", user="bob", uid=1002)
JOBS = [
    *good(count=10),
    *good(20, 3, state="TIMEOUT", elapsed=HOUR),
    run(30, 1, elapsed=20 * HOUR, time_limit=24 * HOUR, gpus=4, cpus=32, job_name="大きい\x1b[31m"),
    run(31, 2, cpu_time=1.0),
    run(32, 2, state="CANCELLED"),
    run(33, 2, limit_source="default"),
    *good(100, 12, user="bob", uid=1002, time_limit=3 * HOUR),
    WIDE,
    run(400, 0, user=None, uid=1003),
]
STEPS = [step(WIDE, str(nth), 0, 2900) for nth in range(8)]
WORTH = replace(Worth(points(SETTINGS, PER_HOUR), Spread(41, 120, 2520)), notes=("site_factor/own may overwrite it",))


def shown(report: Report) -> str:
    return text.table(report, UTC, None, colour=False, ascii_only=False)


def test_everybodys_points_are_listed(golden: Callable[[str, str], None]) -> None:
    tables = [Table("incentives", {}, "x" * 2048, 2, 0.00123), Table("hints", {}, "", 0, 0.0001)]
    found = replace(everybody(JOBS, STEPS, name_day_hours=48), worth=WORTH)
    report = everybody_report(found, SETTINGS, "trace.db", tables)
    golden("incentives.txt", shown(report))
    golden("incentives.json", text.as_json(report))


def test_one_users_points_are_explained_line_by_line(golden: Callable[[str, str], None]) -> None:
    report = user_report(replace(ada(JOBS, STEPS, name_day_hours=48), worth=WORTH), SETTINGS, "trace.db")
    golden("incentives-ada.txt", shown(report))
    golden("incentives-ada.csv", text.as_csv(report))
    assert json.loads(text.as_json(report))["rows"][0]["part"] == "bonus"


def test_every_reason_has_its_words() -> None:
    assert tuple(REASONS) == LEFT_OUT
    assert set(LACKING) == {"runs", "days", "share", "score"}


def test_the_preview_says_hours_of_ageing_and_the_share_of_the_spread() -> None:
    lines = preview(360, WORTH)
    assert lines[0] == "the largest bonus is 360 points, 6.0 h of ageing; the cap is 12.0 h"
    assert lines[1] == "that is 15.0 % of the spread that sprio shows now: 120 to 2,520 over 41 waiting jobs"
    assert "more than all of the spread" in preview(360, replace(WORTH, spread=Spread(1, 7, 7)))[1]


def test_a_trace_that_ended_before_the_window_says_so() -> None:
    old = everybody(good(first=1), window_days=3, bundle_days=3)
    assert not any("no run ended" in note for note in everybody_report(old, SETTINGS, "trace.db").meta.notes)
    old = replace(old, standings=[], span=(NOW - 500 * DAY, NOW - 400 * DAY))
    (note,) = [note for note in everybody_report(old, SETTINGS, "trace.db").meta.notes if "no run ended" in note]
    assert "in the last 180 days" in note
    assert "400 days ago" in note
    none = replace(old, span=(None, None))
    assert any(
        "the trace has no run that ended" in note for note in everybody_report(none, SETTINGS, "trace.db").meta.notes
    )


def test_a_trace_whose_use_is_unknown_says_what_to_do() -> None:
    report = everybody_report(everybody(good(cpu_time=None)), SETTINGS, "trace.db")
    assert any("sync with steps, or set incentives.unknown_use" in note for note in report.meta.notes)
