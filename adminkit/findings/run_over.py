"""Users who ask for too little, because their jobs are given more time."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.extensions import RanOver


@dataclass(frozen=True, slots=True)
class Limits:
    """When running over is a habit."""

    runs: int = 10  # that ran past their limits
    share: float = 0.5  # of all runs of the user


KIND: Final = Kind(
    "run_over",
    "a user whose jobs run past their limits again and again, because they are given more time",
    {
        "run_over": Verdict(
            "warn",
            message("ask for the time that the jobs need: adminkit recommend walltime suggests a limit"),
        )
    },
    {
        "runs": Number("runs that had a limit"),
        "over": Number("of these, runs that ran past the limit that was asked for"),
        "share": Number("over / runs", "share"),
        "more": Number("the mean time by which they ran past it", "seconds"),
        "req_limit": Number("the mean limit that they asked for", "seconds"),
        "used": Number("used past the limits that were asked for", "GPU-seconds"),
        "cpu_used": Number("used past them by runs without GPUs", "CPU-seconds"),
    },
)


def check(measure: RanOver, limits: Limits) -> list[Finding]:
    """One finding of a user most of whose runs are over."""
    share = measure.over / measure.runs
    if measure.over < limits.runs or share < limits.share:
        return []
    stake = Stake.both(measure.reserved)
    evidence: dict[str, float | None] = {
        "runs": measure.runs, "over": measure.over, "share": share, "more": measure.more / measure.over,
        "req_limit": measure.req_limit / measure.over, "used": stake.gpu_seconds, "cpu_used": stake.cpu_seconds,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, user=measure.user)
    command = f"adminkit report extensions --user {shlex.quote(measure.user)}"
    return [KIND.finding("run_over", subject, evidence, stake, command)]
