"""Container images that are started again and again for runs that hardly last longer than the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.images import Image


@dataclass(frozen=True, slots=True)
class Limits:
    """When an image is worth a word."""

    starts: int = 1000  # on each node of each run once
    short: int = 600  # seconds: the longest run that counts as short
    share: float = 0.5  # of the runs are short


KIND: Final = Kind(
    "images",
    "container images of one kind that are read again and again by short runs",
    {
        "again": Verdict(
            "warn",
            message(
                "copy the image to the nodes once, or combine several short runs into one job: each run reads the image"
                " again"
            ),
        )
    },
    {
        "runs": Number("runs with an image of this kind"),
        "starts": Number(
            "the nodes of these runs, added up: each node reads the image for each run, unless it keeps a copy"
        ),
        "users": Number("users of these runs"),
        "short": Number("how many of these runs lasted at most ten minutes"),
        "share": Number("short / runs", "share"),
        "elapsed": Number("the mean run time of these runs", "seconds"),
    },
)


def check(measure: Image, limits: Limits) -> list[Finding]:
    """One finding of an image that many short runs start."""
    share = measure.short / measure.runs
    if measure.starts < limits.starts or share < limits.share:
        return []
    evidence = {
        "runs": measure.runs, "starts": measure.starts, "users": measure.users, "short": measure.short, "share": share,
        "elapsed": measure.elapsed / measure.runs,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, name=measure.container)
    return [KIND.finding("again", subject, evidence, command="adminkit report frameworks --by container")]
