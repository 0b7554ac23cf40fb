"""What a run used of what it had: CPUs, memory, GPUs. The one home of these shares; letters, points and `my` read it.

- CPUs: the CPU time of all its steps over elapsed × CPUs.
- Memory: the most that steps which ran at one time used together, each by the sum of its tasks' peaks. The peak of the
  largest task (MaxRSS) times the tasks is not that, and of a run without such sums it is the run's only where it
  had one task.
- GPUs: what the monitoring of the site wrote into AdminComment (Jobstats), else what Slurm's own plugin measured.

None is unknown, and nothing is made up for it.
"""

from __future__ import annotations

import binascii
import json
import math
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.stats.sources import STEP_OF_RUN

#: SQL over a row of the view run: the share of its CPUs that were busy, NULL where it is unknown.
CPU_SHARE: Final = "cpu_time / nullif(elapsed * size_cpus, 0)"
_STEPS: Final = f"""
SELECT step.start_time, step.end_time, step.tasks, step.mem_used, step.max_rss,
    step.gpus_used, step.elapsed
FROM run JOIN step ON {STEP_OF_RUN}
WHERE run.cluster = ? AND run.job_id_raw = ? AND run.submit_time = ?
"""
#: How Jobstats begins its part of AdminComment.
_JOBSTATS: Final = "JS1:"
#: Bytes of a summary, unpacked: what comes from outside is not let grow without end.
_MOST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Step:
    """What a step tells of its run's use."""

    start_time: int | None
    end_time: int | None
    tasks: int | None
    mem_used: int | None  # bytes, the peaks of all its tasks
    max_rss: int | None  # bytes, the largest peak of any task
    gpus_used: float | None
    elapsed: int | None


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Shares of what was allocated: 0.5 is half of it. Memory may be above 1."""

    cpu: float | None
    mem: float | None
    gpu: float | None
    mem_used: int | None  # bytes


def efficiency(
    elapsed: int | None,
    cpus: int | None,
    mem: int | None,
    gpus: int | None,
    cpu_time: float | None,
    steps: Sequence[Step] = (),
    admin_comment: str | None = None,
) -> Efficiency:
    """Of one run: elapsed in seconds, memory in bytes, and `gpus` as allocated."""
    used = memory(steps)
    return Efficiency(
        cpu_share(cpu_time, elapsed, cpus),
        used / mem if used is not None and mem else None,
        gpu_share(gpus, elapsed, steps, admin_comment) if gpus else None,
        used,
    )


def cpu_share(cpu_time: float | None, elapsed: int | None, cpus: int | None) -> float | None:
    """CPU_SHARE, of values."""
    return cpu_time / (elapsed * cpus) if cpu_time is not None and elapsed and cpus else None


def memory(steps: Sequence[Step]) -> int | None:
    """The most that steps used together; None where none of them says.

    A step without a start or an end counts as if it had lasted as long as the run.
    """
    known = [(one, used) for one in steps if (used := _of_step(one)) is not None]
    if not known:
        return None
    changes: list[tuple[float, int]] = []
    for one, used in known:
        start = -math.inf if one.start_time is None else one.start_time
        changes.append((start, used))
        if one.start_time is not None and one.end_time is not None:
            changes.append((max(one.end_time, one.start_time + 1), -used))
    most = now = 0
    for _, change in sorted(changes):  # at one moment ends come before starts
        now += change
        most = max(most, now)
    return most


def gpu_share(gpus: int, elapsed: int | None, steps: Sequence[Step], admin_comment: str | None) -> float | None:
    """The share of its GPUs that were busy, over all of its time."""
    told = jobstats_gpu(admin_comment)
    if told is not None:
        return told
    busy = [one.gpus_used * (one.elapsed or 0) for one in steps if one.gpus_used is not None]
    return sum(busy) / (elapsed * gpus) if busy and elapsed else None


def jobstats_gpu(admin_comment: str | None) -> float | None:
    """The mean use of all GPUs in the summary that Jobstats left; None where there is none that can be read."""
    place = (admin_comment or "").find(_JOBSTATS)
    if place < 0:
        return None
    word = (admin_comment or "")[place + len(_JOBSTATS) :].split(" ", 1)[0]
    try:
        packed = binascii.a2b_base64(word, strict_mode=True)
        inflate = zlib.decompressobj(wbits=31)
        text = inflate.decompress(packed, _MOST)
        nodes = json.loads(text)["nodes"] if not inflate.unconsumed_tail else {}
        shares = [float(one) / 100 for node in nodes.values() for one in node.get("gpu_utilization", {}).values()]
    except (ValueError, zlib.error, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    if not shares or not all(0 <= one <= 1 for one in shares):
        return None
    return sum(shares) / len(shares)


def steps_of(db: sqlite3.Connection, cluster: str, job_id_raw: int, submit_time: int) -> list[Step]:
    """The steps of one run."""
    return [Step(*row) for row in db.execute(_STEPS, (cluster, job_id_raw, submit_time))]


def _of_step(one: Step) -> int | None:
    if one.mem_used is not None:
        return one.mem_used
    return one.max_rss if one.tasks == 1 else None
