"""Whether the default of a queue suits the jobs that take it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.queue_habits import QueueHabits


@dataclass(frozen=True, slots=True)
class Limits:
    """When a default is worth a word."""

    jobs: int = 100  # that took it
    used_fraction: float = 0.25  # of it: below, the default was far too long
    unused: float = 100 * 3600.0  # GPU-seconds, 16 CPU-seconds for one


KIND: Final = Kind(
    "default_limit",
    "a queue whose default limit is much longer than what the jobs that take it need",
    {
        "long": Verdict(
            "warn",
            message("lower DefaultTime: jobs that set no limit need little, and users who need more can ask for it"),
        ),
        "fits": Verdict("info"),
    },
    {
        "jobs": Number("jobs of the queue that are counted"),
        "at_default": Number("of these, jobs with the default limit"),
        "share": Number("at_default / jobs", "share"),
        "users": Number("users of the jobs with the default limit"),
        "default_limit": Number("the queue's current default", "seconds"),
        "used_fraction": Number("used / reserved, for the jobs with the default limit", "share"),
    },
)


def check(measure: QueueHabits, limits: Limits) -> list[Finding]:
    """One finding of a queue's jobs of one resource of which enough jobs took the default."""
    every, those = measure.everything, measure.at_default
    if measure.queue is None or those.jobs < limits.jobs or those.used_fraction is None:
        return []
    evidence = {
        "jobs": every.jobs, "at_default": those.jobs, "share": those.jobs / every.jobs, "users": those.users,
        "default_limit": measure.default_limit, "used_fraction": those.used_fraction,
    }  # fmt: skip
    long = those.used_fraction < limits.used_fraction and measure.unused_weight(those) >= limits.unused
    subject = Subject(cluster=measure.cluster, queue=measure.queue)
    command = f"adminkit report accuracy --queue {shlex.quote(measure.queue)} --limit-source default" if long else ""
    return [
        KIND.finding("long" if long else "fits", subject, evidence, Stake.of(those.unused, measure.resource), command)
    ]
