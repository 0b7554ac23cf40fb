"""What a run used of what it had: CPUs, memory, GPUs. The one home of these shares; letters, points and `my` read it.

- CPUs: the CPU time of all its steps over elapsed × CPUs.
- Memory: as memory.py has it.
- GPUs: what the monitoring of the site wrote into AdminComment (Jobstats), else what Slurm's own plugin measured.

None is unknown, and nothing is made up for it.
"""

from __future__ import annotations

import binascii
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.memory import Step, memory, memory_functions
from adminkit.stats.sources import STEP_OF_RUN

#: SQL over a row of the view run: the share of its CPUs that were busy, NULL where it is unknown.
CPU_SHARE: Final = "cpu_time / nullif(elapsed * size_cpus, 0)"
#: SQL: whether the trace has any step. SQLite asks this once; without steps it looks for those of no run.
_STEPS_KNOWN: Final = "EXISTS (SELECT 1 FROM step)"
#: SQL over a row of the view run: GPU-seconds that Slurm's plugin saw busy, NULL where it saw nothing.
GPU_SECONDS: Final = f"""CASE WHEN {_STEPS_KNOWN} THEN (SELECT sum(step.gpus_used * coalesce(step.elapsed, 0))
    FROM step WHERE {STEP_OF_RUN} AND step.gpus_used IS NOT NULL) END"""
#: The same, where sql_functions() was called: the share of GPUs, and the bytes used and there, of what Jobstats says.
JOBSTATS: Final = tuple(
    f"CASE WHEN instr(admin_comment, 'JS1:') > 0 THEN {name}(admin_comment) END"
    for name in ("jobstats_gpu", "jobstats_gpu_used", "jobstats_gpu_there")
)
#: How Jobstats begins its part of AdminComment.
_JOBSTATS: Final = "JS1:"
#: Bytes of a summary, unpacked: what comes from outside is not let grow without end.
_MOST: Final = 1 << 20
#: Bytes of one GPU's memory: a larger number is not believed.
_MOST_MEMORY: Final = 1 << 50


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
    gpus: float | None,
    cpu_time: float | None,
    steps: Sequence[Step] = (),
    admin_comment: str | None = None,
    nodes: int | None = None,
    gpu_kind: str | None = "whole",
) -> Efficiency:
    """What one run had and used: elapsed in seconds, memory in bytes, `gpus` and `nodes` as allocated."""
    used = memory(steps, nodes)
    return Efficiency(
        cpu_share(cpu_time, elapsed, cpus),
        used / mem if used is not None and mem else None,
        gpu_share(gpus, elapsed, steps, admin_comment, gpu_kind),
        used,
    )


def cpu_share(cpu_time: float | None, elapsed: int | None, cpus: int | None) -> float | None:
    """CPU_SHARE, of values."""
    return cpu_time / (elapsed * cpus) if cpu_time is not None and elapsed and cpus else None


def gpu_share(
    gpus: float | None,
    elapsed: int | None,
    steps: Sequence[Step],
    admin_comment: str | None,
    gpu_kind: str | None = "whole",
) -> float | None:
    """The share of its GPUs that were busy, over all of its time. Trap: Slurm's plugin measures whole GPUs."""
    if not gpus:
        return None
    told = jobstats_gpu(admin_comment)
    if told is not None or gpu_kind != "whole":
        return told
    busy = [one.gpus_used * (one.elapsed or 0) for one in steps if one.gpus_used is not None]
    return sum(busy) / (elapsed * gpus) if busy and elapsed else None


def jobstats_gpu(admin_comment: str | None) -> float | None:
    """The mean use of all GPUs in the summary that Jobstats left; None where there is none that can be read."""
    shares = [one / 100 for one in _values(_summary(admin_comment), "gpu_utilization")]
    if not shares or not all(0 <= one <= 1 for one in shares):
        return None
    return sum(shares) / len(shares)


def jobstats_gpu_memory(admin_comment: str | None) -> tuple[float, float] | None:
    """The memory of all GPUs in the same summary, used and there, bytes; None where it does not say."""
    nodes = _summary(admin_comment)
    used, there = _values(nodes, "gpu_used_memory"), _values(nodes, "gpu_total_memory")
    if not there or len(used) != len(there):
        return None
    if not all(0 <= one <= most < _MOST_MEMORY for one, most in zip(used, there, strict=True)):
        return None
    return (sum(used), sum(there)) if sum(there) else None


def sql_functions(db: sqlite3.Connection) -> None:
    """Let SQL of this connection compute JOBSTATS, and what memory.py has."""
    memory_functions(db)
    db.create_function("jobstats_gpu", 1, jobstats_gpu)
    for place, name in enumerate(("jobstats_gpu_used", "jobstats_gpu_there")):
        db.create_function(name, 1, lambda text, place=place: (jobstats_gpu_memory(text) or (None, None))[place])


@lru_cache(1)  # a comment is read as often as it is asked for something
def _summary(admin_comment: str | None) -> list[dict[str, Any]]:
    """What Jobstats says of each node. Whatever cannot be read is nothing: anybody may have written it."""
    place = (admin_comment or "").find(_JOBSTATS)
    if place < 0:
        return []
    word = (admin_comment or "")[place + len(_JOBSTATS) :].split(" ", 1)[0]
    try:
        packed = binascii.a2b_base64(word, strict_mode=True)
        inflate = zlib.decompressobj(wbits=31)
        text = inflate.decompress(packed, _MOST)
        nodes = json.loads(text)["nodes"] if not inflate.unconsumed_tail else {}
        return [node for node in nodes.values() if isinstance(node, dict)]
    except (ValueError, zlib.error, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _values(nodes: Sequence[dict[str, Any]], key: str) -> list[float]:
    """The numbers under `key` of every GPU of every node, by node and GPU; none where one is not a number."""
    try:
        return [float(one) for node in nodes for _, one in sorted(node.get(key, {}).items())]
    except (ValueError, TypeError, AttributeError, OverflowError):
        return []
