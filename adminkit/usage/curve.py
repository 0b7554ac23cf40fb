"""How busy the GPUs of one run were over its time, as the site's Prometheus has it: of a job that runs or has ended.

One range query for each exporter until one knows the run. A series counts only if it is of a node that the run had,
within the time of the run: another cluster, or an earlier job, may have had the same number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.sections import Usage
from adminkit.usage.http import post
from adminkit.usage.prometheus import EXPORTERS, Exporter, gpu_of, number

#: Points of a curve, at most.
POINTS: Final = 48
#: Seconds that a person waits for them, at most.
PATIENCE: Final = 5
#: Adminkit's own plugin, by node_exporter's textfile collector, where Prometheus renames the label `job`.
PLUGIN: Final = Exporter("plugin", "exported_job", "OVER(adminkit_gpu_use_ratio{exported_jobJOBS}[STEP])")


@dataclass(frozen=True, slots=True)
class Curve:
    """The use of one GPU: `values[i]` is the mean share, 0 to 1, of the `step` seconds that end at since + (i + 1) *
    step; None: no reading.
    """

    source: str
    node: str  # by Slurm's name, without a domain
    gpu: str
    since: int
    step: int
    values: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        """The mean of the parts that have readings."""
        known = [one for one in self.values if one is not None]
        return sum(known) / len(known) if known else None


def exporters(settings: Usage) -> list[Exporter]:
    """Those that are asked, in their order: what [usage] sources names, then the plugin's own files."""
    return [*(EXPORTERS[name] for name in settings.sources if name in EXPORTERS), PLUGIN]


def curves(settings: Usage, job_id: int, nodes: Collection[str], since: int, until: int) -> list[Curve]:
    """The curves of a run of [since, until) on these nodes; none where Prometheus has no readings of it.

    AdminkitError where there is no Prometheus, or it does not answer.
    """
    if settings.prometheus is None:
        raise AdminkitError("[usage] prometheus is not set")
    step = max(settings.step, math.ceil((until - since) / POINTS))
    count = max((until - since) // step, 1)
    patience = min(settings.timeout, PATIENCE)
    for exporter in exporters(settings):
        form = {
            "query": exporter.of("avg_over_time", step, f'="{job_id}"'),
            "start": str(since + step), "end": str(since + count * step), "step": f"{step}s",
            "timeout": f"{patience}s",
        }  # fmt: skip
        text = post(settings.prometheus, "/api/v1/query_range", form, patience)
        if found := parse(text, exporter, job_id, nodes, (since, step, count)):
            return found
    return []


def parse(
    text: str, exporter: Exporter, job_id: int, nodes: Collection[str], times: tuple[int, int, int]
) -> list[Curve]:
    """The curves in an answer, by node and GPU. `times`: the beginning, the seconds of a part, the number of parts.

    AdminkitError for what is not an answer. Two series of one GPU: neither counts.
    """
    since, step, count = times
    found: dict[tuple[str, str], tuple[float | None, ...]] = {}
    twice = set()
    for labels, points in _series(text):
        place = gpu_of(labels, exporter)
        if place is None or place[0] != job_id or place[1] not in nodes:
            continue
        if place[1:] in found:
            twice.add(place[1:])
        parts = [round((at - since) / step) - 1 for at, _ in points]
        known = dict(zip(parts, (value for _, value in points), strict=True))
        found[place[1:]] = tuple(known.get(part) for part in range(count))
    return [
        Curve(exporter.name, node, gpu, since, step, values)
        for (node, gpu), values in sorted(found.items())
        if (node, gpu) not in twice and any(value is not None for value in values)
    ]


def _series(text: str) -> list[tuple[Mapping[str, Any], Sequence[tuple[float, float | None]]]]:
    """(labels, (time, share) of each point) of each series; a share above 1 is a meter's rounding, and becomes 1."""
    try:
        answer = json.loads(text)
        if answer.get("status") != "success":
            raise AdminkitError(f"Prometheus refused the query: {str(answer.get('error', 'no reason'))[:200]}")
        data = answer["data"]
        if data["resultType"] != "matrix":
            raise ValueError("not a matrix")
        return [
            (dict(one["metric"]), [(float(at), _share(value)) for at, value in one["values"]]) for one in data["result"]
        ]
    except AdminkitError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise AdminkitError("couldn't read what Prometheus answered", "is [usage] prometheus right?") from error


def _share(text: object) -> float | None:
    value = number(text)
    return None if value is None else min(value, 1.0)
