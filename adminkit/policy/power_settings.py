"""[power] of policy.toml: what all GPUs together may draw, kept by licences of Slurm's. See docs/policy/power.md."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: A type of GPU, as gres.conf has it, and the watts of one.
Kind = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,60}$")]
Watts = Annotated[int, Field(ge=1, le=1_000_000)]


class Power(BaseModel):
    """Off without a budget. Trap: Slurm refuses every job that names a licence which slurmctld does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    budget_w: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    gpu_w: Watts | Annotated[dict[Kind, Watts], Field(min_length=1)] = 400
    licence: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,60}$")] = "watts"

    @property
    def kinds(self) -> dict[str, int]:
        """Watts of a GPU by type; "" for any."""
        return {"": self.gpu_w} if isinstance(self.gpu_w, int) else dict(self.gpu_w)
