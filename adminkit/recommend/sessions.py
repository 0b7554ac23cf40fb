"""A limit for the next interactive server of a user, from their own servers of that size.

A person ends a server when they are done with it, mostly by cancelling its job. So a cancelled server had all the time
that it needed, unlike a cancelled batch job; one that its limit ended may have needed more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from adminkit.recommend.advice import walltime
from adminkit.recommend.menu import Offer
from adminkit.stats.runs import Kind, Run
from adminkit.trace.run_view import STUDY_MIN_ELAPSED

_CANCELLED: Final = "CANCELLED"


@dataclass(frozen=True, slots=True)
class Size:
    """What a server asks for. `queue` None: the default one, whichever that was; `most`: seconds, its longest limit."""

    queue: str | None
    cpus: int
    gpus: int
    most: int


def session_limit(runs: Iterable[Run], job_name: str, size: Size, offer: Offer) -> int | None:
    """Seconds, `most` at most; None where there are too few servers, or they needed longer.

    `runs` are one user's, by submission.
    """
    alike = [_as_ended(run) for run in runs if _is_session(run, job_name, size)]
    if not alike:
        return None
    kind = Kind(None, alike[-1].kind.user, job_name, size.queue, None, size.cpus, size.gpus)
    limit = walltime(alike, kind, offer, size.most).limit
    return None if limit is None or limit < 60 else limit // 60 * 60


def _is_session(run: Run, job_name: str, size: Size) -> bool:
    kind = run.kind
    return (
        kind.job_name == job_name
        and (size.queue is None or kind.queue == size.queue)
        and (kind.cpus, kind.gpus or 0) == (size.cpus, size.gpus)
        and run.elapsed > STUDY_MIN_ELAPSED  # else it never served anybody
    )


def _as_ended(run: Run) -> Run:
    """The run, said to have ended by itself where its user ended it."""
    kind = run.kind._replace(gpus=run.kind.gpus or 0)
    state = "COMPLETED" if (run.state or "").startswith(_CANCELLED) else run.state
    return replace(run, kind=kind, state=state)
