"""The steps of a change, each of which can be the last: the order, and when the job waits held, its GPUs and its
release. The next run carries on what stands in the jobs themselves; it asks nothing of the one before.

    RUNNING ─order─▶ RUNNING ─signal, 85, requeue (the plugin)─▶ held ─GPUs, release, order off─▶ PENDING

A job whose new GPUs Slurm or the site's rules refuse is released with those it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from adminkit import actions
from adminkit.config import Elastic
from adminkit.elastic.plan import Look, keeps
from adminkit.elastic.words import MARGIN, Order, order_of, range_of, with_order
from adminkit.errors import AdminkitError
from adminkit.render.format import plural
from adminkit.slurm.elastic_jobs import OpenJob, open_job, release, set_comment, set_gpus

#: In the log of acts.
WHAT: Final = "elastic"

Did = Literal["ordered", "changed", "released", "void", "revoked", "refused"]


@dataclass(frozen=True, slots=True)
class Act:
    """What was done to one job; `text`: why, or what went wrong."""

    did: Did
    job: OpenJob
    gpus: int | None  # that it has, or is to have, after it
    text: str = ""


def order(look: Look, settings: Elastic, now: int, log: Path) -> Act:
    """Leave the order in the job, which is looked at again just before: it may have ended, or have another word."""
    assert look.to is not None
    job = open_job(look.job.job_id)
    if job is None:
        return Act("refused", look.job, None, "it is over")
    if why := keeps(job, settings, now) or outside(job, look.to):
        return Act("refused", job, job.gpus, why)
    comment = with_order(job.comment, Order(look.to, now + settings.patience))
    if comment is None:
        return Act("refused", job, job.gpus, "its AdminComment is full")
    return _recorded(log, lambda: set_comment(job.job_id, comment), Act("ordered", job, look.to, look.why))


def outside(job: OpenJob, gpus: int) -> str:
    least, most = range_of(job.comment) or (0, 0)
    if not least <= gpus <= most:
        return f"it opted in to {least} to {plural(most, 'GPU')}"
    return "it has as many" if job.gpus == gpus else ""


def settle(jobs: Sequence[OpenJob], now: int, between: int, log: Path) -> list[Act]:
    """Carry on what was begun: in every job with an order, whoever began it."""
    acts: list[Act] = []
    for job in jobs:
        found = order_of(job.comment)
        if found is None or range_of(job.comment) is None:
            continue
        if job.held_for_gpus:
            acts += _finish(job, found, log)
        elif job.state == "RUNNING" and job.gpus == found.gpus:  # it was released, and its word stayed
            acts += _take_off(job, Act("changed", job, job.gpus, "it runs"), log)
        elif now >= found.until + MARGIN + between:
            acts += _take_off(job, Act("void", job, job.gpus, "it did not answer"), log)
    return acts


def _finish(job: OpenJob, found: Order, log: Path) -> list[Act]:
    """The held job's GPUs, its release, its comment: cut off between two of them, the next run goes on with it."""
    acts, gpus = [], job.gpus
    if job.gpus != found.gpus:
        was = job.gpus
        changed = Act("changed", job, found.gpus, f"from {was}")
        acts.append(_recorded(log, lambda: set_gpus(job, found.gpus), changed))
        gpus = found.gpus if acts[-1].did == "changed" else was
    acts.append(_recorded(log, lambda: release(job.job_id), Act("released", job, gpus)))
    if acts[-1].did == "released":
        acts += _take_off(job, None, log)
    return acts


def _take_off(job: OpenJob, act: Act | None, log: Path) -> list[Act]:
    """The order out of the comment as it is now; `act` None: that is the end of another act, which is recorded."""
    now = open_job(job.job_id)
    comment = None if now is None else with_order(now.comment, None)
    if now is None or comment is None or comment == now.comment:
        return []
    if act is not None:
        return [_recorded(log, lambda: set_comment(job.job_id, comment), act)]
    try:
        set_comment(job.job_id, comment)
    except AdminkitError as error:
        return [Act("refused", job, job.gpus, error.message)]
    return []


def revoke(job: OpenJob, log: Path) -> list[Act]:
    """Take an order back: a job that runs keeps its GPUs, one that is held already is released with them."""
    if order_of(job.comment) is None:
        return [Act("refused", job, job.gpus, "it has no order")]
    if job.held_for_gpus:
        freed = _recorded(log, lambda: release(job.job_id), Act("released", job, job.gpus, "revoked"))
        return [freed, *(_take_off(job, None, log) if freed.did == "released" else [])]
    return _take_off(job, Act("revoked", job, job.gpus), log)


def _recorded(log: Path, do: Callable[[], None], act: Act) -> Act:
    """Do it, and write it down with what came of it. What cannot be written down is not done."""
    actions.check(log)
    try:
        do()
    except AdminkitError as error:
        act = Act("refused", act.job, act.job.gpus, error.message)
    job = act.job
    more = {"did": act.did, "job": job.job_id, "user": job.user, "gpus": act.gpus, "had": job.gpus, "why": act.text}
    actions.append(log, actions.act(WHAT, None, None, {}, **more))
    return act
