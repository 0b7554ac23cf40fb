"""Every kind of finding, by name. docs/findings/ has a page for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from adminkit.findings import effect, estimate, outbox, overestimate, week
from adminkit.findings.finding import Kind

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {one.name: one for one in (overestimate.KIND, estimate.KIND, week.KIND, effect.KIND, outbox.KIND)}
)
