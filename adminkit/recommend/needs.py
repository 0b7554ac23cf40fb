"""How long jobs like it needed, for backfill to plan with: quantiles of the same curves from which hints are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.recommend.curve import Curve

#: Percent of similar runs that needed no more, in the order of a row.
QUANTILES: Final = (50, 75, 90)


@dataclass(frozen=True, slots=True)
class Need:
    """`job_name` "" stands for runs without a name, `queue` "" for every queue. `seconds`: one for each of QUANTILES.

    `last` is the submission of the newest run, epoch seconds.
    """

    cluster: str
    uid: int
    user: str
    job_name: str
    queue: str
    seconds: tuple[int, ...]
    last: int


def quantiles(curve: Curve) -> tuple[int, ...] | None:
    """Seconds for each of QUANTILES; None where the curve shows not even the first: too few runs ended by themselves.

    A quantile that no run shows is the longest need that one does, stretched as a safe limit would be: a soft limit may
    be too long, which costs a start that could have been sooner, rather than too short, which delays others.
    """
    if curve.limit(_risk(QUANTILES[0])) is None:
        return None
    found = []
    for percent in QUANTILES:
        need = curve.limit(_risk(percent))
        found.append(round(curve.beyond(_risk(percent))) if need is None else need)
    return tuple(found)


def newest(needs: Iterable[Need], most: int) -> Sequence[Need]:
    """The `most` entries of which a run was submitted last."""
    return sorted(needs, key=lambda one: (-one.last, one.uid, one.job_name, one.queue))[:most]


def _risk(percent: int) -> float:
    return (100 - percent) / 100
