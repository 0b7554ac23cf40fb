"""Job names that fail again and again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.failing import Failing


@dataclass(frozen=True, slots=True)
class Limits:
    """When failing is a pattern."""

    runs: int = 10  # that failed
    share: float = 0.5  # of all runs of the name
    used: float = 3600.0  # GPU-seconds, 16 CPU-seconds for one, that the failed ones took


KIND: Final = Kind(
    "failing",
    "a user's job name that fails again and again",
    {
        "memory": Verdict(
            "warn",
            message("most of the failed runs ran out of memory: ask for more memory, or find out what uses the memory"),
        ),
        "failing": Verdict(
            "warn", message("read the output of a failed run before submitting again; try a small data set first")
        ),
    },
    {
        "runs": Number("runs with this name, however they ended"),
        "failed": Number("of these, runs that ended as FAILED or OUT_OF_MEMORY"),
        "share": Number("failed / runs", "share"),
        "out_of_memory": Number("of the failed runs, those that ended as OUT_OF_MEMORY"),
        "used": Number("used by the failed runs", "GPU-seconds"),
        "cpu_used": Number("used by the failed runs without GPUs", "CPU-seconds"),
        "completed_last": Number("when the last completed run ended", "epoch seconds"),
    },
)


def check(measure: Failing, limits: Limits) -> list[Finding]:
    """One finding of a name that fails often and costs something."""
    share = measure.failed / measure.runs
    if measure.failed < limits.runs or share < limits.share or measure.used.weight < limits.used:
        return []
    stake = Stake.both(measure.used)
    evidence: dict[str, float | None] = {
        "runs": measure.runs, "failed": measure.failed, "share": share, "out_of_memory": measure.out_of_memory,
        "used": stake.gpu_seconds, "cpu_used": stake.cpu_seconds, "completed_last": measure.completed_last or None,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, user=measure.user, name=measure.job_name)
    verdict = "memory" if 2 * measure.out_of_memory > measure.failed else "failing"
    command = f"adminkit report states --user {shlex.quote(measure.user)}"
    return [KIND.finding(verdict, subject, evidence, stake, command)]
