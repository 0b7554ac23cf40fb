"""squeue's fields, none of which cuts: of a width squeue prints what fits and does not say that there was more.

Trap: the width 0 of -O is the whole text, and a field without a width has 20. What squeue cuts by itself, the tasks
of an array, process.py has it print whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from adminkit.errors import AdminkitError
from adminkit.slurm.seal import Marks

Job = TypeVar("Job")


def shape(fields: Iterable[str], marks: Marks) -> str:
    """The word of -O for these fields, each with the delimiter behind it."""
    return ",".join(f"{field}:0{marks.delimiter}" for field in fields)


def read(answer: str, marks: Marks, parse: Callable[[str, Marks], Iterable[Job]]) -> list[Job]:
    """The jobs of a whole answer. AdminkitError for a text in which there is none: that is not an empty list."""
    jobs = list(parse(answer, marks))
    if not jobs and answer.strip():
        raise AdminkitError(
            "couldn't read the answer of squeue: there is a text, and no job in it", "run squeue by hand"
        )
    return jobs
