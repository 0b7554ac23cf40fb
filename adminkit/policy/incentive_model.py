"""The sections [incentives] and [hints] of policy.toml."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Points = Annotated[int, Field(ge=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Incentives(_Section):
    """Positive points through site_factor."""

    multi_node: Points = 0
    multi_gpu: Points = 0
    accurate: Points = 0
    cap: Points = 720
    minimum_jobs: Annotated[int, Field(ge=1)] = 20


class Hints(_Section):
    """A line at submission when similar jobs needed far less."""

    ratio: Annotated[float, Field(ge=1, strict=False)] = 3.0
    floor: Annotated[int, Field(ge=0)] = 7200
    except_accounts: tuple[str, ...] = ()
    most: Annotated[int, Field(ge=1, le=50_000)] = 50_000
