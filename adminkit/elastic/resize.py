"""The steps of a change, each of which can be the last: the order, and when the job waits held, its GPUs and its
release. The next run carries on what stands in the jobs themselves; it asks nothing of the one before.

    RUNNING ─order─▶ RUNNING ─signal, 85, requeue (the plugin)─▶ held ─GPUs, release, order off─▶ PENDING

A job whose new GPUs Slurm or the site's rules refuse is released with those it had. The range in the record was right
for the job of its submission, so the rules are asked again about the job as it is: before the order, before its GPUs
are changed, and after it. Only a job that the plugin put back after the order is released: others are held by somebody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from adminkit import actions
from adminkit.elastic.plan import Look, held_by_others, keeps
from adminkit.elastic.words import MARGIN, Order, order_of, range_of, with_order
from adminkit.errors import AdminkitError
from adminkit.render.format import plural
from adminkit.sections import Elastic
from adminkit.slurm.elastic_jobs import OpenJob, open_job, release, set_comment, set_gpus

#: In the action log.
WHAT: Final = "elastic"

Did = Literal["ordered", "changed", "released", "void", "revoked", "held", "refused"]
#: Why today's rules forbid a job this number of GPUs; "" where they do not.
Ruled = Callable[[OpenJob, int], str]


@dataclass(frozen=True, slots=True)
class Act:
    """What was done to one job; `text`: why, or what went wrong."""

    did: Did
    job: OpenJob
    gpus: int | None  # that it has, or is to have, after it
    text: str = ""


def order(look: Look, settings: Elastic, now: int, log: Path, ruled: Ruled) -> Act:
    """Leave the order in the job, which is looked at again just before: it may have ended, have another word, or be
    in another queue. What cannot be done to it is said.
    """
    actions.check(log)
    try:
        return _order(look, settings, now, log, ruled)
    except AdminkitError as error:
        return Act("refused", look.job, look.job.gpus, error.message)


def _order(look: Look, settings: Elastic, now: int, log: Path, ruled: Ruled) -> Act:
    assert look.to is not None
    job = open_job(look.job.job_id)
    if job is None:
        return Act("refused", look.job, None, "it is over")
    if why := keeps(job, settings, now) or outside(job, look.to) or ruled(job, look.to):
        return Act("refused", job, job.gpus, why)
    comment = with_order(job.comment, Order(look.to, now + settings.patience))
    if comment is None:
        return Act("refused", job, job.gpus, "its AdminComment is full")
    return _recorded(log, lambda: _note(job, comment), Act("ordered", job, look.to, look.why))


def outside(job: OpenJob, gpus: int) -> str:
    least, most = range_of(job.comment) or (0, 0)
    if not least <= gpus <= most:
        return f"it opted in to {least} to {plural(most, 'GPU')}"
    return "it already has that many" if job.gpus == gpus else ""


def settle(jobs: Sequence[OpenJob], now: int, settings: Elastic, log: Path, ruled: Ruled) -> list[Act]:
    """Carry on what was begun: in every job with an order, whoever began it. A job to which that cannot be done is
    said, and keeps no other one waiting.
    """
    acts: list[Act] = []
    for job in jobs:
        found = order_of(job.comment)
        if found is None or not found.gpus or range_of(job.comment) is None:  # of no GPUs: `adminkit idle` ordered it
            continue
        actions.check(log)
        try:
            _settle(job, found, now, settings, log, ruled, acts)
        except AdminkitError as error:
            acts.append(Act("refused", job, job.gpus, error.message))
    return acts


def _settle(job: OpenJob, found: Order, now: int, settings: Elastic, log: Path, ruled: Ruled, acts: list[Act]) -> None:
    if job.odd:
        acts.append(Act("refused", job, None, job.odd))
    elif job.held_for_gpus and (why := held_by_others(job, settings)):
        acts.append(Act("held", job, job.gpus, why))
    elif job.held_for_gpus:
        _finish(job, found, log, ruled, acts)
    elif job.state == "RUNNING" and job.gpus == found.gpus:  # it was released, and its word stayed
        _take_off(job, Act("changed", job, job.gpus, "it runs"), log, acts)
    elif now >= found.until + MARGIN + settings.between:
        _take_off(job, Act("void", job, job.gpus, "it did not respond"), log, acts)


def _finish(job: OpenJob, found: Order, log: Path, ruled: Ruled, acts: list[Act]) -> None:
    """Set the held job's GPUs, release it, write its comment: the next run resumes where this one was cut off."""
    gpus = job.gpus
    if job.gpus != found.gpus:
        changed = Act("changed", job, found.gpus, f"from {job.gpus}")
        acts.append(_recorded(log, lambda: _give(job, found.gpus, ruled), changed))
        gpus = found.gpus if acts[-1].did == "changed" else job.gpus
    acts.append(_recorded(log, lambda: release(job.job_id), Act("released", job, gpus)))
    if acts[-1].did == "released":
        _take_off(job, None, log, acts)


def _give(job: OpenJob, gpus: int, ruled: Ruled) -> None:
    """Its new GPUs. Its owner may move it to another queue at any time, so the rules are asked before and after it."""
    if job.gpus is None:
        raise AdminkitError("its GPUs are no longer requested with --gres=gpu:N or --gpus-per-node=N on one node")
    if why := outside(job, gpus) or ruled(job, gpus):
        raise AdminkitError(why)
    after = set_gpus(job, gpus)
    if why := ruled(replace(after, tres=job.tres), gpus):
        set_gpus(after, job.gpus)
        raise AdminkitError(why)


def _take_off(job: OpenJob, act: Act | None, log: Path, acts: list[Act]) -> None:
    """The order out of the comment as it is now; `act` None: that is the end of another act, which is recorded."""
    now = open_job(job.job_id)
    if now is None:
        raise AdminkitError("couldn't clear its order: slurmctld no longer lists the job")
    if act is None and now.held_for_gpus:
        raise AdminkitError("slurmctld accepted its release, but still holds it")
    comment = with_order(now.comment, None)
    if comment is None or comment == now.comment:
        return
    if act is not None:
        acts.append(_recorded(log, lambda: _note(job, comment), act))
    else:
        _note(job, comment)


def _note(job: OpenJob, comment: str) -> None:
    """The comment, of which the order has to be there afterwards: exit code 0 says only that slurmctld was asked."""
    set_comment(job.job_id, comment)
    after = open_job(job.job_id)
    if after is not None and order_of(after.comment) != order_of(comment):
        raise AdminkitError(
            f"slurmctld accepted an AdminComment for job {job.job_id}, but the job has another order",
            "scontrol show job says more",
        )


def revoke(job: OpenJob, settings: Elastic, log: Path) -> list[Act]:
    """Take an order back: a job that runs keeps its GPUs, one that its order put back is released with them."""
    if order_of(job.comment) is None:
        return [Act("refused", job, job.gpus, "it has no order")]
    acts: list[Act] = []
    actions.check(log)
    try:
        if job.held_for_gpus and not held_by_others(job, settings):
            acts.append(_recorded(log, lambda: release(job.job_id), Act("released", job, job.gpus, "revoked")))
            if acts[-1].did == "released":
                _take_off(job, None, log, acts)
        else:
            _take_off(job, Act("revoked", job, job.gpus), log, acts)
    except AdminkitError as error:
        acts.append(Act("refused", job, job.gpus, error.message))
    return acts


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
