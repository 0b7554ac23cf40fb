"""What a source measured of the GPUs of running jobs: the one interface of all sources.

What is not measured is not idle: a job, or a GPU, of which a source has no `GpuUse` is not measured, and nobody makes
a zero of that. Shares are from 0 to 1, times are epoch seconds, durations are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adminkit.slurm.gpu_jobs import GpuJob


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """One GPU of a running job, or `gpus` of them on one node of which the source has only the sums.

    `last_used` is the latest time at which one of them may have been in use; None: none of them was since `since`.
    """

    node: str  # by Slurm's name, without a domain
    gpu: str  # the source's name of it, unique on its node: an index, a UUID; "": the sums of the job there
    gpus: int = 1
    since: int  # first reading that counts
    until: int  # last reading
    measured: float  # GPU-seconds between the two that readings stand for
    busy: float  # GPU-seconds in use: the share of use times the seconds for which each reading stands
    last_used: int | None
    use: float | None = None  # share of use at the last reading; None: not known

    @property
    def quiet(self) -> int:
        """Seconds up to the last reading in which no reading saw it in use."""
        return max(0, self.until - max(self.since, self.last_used or 0))

    @property
    def covered(self) -> float:
        """The share of the time between the first and the last reading that readings stand for; 0 without one."""
        span = (self.until - self.since) * self.gpus
        return min(1.0, self.measured / span) if span > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one source said. `uses`: by JobIDRaw; a job that is not there is not measured by this source."""

    source: str  # sampler, dcgm, jobstats, ceems, sstat
    at: int | None  # what the source's clock said; None: it has none of its own
    uses: Mapping[int, Sequence[GpuUse]]
    step: int = 0  # seconds by which the first and the last reading of a use may be later than they say
    notes: Sequence[str] = ()  # what could not be asked, one line each


#: ask(jobs, now, window): about these jobs at `now`, and at most the last `window` seconds. It raises nothing: a source
#: that is away answers with no uses and one note.
Source = Callable[[Sequence[GpuJob], int, int], Answer]
