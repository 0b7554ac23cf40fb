"""Users whose jobs hold GPUs that do nothing."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.efficiencies import Group


@dataclass(frozen=True, slots=True)
class Limits:
    """When idle GPUs are a habit."""

    runs: int = 5  # with idle GPUs
    share: float = 0.1  # of the user's GPU-seconds whose use is known
    idle: float = 10 * 3600.0  # GPU-seconds


KIND: Final = Kind(
    "idle_gpus",
    "a user whose jobs held GPUs that did nothing",
    {
        "idle": Verdict(
            "warn", message("check that the program finds its GPUs; a job that needs none should ask for none")
        )
    },
    {
        "runs": Number("runs with GPUs for which GPU use was measured"),
        "idle": Number("of these, runs whose GPUs were busy for less than 1 % of the time"),
        "idle_seconds": Number("held by the idle runs", "GPU-seconds"),
        "share": Number("idle_seconds / the GPU-seconds of all measured runs", "share"),
    },
)


def check(measure: Group, limits: Limits) -> list[Finding]:
    """One finding of a user who has enough of them; `measure` is about one user."""
    gpus = measure.uses["gpu"]
    share = measure.idle_seconds / gpus.reserved if gpus.reserved else 0.0
    few = measure.idle < limits.runs or measure.idle_seconds < limits.idle or share < limits.share
    if measure.value is None or few:
        return []
    evidence = {"runs": gpus.jobs, "idle": measure.idle, "idle_seconds": measure.idle_seconds, "share": share}
    subject = Subject(cluster=measure.cluster, user=measure.value)
    command = f"adminkit report efficiency --user {shlex.quote(measure.value)}"
    return [KIND.finding("idle", subject, evidence, Stake(measure.idle_seconds), command)]
