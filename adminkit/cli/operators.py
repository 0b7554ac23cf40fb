"""What commands show to operators only, and what they say to everybody else: (message, hint)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.trace import connect, sight

Refusal = tuple[str, str]

LETTERS: Final[Refusal] = (
    "only operators may see everybody's letters",
    "adminkit feedback prefs shows and changes your own choices",
)
POINTS: Final[Refusal] = ("only operators may see everybody's points", "adminkit incentives show prints yours")
FINDINGS: Final[Refusal] = ("only operators may see findings about letters", "leave --kind out to see your own")
AUDIT: Final[Refusal] = (
    "only operators may see what slurmdbd says of everybody's rows",
    "run it as the trace's owner or in its group",
)
REJECTED: Final[Refusal] = (
    "only operators may see rejected rows, which may be anybody's",
    "adminkit trace status says how many there are",
)
PAGE: Final[Refusal] = ("only operators may see the page of all users", "adminkit my shows your own jobs")
METRICS: Final[Refusal] = ("only operators may see figures of all users together", "adminkit my shows your own jobs")
SERVE: Final[Refusal] = ("only operators may show everybody's jobs", "adminkit my shows your own")
MONTHS: Final[Refusal] = ("only operators may see files with everybody's jobs", "adminkit my shows your own jobs")
CHARGES: Final[Refusal] = (
    "only operators may see what everybody is charged",
    "adminkit charge statement shows what you were charged",
)
KEPT: Final[Refusal] = (
    "only operators may write what adminkit keeps about everybody into files",
    "adminkit my --everything says what there is about you",
)
HISTORY: Final[Refusal] = (
    "only operators may see who did what",
    "adminkit trace status says how far the trace reaches",
)


def operators_only(path: Path, refusal: Refusal) -> None:
    """Raise UsageError with `refusal` where the caller may not see others' jobs. No error without a trace."""
    if connect.is_there(path):
        sight.operators_only(path, *refusal)
