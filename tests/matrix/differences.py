"""What adminkit minds of Slurm's releases, and the one place that deals with each: a table of docs/releases.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Difference:
    """`since` is the release that brought it, `place` the file that minds it."""

    since: str
    what: str
    place: str


DIFFERENCES: Final = (
    Difference("23.02 … 26.05", "sacct's fields come, go and are renamed", "adminkit/ingest/fields.py"),
)
