"""The running jobs with GPUs of this host's cluster, measured to be shown: metrics, the page of all reports, `my`.

Nothing is done by it, so a reading counts that is some minutes older than one that a round would act on: the plugin
writes its word every ten minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from adminkit.sections import Usage
from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.usage.held import Held
from adminkit.usage.sources import measure

#: Seconds after which a reading says nothing of now: a `report` of the plugin, and half of one.
_FRESH: Final = 900


def measure_to_show(settings: Usage, jobs: Sequence[GpuJob], now: int) -> tuple[list[Held], list[str]]:
    """What is known of each job, in their order, and what could not be asked, one line each."""
    return measure(replace(settings, fresh=max(settings.fresh, _FRESH)), jobs, now)
