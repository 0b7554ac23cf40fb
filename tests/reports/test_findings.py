"""Findings as a report: what people read of their numbers, and how many are shown."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.findings.finding import Finding, Severity, Subject
from adminkit.findings.registry import KINDS
from adminkit.render.report import Report
from adminkit.reports.findings import Scope, findings_report
from tests.support.builders import MONDAY

SCOPE = Scope(since=MONDAY, until=MONDAY + 7 * 86_400, now=MONDAY + 7 * 86_400, clusters=["aaic"], everybody=True)


def listed(findings: list[Finding], least: Severity = "good", **options: Any) -> Report:
    return findings_report(findings, least, SCOPE, list(KINDS), "t.db", (MONDAY, MONDAY), **options)


def found(kind: str, verdict: str, **evidence: float) -> Finding:
    return KINDS[kind].finding(verdict, Subject(cluster="aaic"), evidence)


NUMBERS = [
    (found("month", "better", month=201802), "month 2018-02", "a month is no number of 201,802"),
    (found("month", "better", month=202612, jobs=1234), "month 2026-12, jobs 1,234", "beside a count"),
    (found("month", "better", change=0.1604), "change 16.0 %", "a share"),
    (found("overestimate", "overestimated", elapsed=7200), "elapsed 2 h", "seconds"),
    (found("overestimate", "overestimated", unused=3600 * 12345), "unused 12,345 GPU-hours", "GPU-seconds"),
]


@pytest.mark.parametrize(("finding", "expected", "why"), NUMBERS)
def test_numbers_are_said_in_what_they_are_in(finding: Finding, expected: str, why: str) -> None:
    (row,) = listed([finding]).records()
    assert row["numbers"] == expected, why


WORSE, BETTER = found("month", "worse", month=201802), found("month", "better", month=201802)
FLOOD = found("flood", "flood")
REST = "with less at stake not shown: --most 0 shows all"
BELOW = "below warn not shown: --severity good shows all"
SHOWN: list[tuple[list[Finding], int, int, list[str], str]] = [
    ([WORSE] * 3, 0, 3, [], "0: all"),
    ([WORSE] * 3, 3, 3, [], "no more than there are"),
    ([WORSE] * 3, 2, 2, [f"1 finding {REST}"], "the first, and it is said"),
    ([WORSE] * 3 + [BETTER] * 2, 1, 1, [f"2 findings {REST}", f"2 findings {BELOW}"], "each reason by itself"),
    ([WORSE] * 3 + [FLOOD] * 2, 2, 4, [f"1 finding {REST}"], "of each kind"),
    ([BETTER], 30, 0, [f"1 finding {BELOW}"], "none of that severity"),
    ([], 30, 0, ["nothing found"], "good news is said"),
]


@pytest.mark.parametrize(("findings", "most", "rows", "notes", "why"), SHOWN)
def test_what_is_not_shown_is_said(findings: list[Finding], most: int, rows: int, notes: list[str], why: str) -> None:
    report = listed(findings, "warn", most=most)
    assert (len(report.rows), report.meta.notes) == (rows, notes), why
