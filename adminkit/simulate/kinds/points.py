"""kind = "points": wide jobs, or jobs of some class, are older than they are. docs/simulate/points.md."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from adminkit.errors import AdminkitError
from adminkit.policy.soft_settings import JobClass
from adminkit.quote import quote
from adminkit.simulate.case import Case, Column, with_columns
from adminkit.simulate.change import Change, Given, Kind, Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.groups import sizes, unit_of
from adminkit.simulate.luck import Luck

HOUR: Final = 3600
Hours = Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)]


class Points(Change):
    """The keys. A job gets the most that one of them gives it, not their sum."""

    kind: Literal["points"]
    sizes: dict[str, Hours] = Field(default_factory=dict)  # GPUs (or CPUs) or more -> hours of age
    classes: dict[JobClass, Hours] = Field(default_factory=dict)
    points_per_hour: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None  # None: the site's

    @model_validator(mode="after")
    def _something(self) -> Points:
        if not self.sizes and not self.classes:
            raise ValueError('give it who gets points: sizes = { "9" = 72 }, in hours of age')
        for size in self.sizes:
            if not (size.isascii() and size.isdigit() and 1 <= int(size) <= 1_000_000):
                raise ValueError(f"{quote(size)} is not a number of GPUs or CPUs")
        return self


def prepare(keys: Points, sources: Sources) -> Given:
    """Refuses a site on which points have no effect."""
    case = sources.case
    where = f"scenario {quote(keys.name)}"
    if case.request.model != "slurm":
        raise AdminkitError(
            f"{where} is about priorities, which {case.request.model} does not have", "use --model slurm"
        )
    if keys.points_per_hour is None and not points_per_hour(case):
        raise AdminkitError(
            f"{where}: age weighs nothing on this site, so an hour of age is worth no points",
            "set PriorityWeightAge in slurm.conf, or points_per_hour here",
        )
    if (case.column("priority") >= 0).any():
        raise AdminkitError(
            f"{where}: jobs have the trace's own priorities, to which nothing is added", "use --priority computed"
        )
    return {}


def points_per_hour(case: Case) -> float:
    """The points of an hour of age on this site; 0 where age does not count."""
    settings = case.request.settings
    longest = settings.get("priority_max_age", 7 * 24 * HOUR)
    return settings.get("priority_weight_age", 0) * HOUR / longest if longest else 0.0


def apply(case: Case, keys: Points, value: Any, given: Given, luck: Luck) -> Case:
    """The site factor of each job, raised by its points."""
    import numpy as np

    hours = np.zeros(case.count)
    size = sizes(case, unit_of(case))
    for least, worth in keys.sizes.items():
        hours = np.maximum(hours, np.where(size >= int(least), worth, 0.0))
    for name, worth in keys.classes.items():
        hours = np.maximum(hours, np.where(_in_class(case, name), worth, 0.0))
    before = case.column("site_factor", 0)
    each = keys.points_per_hour or points_per_hour(case)
    factor = np.where(before == NONE, 0, before) + np.rint(hours * each).astype(np.int64)
    return with_columns(case, site_factor=factor)


def _in_class(case: Case, name: str) -> Column:
    classes = list(case.names["classes"])
    found: Column = case.facts["class"] == (classes.index(name) if name in classes else NONE - 1)
    return found


KIND = Kind("points", Points, apply, prepare)
