"""Every report of `adminkit report`, in the order of its help."""

from __future__ import annotations

from typing import Any, Final

from adminkit.errors import unknown_word
from adminkit.reports import (
    accuracy,
    arrivals,
    efficiency,
    energy,
    extensions,
    feedback,
    frameworks,
    io,
    names,
    parallelism,
    planned,
    restarts,
    states,
    users,
    utilization,
    wait,
    waste,
)
from adminkit.reports.spec import ReportSpec

SPECS: Final[tuple[ReportSpec[Any], ...]] = (
    accuracy.SPEC,
    parallelism.SPEC,
    restarts.SPEC,
    feedback.SPEC,
    planned.SPEC,
    extensions.SPEC,
    states.SPEC,
    users.SPEC,
    utilization.SPEC,
    arrivals.SPEC,
    wait.SPEC,
    efficiency.SPEC,
    energy.SPEC,
    io.SPEC,
    frameworks.SPEC,
    names.SPEC,
    waste.SPEC,
)


def spec_named(name: str) -> ReportSpec[Any]:
    """The report of that name. UsageError with the nearest one where there is none."""
    for spec in SPECS:
        if spec.name == name:
            return spec
    raise unknown_word("report", name, [spec.name for spec in SPECS])
