"""Whether letters leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Subject, Verdict
from adminkit.messages import message


@dataclass(frozen=True, slots=True)
class Limits:
    """When letters count as stuck; seconds."""

    stuck: int = 6 * 3600  # letters that wait for longer
    refused: int = 7 * 86_400  # older refusals do not count


@dataclass(frozen=True, slots=True)
class Measure:
    """When waiting letters, and refused ones, were due; and the present. Epoch seconds."""

    waiting: Sequence[int]
    refused: Sequence[int]
    now: int


KIND: Final = Kind(
    "outbox",
    "whether letters that are due are sent",
    {
        "stuck": Verdict("warn", message("adminkit feedback status --letters says why")),
        "moving": Verdict("good"),
    },
    {
        "waiting": Number("letters still to be sent"),
        "stuck": Number("of these, letters that have waited for more than six hours"),
        "refused": Number("letters that the mail server refused in the last seven days"),
    },
)


def check(measure: Measure, limits: Limits) -> list[Finding]:
    """One finding, of the whole outbox."""
    stuck = sum(due_at < measure.now - limits.stuck for due_at in measure.waiting)
    refused = sum(due_at > measure.now - limits.refused for due_at in measure.refused)
    evidence = {"waiting": len(measure.waiting), "stuck": stuck, "refused": refused}
    return [KIND.finding("stuck" if stuck or refused else "moving", Subject(), evidence)]
