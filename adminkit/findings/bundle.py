"""Users whose jobs of several GPUs run single-GPU work side by side."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.bundles import Bundler


@dataclass(frozen=True, slots=True)
class Limits:
    """When bundling is a habit."""

    bundles: int = 5
    gpu_seconds: float = 10 * 3600.0  # of the bundles


KIND: Final = Kind(
    "bundle",
    "a user whose jobs on several GPUs only look parallel",
    {
        "bundle": Verdict(
            "warn",
            message("submit the tasks as an array of single-GPU jobs: each job starts as soon as one GPU is free"),
        )
    },
    {
        "runs": Number("runs on several GPUs or nodes"),
        "bundles": Number("how many of these runs were bundles of independent single-GPU tasks"),
        "gpu_seconds": Number("held by the bundles", "GPU-seconds"),
    },
)


def check(measure: Bundler, limits: Limits) -> list[Finding]:
    """One finding of a user with enough bundles."""
    if measure.bundles < limits.bundles or measure.gpu_seconds < limits.gpu_seconds:
        return []
    evidence = {"runs": measure.runs, "bundles": measure.bundles, "gpu_seconds": measure.gpu_seconds}
    subject = Subject(cluster=measure.cluster, user=measure.user)
    command = f"adminkit report parallelism --user {shlex.quote(measure.user)}"
    return [KIND.finding("bundle", subject, evidence, Stake(measure.gpu_seconds), command)]
