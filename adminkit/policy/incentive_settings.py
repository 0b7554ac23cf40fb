"""[incentives] and [hints] of policy.toml. A bonus is in hours of ageing, so it means the same on every cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from adminkit.policy.durations import Seconds
from adminkit.policy.memory_size import Memory
from adminkit.recommend.menu import MEMORY_FLOOR, MEMORY_RATIO

Hours = Annotated[float, Field(ge=0, le=10_000)]


#: Sizes that may have hours of their own, and the GPUs of the largest.
MOST_SIZES = 16
_MOST_GPUS = 100_000


def _sizes(value: dict[str, float]) -> dict[str, float]:
    """By size. A larger size has more: else a job would gain by being smaller."""
    for size in value:
        if not (size.isascii() and size.isdigit() and len(size) <= 6 and str(int(size)) == size):
            raise ValueError(f"{size[:20]!r} is not a number of GPUs")
        if not 2 <= int(size) <= _MOST_GPUS:
            raise ValueError(f"a size is from 2 to {_MOST_GPUS} GPUs, and {size} is not")
    if len(value) > MOST_SIZES:
        raise ValueError(f"{len(value)} sizes; at most {MOST_SIZES} are allowed")
    ordered = sorted(value.items(), key=lambda one: int(one[0]))
    for (small, less), (large, more) in pairwise(ordered):
        if more <= less:
            raise ValueError(f"{large} GPUs or more must have more than {small}: {more:g} is not above {less:g}")
    return dict(ordered)


class Incentives(BaseModel):
    """Who starts sooner: what is paid, at most how much, and which runs count."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    accuracy_hours: Hours = 6.0  # to a user whose limits were right throughout
    multi_node_hours: Hours = 4.0
    multi_gpu_hours: Hours = 2.0
    cap_hours: Annotated[float, Field(gt=0, le=10_000)] = 12.0  # the most that any job gets
    size_hours: Annotated[
        dict[str, Hours], AfterValidator(_sizes)
    ] = {}  # GPUs or more -> in place of the class's hours
    points_per_hour: Annotated[float, Field(gt=0)] | None = None  # None: asked of Slurm
    accept_foreign_site_factor: bool = False  # a PrioritySiteFactorPlugin may overwrite what is set at submission

    from_score: Annotated[float, Field(ge=0, lt=1)] = 0.5  # nothing up to here, then in proportion
    menu_steps: Annotated[int, Field(ge=1, le=5)] = (
        1  # a limit this number of the menu's steps over the run scores full
    )
    half_life_days: Annotated[float, Field(gt=0)] = 30.0
    window_days: Annotated[int, Field(ge=1)] = 180
    min_jobs: Annotated[int, Field(ge=1)] = 10
    min_days: Annotated[int, Field(ge=1)] = 3  # on at least this number of days
    min_share: Annotated[float, Field(ge=0, le=1)] = 0.25  # of all the hours a user had, those in runs that weigh
    min_elapsed: Annotated[Seconds, Field(ge=0)] = 60
    min_cpu_use: Annotated[float, Field(ge=0, lt=1)] = 0.02  # CPU time / (elapsed × CPUs)
    unknown_use: Literal["leave_out", "count"] = "leave_out"
    name_day_hours: Annotated[float, Field(gt=0)] = 192.0  # GPU-hours that one job name may weigh on one day
    cpus_per_gpu: Annotated[float, Field(gt=0)] = 8.0  # CPU-hours that weigh as a GPU-hour, for jobs without GPUs
    recorded_only: bool = False  # only limits that the decision at submission recorded
    bundle_days: Annotated[int, Field(ge=1)] = 30
    bundle_share: Annotated[float, Field(gt=0, le=1)] = (
        0.25  # of a user's parallel hours; at and above it no class points
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        for name in ("accuracy_hours", "multi_node_hours", "multi_gpu_hours"):
            if getattr(self, name) > self.cap_hours:
                raise ValueError(f"{name} = {getattr(self, name):g} is above cap_hours = {self.cap_hours:g}")
        if (most := max(self.size_hours.values(), default=0)) > self.cap_hours:
            raise ValueError(f"size_hours has {most:g}, which is above cap_hours = {self.cap_hours:g}")
        if self.min_days > self.min_jobs:
            raise ValueError(f"min_days = {self.min_days} needs more jobs than min_jobs = {self.min_jobs}")
        for name in ("min_days", "bundle_days"):
            if getattr(self, name) > self.window_days:
                raise ValueError(f"{name} = {getattr(self, name)} is above window_days = {self.window_days}")
        return self


class Hints(BaseModel):
    """Who reads a line at submission: those whose similar jobs needed far less time, or memory, than is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    enabled: bool = True
    ratio: Annotated[float, Field(gt=1)] = 3.0  # asked ≥ ratio × what was safe,
    floor: Annotated[Seconds, Field(ge=0)] = 7200  # and that many seconds more
    accounts_off: tuple[str, ...] = ()  # jobs of these accounts get none
    users_off: tuple[str, ...] = ()  # nor do these users, who asked for it
    max_entries: Annotated[int, Field(ge=0, le=50_000)] = 50_000  # the largest excess stays
    memory: bool = True  # also about --mem
    memory_ratio: Annotated[float, Field(gt=1)] = MEMORY_RATIO  # asked ≥ memory_ratio × what was enough,
    memory_floor: Memory = MEMORY_FLOOR  # and that many MiB more, on a node
