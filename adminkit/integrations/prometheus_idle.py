"""Running jobs that hold GPUs without using them, as metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from adminkit.integrations.prometheus import gauge
from adminkit.usage.held import Held

if TYPE_CHECKING:
    from prometheus_client.core import Metric


def idle_metrics(
    cluster: str, found: Sequence[Held], reached: Mapping[str, int] | None, least: int
) -> Iterator[Metric]:
    """Each metric. A queue of which no job is measured has no sample of use.

    `reached`: jobs by step of the ladder; None: not known here.
    """
    queues: dict[str, list[Held]] = {}
    why: dict[str, int] = {}
    for one in found:
        why[one.why or "measured"] = why.get(one.why or "measured", 0) + 1
        if one.measured:
            queues.setdefault(one.job.listed.queue or "", []).append(one)
    yield gauge("gpu_jobs", "Running jobs with GPUs, by why their use is not known: measured, where it is.",
        ("cluster", "why"), [((cluster, word), many) for word, many in sorted(why.items())])  # fmt: skip
    labels = ("cluster", "queue")
    keys = [((cluster, queue), jobs) for queue, jobs in sorted(queues.items())]
    yield gauge("measured_gpus", "GPUs of running jobs whose use is known.", labels,
        [(key, sum(one.job.gpus for one in jobs)) for key, jobs in keys])  # fmt: skip
    yield gauge("idle_gpus", "Those of these GPUs that were not used for ten minutes or more.", labels,
        [(key, sum(one.idle(least) for one in jobs)) for key, jobs in keys])  # fmt: skip
    yield gauge("idle_gpu_seconds", "GPU-seconds for which these have been held without use until now.", labels,
        [(key, 3600 * sum(one.idle_hours(least) or 0.0 for one in jobs)) for key, jobs in keys])  # fmt: skip
    if reached is not None and queues:
        yield gauge("idle_jobs", "Jobs with such GPUs, by the last step that was done about them.", ("cluster", "step"),
            [((cluster, step), many) for step, many in reached.items()])  # fmt: skip
