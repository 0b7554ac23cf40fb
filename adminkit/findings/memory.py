"""Users whose jobs ask for much more memory than they use."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.efficiencies import NODE_MEM, Group


@dataclass(frozen=True, slots=True)
class Limits:
    """When memory is over-asked."""

    runs: int = 20
    share: float = 0.25  # of what was asked for, over all runs
    most: float = 0.5  # of what was asked for, that nine runs in ten stay below
    unused: float = 1e12 * 24 * 3600  # byte-seconds: a terabyte for a day


KIND: Final = Kind(
    "memory",
    "a user whose jobs ask for much more memory than they use",
    {
        "over_asked": Verdict(
            "warn",
            message("ask for less memory: memory that a job reserves but does not use keeps other jobs off its node"),
        )
    },
    {
        "runs": Number("runs whose peak memory on the fullest node is known"),
        "share": Number("that peak / the memory asked for on a node, each × run time, summed over all runs", "share"),
        "median": Number("the median of the runs' shares", "share"),
        "p90": Number("the share below which nine runs in ten stay", "share"),
        "unused": Number("memory that was asked for and not used", "byte-seconds"),
    },
)


def check(measure: Group, limits: Limits) -> list[Finding]:
    """One finding of a user whose runs nearly all use little; `measure` is about one user."""
    use = measure.uses[NODE_MEM]
    spread, unused = use.spread, use.reserved - use.used
    if measure.value is None or spread is None or use.share is None or use.jobs < limits.runs:
        return []
    if use.share >= limits.share or spread.p90 >= limits.most or unused < limits.unused:
        return []
    evidence = {
        "runs": use.jobs, "share": use.share, "median": spread.median, "p90": spread.p90, "unused": unused,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, user=measure.value)
    command = f"adminkit recommend memory --user {shlex.quote(measure.value)}"
    return [KIND.finding("over_asked", subject, evidence, command=command)]
