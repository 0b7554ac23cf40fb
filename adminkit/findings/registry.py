"""Every kind of finding, by name. docs/findings/ has a page for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from adminkit.findings import (
    bad_node,
    bundle,
    default_limit,
    effect,
    estimate,
    failing,
    flood,
    habit,
    idle_gpus,
    images,
    io_bound,
    max_limit,
    memory,
    month,
    outbox,
    over_asked,
    overestimate,
    queue_fit,
    run_over,
    waits,
    week,
)
from adminkit.findings.finding import Kind

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        one.KIND.name: one.KIND
        for one in (
            over_asked,
            habit,
            default_limit,
            max_limit,
            queue_fit,
            waits,
            images,
            bad_node,
            bundle,
            idle_gpus,
            io_bound,
            memory,
            failing,
            flood,
            run_over,
            month,
            overestimate,
            estimate,
            week,
            effect,
            outbox,
        )
    }
)
