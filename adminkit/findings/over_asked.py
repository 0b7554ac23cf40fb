"""How much of what a queue's jobs reserve they use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict, of_resource
from adminkit.messages import message
from adminkit.stats.queue_habits import QueueHabits


@dataclass(frozen=True, slots=True)
class Limits:
    """When a queue is worth a word."""

    jobs: int = 100  # fewer are an accident
    used_fraction: float = 0.5  # a queue that used less than this share of what it reserved
    well: float = 0.7  # a queue that used at least this share does well
    unused: float = 100 * 3600.0  # GPU-seconds, 16 CPU-seconds for one; below this a rule is not worth it


KIND: Final = Kind(
    "over_asked",
    "a queue whose jobs reserve much more time than they use",
    {
        "unused": Verdict(
            "warn",
            message("show users what their jobs need: with hints at submission, and with letters"),
        ),
        "fair": Verdict("info"),
        "used": Verdict("good"),
    },
    {
        "jobs": Number("jobs that are counted"),
        "users": Number("users who submitted these jobs"),
        "reserved": Number("reserved by the limits of jobs with GPUs", "GPU-seconds"),
        "used": Number("used by the same jobs", "GPU-seconds"),
        "cpu_reserved": Number("reserved by the limits of jobs without GPUs", "CPU-seconds"),
        "cpu_used": Number("used by the same jobs", "CPU-seconds"),
        "used_fraction": Number("used / reserved", "share"),
    },
)


def check(measure: QueueHabits, limits: Limits) -> list[Finding]:
    """One finding of a queue with enough jobs of one resource."""
    every = measure.everything
    if every.jobs < limits.jobs or every.used_fraction is None:
        return []
    verdict = "used" if every.used_fraction >= limits.well else "fair"
    if every.used_fraction < limits.used_fraction and measure.unused_weight(every) >= limits.unused:
        verdict = "unused"
    evidence = {
        "jobs": every.jobs, "users": every.users,
        **of_resource(measure.resource, reserved=every.reserved, used=every.used),
        "used_fraction": every.used_fraction,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, queue=measure.queue)
    command = "adminkit feedback preview" if verdict == "unused" else ""
    return [KIND.finding(verdict, subject, evidence, Stake.of(every.unused, measure.resource), command)]
