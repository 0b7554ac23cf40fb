"""What is done with an answer of slurmdbd's database before it is read: a few lines that SQL cannot write."""

from __future__ import annotations

import mmap
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Final

from adminkit.errors import cause
from adminkit.slurm.process import NoRoom
from adminkit.slurm.seal import SHORT, Marks

#: What stands before the mask of the tasks of an array that waits.
_MASK: Final = b"_[0x"


def finish(target: Path, marks: Marks) -> bool:
    """Write the tasks of arrays that wait as ranges, which the tables have as hexadecimal masks, and take out the lines
    that stand for records without a word for one of their codes. Returns whether there were any.

    Such a line is the seal, which no user can know. Behind the times of a record it never begins a line.
    """
    left_out, end = f"{marks.seal}\n".encode(), marks.delimiter.encode()
    if not _has(target, left_out, _MASK):
        return False
    masks = re.compile(rb"^(\d+_\[)0x([0-9A-Fa-f]+)((?:%\d+)?\](?:" + SHORT.encode() + rb"|" + re.escape(end) + rb"))")
    fresh, partial = target.with_name(f"{target.name}.new"), False
    begins = True  # a record: this line is not of a text with newlines
    try:
        with target.open("rb") as lines, fresh.open("wb") as kept:
            for line in lines:
                if line == left_out:
                    partial = True
                elif begins and _MASK in line:
                    kept.write(masks.sub(lambda one: one[1] + tasks_of(int(one[2], 16)).encode() + one[3], line))
                else:
                    kept.write(line)
                begins = line == left_out or line.endswith(end + b"\n")
        fresh.replace(target)
    except OSError as error:
        raise NoRoom(
            f"couldn't keep the answer of slurmdbd's database: {cause(error)}", "free some space beside the trace"
        ) from error
    return partial


def _has(path: Path, line: bytes, word: bytes) -> bool:
    """Whether a file has this line, or this word anywhere; its pages are the kernel's, which takes them back."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return False
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            return data[: len(line)] == line or data.find(b"\n" + line) >= 0 or data.find(word) >= 0


def tasks_of(mask: int) -> str:
    """The numbers of the bits of a mask as Slurm writes them: 0-4,7, or 1-21:2 for more than five at equal steps."""
    bits = [place for place, bit in enumerate(bin(mask)[:1:-1]) if bit == "1"]
    if len(bits) > 5 and bits[-1] - bits[0] > 10 and bits[1] - bits[0] > 1:
        steps = {after - before for before, after in pairwise(bits)}
        if len(steps) == 1:
            return f"{bits[0]}-{bits[-1]}:{steps.pop()}"
    ranges: list[list[int]] = []
    for bit in bits:
        if ranges and bit == ranges[-1][1] + 1:
            ranges[-1][1] = bit
        else:
            ranges.append([bit, bit])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
