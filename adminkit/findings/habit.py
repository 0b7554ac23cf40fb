"""Whether a queue's jobs ask for its maximum out of habit: they use little of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.queue_habits import QueueHabits


@dataclass(frozen=True, slots=True)
class Limits:
    """When asking for the maximum is a habit of the queue."""

    jobs: int = 100  # of the queue
    share: float = 0.2  # of these, that ask for the maximum
    used_fraction: float = 0.5  # of what they reserve; above it, users need the maximum


KIND: Final = Kind(
    "habit",
    "a queue in which many jobs ask for the maximum and use little of it",
    {
        "habit": Verdict(
            "warn",
            message(
                "make shorter limits worthwhile, with points and hints; or lower MaxTime and let longer jobs checkpoint"
            ),
        ),
        "needed": Verdict("info"),
    },
    {
        "jobs": Number("jobs of the queue that are counted"),
        "at_maximum": Number("of these, jobs that ask for the maximum or more"),
        "share": Number("at_maximum / jobs", "share"),
        "users": Number("users who ask for the maximum"),
        "max_limit": Number("the queue's maximum", "seconds"),
        "used_fraction": Number("used / reserved, for the jobs that ask for the maximum", "share"),
    },
)


def check(measure: QueueHabits, limits: Limits) -> list[Finding]:
    """One finding of a queue whose maximum is known and where many ask for it."""
    every, those = measure.everything, measure.at_maximum
    if measure.max_limit is None or measure.queue is None or every.jobs < limits.jobs or those.used_fraction is None:
        return []
    share = those.jobs / every.jobs
    if share < limits.share:
        return []
    evidence = {
        "jobs": every.jobs, "at_maximum": those.jobs, "share": share, "users": those.users,
        "max_limit": measure.max_limit, "used_fraction": those.used_fraction,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, queue=measure.queue)
    verdict = "habit" if those.used_fraction < limits.used_fraction else "needed"
    command = "adminkit incentives compute" if verdict == "habit" else ""
    return [KIND.finding(verdict, subject, evidence, Stake.of(those.unused, measure.resource), command)]
