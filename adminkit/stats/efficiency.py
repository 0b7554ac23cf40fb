"""What a run used of what it had: CPUs, memory, GPUs. The one home of these shares; letters, points and `my` read it.

- CPUs: the CPU time of all its steps over elapsed × CPUs.
- Memory: as trace/step_memory.py has it.
- GPUs: what the site's monitoring wrote into AdminComment (trace/monitored.py), else what Slurm's own plugin
  measured.

None is unknown, and nothing is made up for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.trace.monitored import monitored_gpu
from adminkit.trace.step_memory import Step, memory

#: SQL over a row of the view run: the share of its CPUs that were busy, NULL where it is unknown.
CPU_SHARE: Final = "cpu_time / nullif(elapsed * size_cpus, 0)"


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
    *,
    start: int | None,
) -> Efficiency:
    """What one run had and used: elapsed in seconds, memory in bytes, `gpus` and `nodes` as allocated.

    `start`, epoch seconds, tells what monitoring left of this run from what it left of an earlier one; None: unknown.
    """
    used = memory(steps, nodes)
    return Efficiency(
        cpu_share(cpu_time, elapsed, cpus),
        used / mem if used is not None and mem else None,
        gpu_share(gpus, elapsed, steps, admin_comment, gpu_kind, start=start),
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
    *,
    start: int | None,
) -> float | None:
    """The share of its GPUs that were busy, over all of its time. Trap: Slurm's plugin measures whole GPUs."""
    if not gpus:
        return None
    told = monitored_gpu(admin_comment, start)
    if told is not None or gpu_kind != "whole":
        return told
    busy = [one.gpus_used * (one.elapsed or 0) for one in steps if one.gpus_used is not None]
    return sum(busy) / (elapsed * gpus) if busy and elapsed else None
