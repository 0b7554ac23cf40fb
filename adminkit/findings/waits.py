"""Whether the jobs of a queue wait longer because they ask for more than they need."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.wait_avoided import Avoided


@dataclass(frozen=True, slots=True)
class Limits:
    """When waits are worth a word."""

    avoided: float = 100 * 3600.0  # seconds, of all jobs together
    share: float = 0.1  # of what the jobs waited


KIND: Final = Kind(
    "waits",
    "a queue whose jobs wait longer than jobs that ask for what they need",
    {
        "avoidable": Verdict(
            "warn", message("show users the heat map: in this queue, jobs with shorter limits start sooner")
        )
    },
    {
        "jobs": Number(
            "completed jobs whose limits fell into a larger bucket than their run times, and that can be compared with "
            "enough other jobs"
        ),
        "wait": Number("the sum of the waits of these jobs", "seconds"),
        "avoided": Number(
            "the part of `wait` above the mean wait of jobs of the same size that asked for what they needed", "seconds"
        ),
        "avoided_low": Number("the lower end of the 95 % interval of `avoided`", "seconds"),
        "avoided_high": Number("the upper end of that interval", "seconds"),
        "share": Number("avoided / wait", "share"),
    },
)


def check(measure: Avoided, limits: Limits) -> list[Finding]:
    """One finding where the interval leaves out zero and there is enough to gain."""
    share = measure.avoided / measure.wait if measure.wait else 0.0
    if measure.low <= 0 or measure.avoided < limits.avoided or share < limits.share:
        return []
    evidence = {
        "jobs": measure.jobs, "wait": measure.wait, "avoided": measure.avoided, "avoided_low": measure.low,
        "avoided_high": measure.high, "share": share,
    }  # fmt: skip
    of = f" --queue {shlex.quote(measure.queue)}" if measure.queue else ""
    subject = Subject(cluster=measure.cluster, queue=measure.queue)
    return [KIND.finding("avoidable", subject, evidence, command=f"adminkit report wait{of} --plot")]
