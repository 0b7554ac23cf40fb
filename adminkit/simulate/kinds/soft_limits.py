"""kind = "soft-limits": backfill plans with what jobs are expected to need. docs/simulate/soft-limits.md."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from adminkit.simulate.case import Case, with_columns, with_facts, with_site
from adminkit.simulate.change import Change, Given, Kind, Shares, Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.history import expected
from adminkit.simulate.luck import Luck


class SoftLimits(Change):
    """The keys."""

    swept: ClassVar[str] = "uptake"

    kind: Literal["soft-limits"]
    uptake: Shares = (1.0,)  # of the users
    quantile: Annotated[float, Field(ge=0.5, le=0.95, strict=True)] = 0.5  # of what earlier jobs needed


def prepare(keys: SoftLimits, sources: Sources) -> Given:
    """What a job was expected to need at its submission, in whole minutes; NONE where nothing was known."""
    return {"plan": expected(sources, keys.name, keys.quantile)}


def apply(case: Case, keys: SoftLimits, value: float, given: Given, luck: Luck) -> Case:
    """Jobs get a plan below their limit, and the slurm model takes it for a soft limit. Limits stay."""
    import numpy as np

    origin, limit, plan = case.facts["origin"], case.column("limit"), case.column("plan")
    told = np.where(origin == NONE, NONE, given["plan"][origin])
    users = luck.users("uptake", case, value)
    soft = users & (told != NONE) & ((limit == NONE) | (told < limit))
    changed = with_columns(case, plan=np.where(soft, told, plan))
    changed = with_facts(changed, follows=users.astype(np.int64))
    if case.request.model != "slurm" or not soft.any():
        return changed
    return with_site(changed, settings={**case.request.settings, "time_min_as_soft_limit": 1})


KIND = Kind("soft-limits", SoftLimits, apply, prepare, of_users=True)
