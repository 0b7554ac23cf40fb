"""Orders to put a job back so that it gives up its idle GPUs, and what becomes of them.

    RUNNING ─order─▶ RUNNING, el1:gpus=0 ─signal, 85, requeue (the plugin)─▶ held ─order off─▶ held, or released

A job that stays held is continued by its user: `scontrol release`. The checkpoint plugin signals the job as before its
limit, and puts it back held. A job that it cannot put back gets no signal: its order becomes void, and the next act
of the policy is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adminkit.elastic.words import MARGIN, Order, order_of, was_put_back, with_order
from adminkit.errors import AdminkitError
from adminkit.slurm import idle_acts
from adminkit.slurm.squeue import QueuedJob

#: Seconds for which an order holds: the plugin asks every 375 s at the latest, and the program has its lead to save.
REQUEUE: Final = 1800


def with_requeue(comment: str, until: int) -> str | None:
    """The comment with the order in it. None: there is another order, or no room."""
    return None if order_of(comment) is not None else with_order(comment, Order(0, until))


def settle(orders: Mapping[int, int], hold: bool, now: int) -> list[dict[str, Any]]:
    """Carry on what was ordered, by job id with `until`; the lines to record, one for each order that has ended."""
    there = idle_acts.now_of(list(orders))
    lines = []
    for job_id, until in orders.items():
        job = there.get(job_id)
        if job is None:
            lines.append(_line(job_id, None, "over", True))
            continue
        try:
            did = _settle(job, until, hold, now)
        except AdminkitError as error:
            lines.append(_line(job_id, job, "refused", False, error.message))
            continue
        if did:
            lines.append(_line(job_id, job, did, True))
    return lines


def _settle(job: QueuedJob, until: int, hold: bool, now: int) -> str:
    """What became of the order; "" where it is still open."""
    comment = job.admin_comment or ""
    order = order_of(comment)
    if order is not None and (order.gpus or order.until != until):
        return "void"  # somebody gave another
    if idle_acts.is_held(job) and was_put_back(comment, until - REQUEUE - MARGIN):
        _take_off(job, comment)  # before its release: its next run would obey it once more
        if not hold:
            idle_acts.release(job)
        return "held" if hold else "released"
    if order is None:
        return "void"  # somebody took it off
    if now < until + MARGIN:
        return ""
    _take_off(job, comment)
    return "void"


def _take_off(job: QueuedJob, comment: str) -> None:
    without = with_order(comment, None)
    if without is not None and without != comment:
        idle_acts.set_comment(job, without)


def _line(job_id: int, job: QueuedJob | None, did: str, held: bool, said: str = "") -> dict[str, Any]:
    return {
        "did": did, "job": job_id, "uid": None if job is None else job.uid, "user": None if job is None else job.user,
        "why": "order", "held": held, "said": said,
    }  # fmt: skip
