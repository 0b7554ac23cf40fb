"""How many tasks of an array a job's id in squeue stands for. adminkit-ingest counts those of sacct in the same way."""

from __future__ import annotations

import re
from typing import Final

#: 123_[0-9:3,20%2]: all up to the limit, or to the bracket, is there. Without either of them the list was cut.
_LISTED: Final = re.compile(r"\d+_\[([\d,:-]+)(?:%.*|\])", re.DOTALL)
_PART: Final = re.compile(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?")


def tasks_of(job_id: str) -> int | None:
    """1 for a job and for a task; of a list its tasks; None where Slurm cut the list."""
    if "[" not in job_id:
        return 1
    listed = _LISTED.fullmatch(job_id)
    found = [_PART.fullmatch(part) for part in listed[1].split(",")] if listed else [None]
    many = 0
    for part in found:
        some = _many(part) if part else 0
        if not some:
            return None
        many += some
    return many


def _many(part: re.Match[str]) -> int:
    """The tasks of 7, 5-9 or 5-9:2; 0 for what is not a range."""
    first, last, step = int(part[1]), int(part[2] or part[1]), int(part[3] or 1)
    return (last - first) // step + 1 if step and last >= first else 0
