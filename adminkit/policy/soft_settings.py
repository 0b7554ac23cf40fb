"""[soft_limits] of policy.toml: which jobs backfill plans by need, and by which number. See docs/soft-limits.md."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from adminkit.job import CLASSES
from adminkit.policy.durations import Seconds
from adminkit.recommend.needs import QUANTILES, Cautions

#: What a user sets to `off` for a job that is to be planned by its limit.
VARIABLE: Final = "ADMINKIT_PLAN"

JobClass = Literal["cpu", "single-gpu", "multi-gpu", "multi-node"]
Quantile = Literal[50, 75, 90]
assert get_args(JobClass) == CLASSES
assert get_args(Quantile) == QUANTILES


class SoftLimits(BaseModel):
    """Off unless it is turned on. The defaults are measured: docs/soft-limits.md has the frontier."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    queues: tuple[str, ...] = ()  # empty: every queue
    quantile: Quantile = 90  # percent of similar jobs that needed no more
    least: Annotated[Seconds, Field(ge=60, multiple_of=60)] = 600  # no soft limit is shorter
    gap: Annotated[Seconds, Field(ge=60)] = 1800  # a soft limit less than so far below the limit is not worth it
    longest: Annotated[Seconds, Field(ge=60)] = 3600  # none where one of ten similar jobs needs more
    outlived: Annotated[int, Field(ge=1, le=100)] = 40  # percent of a user's runs: above it a higher quantile is taken
    wide: Annotated[int, Field(ge=0, le=100)] = 100  # percent of a queue's nodes: none while such a job waits; 0: never
    users_off: tuple[str, ...] = ()
    accounts_off: tuple[str, ...] = ()
    classes_off: tuple[JobClass, ...] = ()
    preemptible: bool = False  # jobs that others may preempt
    arrays: bool = False  # whose tasks Slurm may cut: the guard raises them again
    typed: bool = False  # whether the user's own --time-min counts instead
    max_entries: Annotated[int, Field(ge=0, le=50_000)] = 50_000  # the newest stay

    @property
    def cautions(self) -> Cautions:
        """Which needs may be planned with."""
        return Cautions(self.quantile, self.longest, self.outlived / 100)
