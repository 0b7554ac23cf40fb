"""Whether the maximum of a queue is longer than its jobs need."""

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
    """When a maximum is too long."""

    menu: Sequence[int]  # seconds, ascending: what may be advised
    longer: float  # of the jobs may run longer than the maximum that is advised: the interval's upper end
    shorter: float = 0.5  # an advised maximum is at most this share of today's
    jobs: int = 100


KIND: Final = Kind(
    "max_limit",
    "a queue whose maximum is longer than nearly all of its jobs need",
    {
        "long": Verdict(
            "warn",
            message("lower MaxTime; the few jobs that need more can checkpoint, or use a queue with a higher maximum"),
        ),
    },
    {
        "jobs": Number("jobs that are counted"),
        "max_limit": Number("the queue's maximum", "seconds"),
        "enough": Number("the shortest limit on the menu that suffices", "seconds"),
        "longer": Number("jobs that ran for longer than `enough`"),
        "share": Number("longer / jobs", "share"),
        "share_low": Number("the lower end of the 95 % interval of `share`", "share"),
        "share_high": Number("the upper end of that interval", "share"),
    },
)


def check(queue: QueueJobs, limits: Limits) -> list[Finding]:
    """One finding where a much shorter maximum would do, none otherwise or where too few users have jobs there."""
    if queue.max_limit is None or queue.queue is None or len(queue.elapsed) < limits.jobs:
        return []
    most = queue.max_limit * limits.shorter
    found = queue.least_limit((limit for limit in limits.menu if limit <= most), limits.longer)
    if found is None:
        return []
    enough, share = found
    evidence = {
        "jobs": len(queue.elapsed), "max_limit": queue.max_limit, "enough": enough, "longer": share.jobs,
        "share": share.share, "share_low": share.low, "share_high": share.high,
    }  # fmt: skip
    subject = Subject(cluster=queue.cluster, queue=queue.queue)
    command = f"scontrol update PartitionName={shlex.quote(queue.queue)} MaxTime={enough // 60}"
    return [KIND.finding("long", subject, evidence, Stake(*queue.reserved_beyond(enough)), command)]
