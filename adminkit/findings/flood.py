"""Users who submit very many jobs one by one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.failing import Flood


@dataclass(frozen=True, slots=True)
class Limits:
    """What an hour's flood is."""

    jobs: int = 500  # in one hour; an array is one


KIND: Final = Kind(
    "flood",
    "a user who submits very many jobs one by one",
    {
        "flood": Verdict(
            "warn",
            message("submit an array, or put several short tasks into one job: the scheduler has to look at each job"),
        )
    },
    {
        "hours": Number("hours in which the user submitted 500 jobs or more"),
        "most": Number("jobs in the busiest of these hours; tasks of an array are not counted"),
        "jobs": Number("jobs in all of these hours"),
        "elapsed": Number("the mean run time of these jobs", "seconds"),
    },
)


def check(measure: Flood, limits: Limits) -> list[Finding]:
    """One finding of a user with such an hour."""
    if measure.most < limits.jobs:
        return []
    evidence = {
        "hours": measure.hours, "most": measure.most, "jobs": measure.jobs, "elapsed": measure.elapsed / measure.jobs,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, user=measure.user)
    return [
        KIND.finding("flood", subject, evidence, command=f"adminkit report arrivals --user {shlex.quote(measure.user)}")
    ]
