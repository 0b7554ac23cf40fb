"""Whether the limits of QOS and associations let a running job have more GPUs: else it would wait for them."""

from __future__ import annotations

from adminkit.errors import AdminkitError
from adminkit.fit.ask import limits_of
from adminkit.fit.limits import by_limits
from adminkit.fit.place import Board
from adminkit.fit.request import Request
from adminkit.fit.timeline import NEVER, Need
from adminkit.slurm.elastic_jobs import OpenJob
from adminkit.slurm.will_run import user_of


def forbidden(board: Board, job: OpenJob, to: int) -> str:
    """Why the job may not have `to` GPUs; "" where it may. What is not known forbids it."""
    queue = board.room.queue(job.queue)
    more, seconds = to - (job.gpus or 0), job.time_limit or NEVER // 2
    request = Request(job.queue, 1, None, more, job.gpu_type, None, job.account or None, job.qos or None)
    try:
        bounds = limits_of(user_of(job.user), request, None if queue is None else queue.qos)
    except AdminkitError as error:
        return f"its limits are not known: {error.message}"
    beside = by_limits(bounds, Need(0, 0, more, job.gpu_type, seconds))  # beside what it has
    alone = by_limits(bounds, Need(0, 0, to, job.gpu_type, seconds))
    if beside.word != "now":
        return beside.text
    return alone.text if alone.word == "never" else ""
