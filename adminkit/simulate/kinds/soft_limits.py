"""kind = "soft-limits": backfill plans with what jobs are expected to need. docs/simulate/soft-limits.md."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from adminkit.policy.soft_settings import Quantile
from adminkit.policy.soft_settings import SoftLimits as Settings
from adminkit.recommend.needs import Cautions
from adminkit.simulate.case import Case, Column, with_columns, with_facts, with_site
from adminkit.simulate.change import Change, Given, Kind, Seconds, Shares, Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.held import held, wide_jobs
from adminkit.simulate.history import expected
from adminkit.simulate.luck import Luck

_USUAL = Settings()


class SoftLimits(Change):
    """The keys: those of [soft_limits] in policy.toml, with the same defaults."""

    swept: ClassVar[str] = "uptake"

    kind: Literal["soft-limits"]
    uptake: Shares = (1.0,)  # of the users
    quantile: Quantile = _USUAL.quantile
    least: Annotated[Seconds, Field(ge=60, multiple_of=60)] = _USUAL.least
    gap: Annotated[Seconds, Field(ge=60)] = _USUAL.gap
    longest: Annotated[Seconds, Field(ge=60)] = _USUAL.longest
    outlived: Annotated[int, Field(ge=1, le=100, strict=True)] = _USUAL.outlived
    wide: Annotated[int, Field(ge=0, le=100, strict=True)] = _USUAL.wide


def prepare(keys: SoftLimits, sources: Sources) -> Given:
    """What a job would have been planned with at its submission, in whole minutes; NONE where nothing was known."""
    cautions = Cautions(keys.quantile, keys.longest, keys.outlived / 100)
    return {"plan": expected(sources, keys.name, cautions)}


def apply(case: Case, keys: SoftLimits, value: float, given: Given, luck: Luck) -> Case:
    """Jobs get a plan below their limit, and the slurm model takes it for a soft limit. Limits stay."""
    import numpy as np

    origin, limit = case.facts["origin"], case.column("limit")
    told = np.where(origin == NONE, NONE, given["plan"][origin])
    told = np.where(told == NONE, NONE, np.maximum(told, keys.least))
    users = luck.users("uptake", case, value)
    soft = users & (told != NONE) & ((limit == NONE) | (told + keys.gap <= limit))
    changed = with_facts(case, follows=users.astype(np.int64))
    if not soft.any():
        return changed
    if case.request.model == "slurm":
        changed = with_site(changed, settings={**case.request.settings, "time_min_as_soft_limit": 1})
    before = case.column("plan")

    def with_plan(plan: Column) -> Case:
        return with_columns(changed, plan=np.where(plan == NONE, before, plan))

    return with_plan(held(with_plan, np.where(soft, told, NONE), wide_jobs(case, keys.wide)))


KIND = Kind("soft-limits", SoftLimits, apply, prepare, of_users=True)
