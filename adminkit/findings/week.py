"""How a user's week went: against the weeks before, which job name did best, which is worth a better limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.weeks import Name, Week


@dataclass(frozen=True, slots=True)
class Limits:
    """When a week is news."""

    moved: float = 0.05  # a change of the share of the time asked for that is worth a line
    runs: int = 3  # fewer runs, of a week or a job name, are an accident
    unused: int = 3600  # GPU-seconds, 16 CPU-seconds for one; with less unused there is nothing to advise
    well: float = 0.5  # who used this share did well
    worst: int = 3  # job names with advice, at most


#: What the letters judge by.
LETTERS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Measure:
    """A user's week, or, without a user, a cluster's; the weeks before taken together; the week by job name."""

    cluster: str
    user: str | None
    this: Week
    before: Week
    names: Mapping[str | None, Name] = field(default_factory=dict)


#: The verdicts on the week itself; those on job names are best and worst.
TRENDS: Final = ("better", "same", "worse", "unknown")

KIND: Final = Kind(
    "week",
    "how a week compares with the four before it, and which job names made the difference",
    {
        "better": Verdict("good"),
        "same": Verdict("info"),
        "worse": Verdict("warn", message("look at the job names below, and at `adminkit report accuracy`")),
        "unknown": Verdict("info"),
        "praise": Verdict("good"),
        "best": Verdict("good"),
        "worst": Verdict(
            "warn", message("ask for a shorter limit for this job name: adminkit recommend walltime suggests one")
        ),
    },
    {
        "runs": Number("runs that ended in the week and count"),
        "used": Number("the sum of their run times", "seconds"),
        "asked": Number("the sum of their limits", "seconds"),
        "used_fraction": Number("used / asked", "share"),
        "used_fraction_before": Number("used / asked for the weeks before, taken together", "share"),
        "unused": Number("reserved by limits and not used", "GPU-seconds"),
        "cpu_unused": Number("reserved by limits and not used, for runs without GPUs", "CPU-seconds"),
    },
)


def check(measure: Measure, limits: Limits) -> list[Finding]:
    """First the trend, always; then praise; then the best job name, where there are several; then the worst first."""
    subject = Subject(cluster=measure.cluster, user=measure.user)
    evidence = _evidence(measure.this) | {"used_fraction_before": measure.before.used_fraction}
    stake = Stake.both(measure.this.unused)
    findings = [KIND.finding(_trend(measure.this, measure.before, limits), subject, evidence, stake)]
    if _did_well(measure.this, limits):
        findings.append(KIND.finding("praise", subject, evidence))
    if len(measure.names) > 1 and (best := _best(measure.names, limits)) is not None:
        findings.append(_of_name("best", best, measure))
    findings += [_of_name("worst", name, measure) for name in _worst(measure.names, limits)]
    return findings


def _of_name(verdict: str, name: str, measure: Measure) -> Finding:
    subject = Subject(cluster=measure.cluster, user=measure.user, name=name)
    week = measure.names[name].week
    return KIND.finding(verdict, subject, _evidence(week), Stake.both(week.unused))


def _evidence(week: Week) -> dict[str, float | None]:
    stake = Stake.both(week.unused)
    return {
        "runs": week.runs, "used": week.used, "asked": week.asked, "used_fraction": week.used_fraction,
        "unused": stake.gpu_seconds, "cpu_unused": stake.cpu_seconds,
    }  # fmt: skip


def _trend(this: Week, before: Week, limits: Limits) -> str:
    """This week's share of used time against that of the weeks before, taken together."""
    if this.used_fraction is None or before.used_fraction is None or min(this.runs, before.runs) < limits.runs:
        return "unknown"
    moved = this.used_fraction - before.used_fraction
    return "same" if abs(moved) < limits.moved else "better" if moved > 0 else "worse"


def _did_well(week: Week, limits: Limits) -> bool:
    return week.runs >= limits.runs and week.used_fraction is not None and week.used_fraction >= limits.well


def _best(names: Mapping[str | None, Name], limits: Limits) -> str | None:
    """The job name that used most of what it asked for, if that is a good part."""
    good = {name: one.week.used_fraction or 0 for name, one in names.items() if name and _did_well(one.week, limits)}
    return max(good, key=lambda name: (good[name], name), default=None)


def _worst(names: Mapping[str | None, Name], limits: Limits) -> list[str]:
    """The job names that left most unused and used less than a good part, the worst first."""

    def unused(name: str) -> float:
        return names[name].week.unused.weight

    fractions = {name: one.week.used_fraction for name, one in names.items() if name}
    bad = [
        name
        for name, fraction in fractions.items()
        if fraction is not None and fraction < limits.well and unused(name) >= limits.unused
    ]
    return sorted(bad, key=lambda name: (-unused(name), name))[: limits.worst]
