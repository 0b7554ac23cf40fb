"""Whether letters changed something, by the interval of the measured effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.effect import Change


@dataclass(frozen=True, slots=True)
class Limits:
    """Below these numbers nothing is concluded: the bootstrap's interval is too narrow for few users."""

    users: int = 10  # compared
    others: int = 5  # matches of these


#: What `adminkit report feedback` judges by.
REPORT: Final = Limits()


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of a cluster's users, before and after their first letter."""

    cluster: str
    change: Change


KIND: Final = Kind(
    "effect",
    "whether letters changed what users ask for, compared with users without a letter",
    {
        "better": Verdict("good"),
        "worse": Verdict(
            "warn", message("look at what the letters say, and at who is left out: docs/reports/feedback.md")
        ),
        "no significant change": Verdict(
            "info", message("wait: a smaller change can be detected only with more users")
        ),
        "too few users": Verdict("info", message("wait until more users have had a letter")),
        "nobody to compare with": Verdict(
            "info", message("set [feedback] holdout: without a hold-out, there is nobody to compare with")
        ),
    },
    {
        "users": Number("users who got a first letter and had runs before and after that letter"),
        "compared": Number("of these, users for whom there was a match"),
        "others": Number("users without a letter who served as matches"),
        "effect": Number(
            "the change for the compared users minus the change for their matches: a ratio, or hours per week"
        ),
        "low": Number("the lower end of the 95 % confidence interval of `effect`"),
        "high": Number("the upper end of that interval"),
    },
)


def check(measure: Measure, limits: Limits) -> list[Finding]:
    """One finding; its subject's name is the measure's."""
    change = measure.change
    evidence = {
        "users": change.users, "compared": change.compared, "others": change.others,
        "effect": change.effect, "low": change.low, "high": change.high,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, name=change.measure)
    return [KIND.finding(_verdict(change, limits), subject, evidence)]


def _verdict(change: Change, limits: Limits) -> str:
    """An interval without 0 is a change. Fewer unused hours are better, and so is more accuracy."""
    if change.users and not change.compared:
        return "nobody to compare with"
    if change.compared < limits.users or change.others < limits.others or change.low is None or change.high is None:
        return "too few users"
    if not (change.low > 0 or change.high < 0):
        return "no significant change"
    return "better" if (change.low > 0) == (change.measure == "accuracy") else "worse"
