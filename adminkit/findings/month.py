"""Whether a user's time limits got better, or worse, this month."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.users import Change, Month


@dataclass(frozen=True, slots=True)
class Limits:
    """When a change is news."""

    moved: float = 0.05  # in accuracy


@dataclass(frozen=True, slots=True)
class Measure:
    """A user's accuracy in one month against the months before; `month` is "2026-01", of UTC."""

    cluster: str
    user: str
    month: str
    change: Change


KIND: Final = Kind(
    "month",
    "a user whose accuracy this month differs from the months before by more than those differ from each other",
    {
        "better": Verdict("good", message("tell the user: praise costs nothing")),
        "worse": Verdict("warn", message("ask the user what changed: new programs need different limits")),
    },
    {
        "month": Number("in UTC", "year × 100 + month"),
        "jobs": Number("jobs that had a limit and ended in the month"),
        "accuracy": Number("the mean of elapsed / limit of these jobs", "share"),
        "accuracy_before": Number("the mean of the earlier months' accuracies, each with the same weight", "share"),
        "months": Number("how many earlier months the month is compared with"),
        "change": Number("accuracy - accuracy_before", "share"),
        "change_low": Number("the lower end of the 95 % interval of `change`", "share"),
        "change_high": Number("the upper end of that interval", "share"),
    },
)


def check(measure: Measure, limits: Limits) -> list[Finding]:
    """One finding where the interval of the change leaves out zero and the change is large enough; else none."""
    change = measure.change
    moved, interval = change.change, change.interval
    if moved is None or interval is None or abs(moved) < limits.moved or interval[0] <= 0 <= interval[1]:
        return []
    now: Month = change.now
    evidence = {
        "month": int(measure.month.replace("-", "")), "jobs": now.jobs, "accuracy": now.accuracy,
        "accuracy_before": change.expected, "months": len(change.before), "change": moved,
        "change_low": interval[0], "change_high": interval[1],
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, user=measure.user)
    return [KIND.finding("better" if moved > 0 else "worse", subject, evidence)]
