"""All sources, asked in the order of [usage] sources: each only about jobs that none before it measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from adminkit.sections import Usage
from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.usage import prometheus, sampler, sstat
from adminkit.usage.held import Held, held
from adminkit.usage.usage import Answer, Source


def sources(settings: Usage) -> Mapping[str, Source]:
    """By the name that [usage] sources has for it."""
    asked: dict[str, Source] = {
        name: partial(_prometheus, settings, exporter) for name, exporter in prometheus.EXPORTERS.items()
    }
    return {"sampler": sampler.ask, **asked, "sstat": sstat.ask}


def measure(settings: Usage, jobs: Sequence[GpuJob], now: int) -> tuple[list[Held], list[str]]:
    """What is known of each job, in their order, and what could not be asked, one line each."""
    there, answers, left = sources(settings), [], list(jobs)
    for name in settings.sources:
        if not left:
            break
        answers.append(there[name](left, now, settings.window))
        left = [one.job for one in held(left, answers, now, settings.fresh) if not one.measured]
    notes = [note for answer in answers for note in answer.notes]
    return held(jobs, answers, now, settings.fresh), list(dict.fromkeys(notes))


def _prometheus(
    settings: Usage, exporter: prometheus.Exporter, jobs: Sequence[GpuJob], now: int, window: int
) -> Answer:
    return prometheus.ask(settings, exporter, jobs, now, window)


#: What [usage] sources may name that needs [usage] prometheus.
BY_PROMETHEUS: Final = frozenset(prometheus.EXPORTERS)
