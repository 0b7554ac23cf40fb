"""Whether many jobs of a queue would have fitted a shorter one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.queue_fit import QueueJobs


@dataclass(frozen=True, slots=True)
class Limits:
    """When a queue is worth a word."""

    jobs: int = 50
    share: float = 0.5  # of its jobs that fit a shorter queue
    other_jobs: int = 20  # of the shorter queue: fewer do not show what it takes


@dataclass(frozen=True, slots=True)
class Measure:
    """A queue's jobs, and those of the other queues of its cluster."""

    queue: QueueJobs
    others: Sequence[QueueJobs]


KIND: Final = Kind(
    "queue_fit",
    "a queue many of whose jobs would have fitted into a queue with a shorter maximum",
    {
        "fits": Verdict(
            "warn",
            message(
                "tell users about the queue with the shorter maximum, "
                "or route such jobs there with a rule in policy.toml"
            ),
        ),
    },
    {
        "jobs": Number("jobs that are counted"),
        "fit": Number(
            "how many of these jobs ended within the other queue's maximum and were not larger than that queue's "
            "largest job"
        ),
        "share": Number("fit / jobs", "share"),
        "share_low": Number("the lower end of the 95 % interval of `share`", "share"),
        "share_high": Number("the upper end of that interval", "share"),
        "max_limit": Number("this queue's maximum", "seconds"),
        "other_limit": Number("the other queue's maximum", "seconds"),
    },
)


def check(measure: Measure, limits: Limits) -> list[Finding]:
    """One finding, of the shortest queue that takes enough of the jobs; none where there is no such queue."""
    mine = measure.queue
    if mine.queue is None or mine.max_limit is None or len(mine.elapsed) < limits.jobs:
        return []
    shorter = [
        (one.max_limit, one)
        for one in measure.others
        if one.cluster == mine.cluster and one.queue and one.max_limit and one.max_limit < mine.max_limit
    ]
    for most, other in sorted(shorter, key=lambda one: (one[0], one[1].queue)):
        which = mine.fitting(other)
        if len(other.elapsed) < limits.other_jobs or which.mean() < limits.share:
            continue
        share = mine.share(which)
        evidence = {
            "jobs": len(which), "fit": share.jobs, "share": share.share, "share_low": share.low,
            "share_high": share.high, "max_limit": mine.max_limit, "other_limit": most,
        }  # fmt: skip
        stake = Stake(*mine.ran(which))
        subject = Subject(cluster=mine.cluster, queue=mine.queue, name=other.queue)
        command = f"adminkit report accuracy --queue {shlex.quote(mine.queue)} --plot"
        return [KIND.finding("fits", subject, evidence, stake, command)]
    return []
