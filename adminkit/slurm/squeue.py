"""squeue's fields, none of which cuts: of a width squeue prints what fits and does not say that there was more.

Trap: the width 0 of -O is the whole text, and a field without a width has 20. What squeue cuts by itself, the tasks
of an array, process.py has it print whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from adminkit.slurm.seal import Marks


def shape(fields: Iterable[str], marks: Marks) -> str:
    """The word of -O for these fields, each with the delimiter behind it."""
    return ",".join(f"{field}:0{marks.delimiter}" for field in fields)
