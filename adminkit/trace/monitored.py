"""What monitoring left of a run's GPUs in its AdminComment: Jobstats' summary, else the words of the plugin
adminkit_gpu_use.
"""

from __future__ import annotations

from functools import lru_cache

from adminkit.trace.gpu_use_word import NodeUse, gpu_use_of
from adminkit.trace.jobstats import jobstats_gpu, jobstats_gpu_memory


def monitored_gpu(comment: str | None, start: int | None) -> float | None:
    """The mean share of the time that its GPUs were in use, of those that were measured; None: nothing was."""
    told = jobstats_gpu(comment)
    words = _words(comment, start)
    if told is not None or not words:
        return told
    return sum(one.busy for one in words) / sum(one.seconds for one in words)


def monitored_gpu_memory(comment: str | None, start: int | None) -> tuple[float, float] | None:
    """The memory of the GPUs that were measured, used and there, bytes; None: it is not known of all of these."""
    told = jobstats_gpu_memory(comment)
    words = _words(comment, start)
    if told is not None or not words:
        return told
    used = there = 0
    for one in words:
        if one.memory is None or not one.memory_there:
            return None
        used, there = used + one.memory, there + one.memory_there
    return (used, there) if used <= there else None


@lru_cache(1)  # a comment is read as often as it is asked for something
def _words(comment: str | None, start: int | None) -> list[NodeUse]:
    return gpu_use_of(comment, start)
