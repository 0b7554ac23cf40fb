"""What doctor says of one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warn", "missing"]
#: The values of a Check, in its order.
Line = tuple[str, Status, str, str]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing. `missing` is needed and not there; `warn` works, but less well."""

    name: str
    status: Status
    found: str
    hint: str = ""
