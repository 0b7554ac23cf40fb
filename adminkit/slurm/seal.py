"""Marks that tell Slurm's own records from text of users in them: a delimiter and a seal, drawn for each answer.

Slurm's programs escape nothing. Both marks are random and drawn when the program starts, so no job has them in its name
by then. While the program runs, every user can read the delimiter in its arguments and rename an open job, so each time
is followed by the seal, which the program gets by its environment. Other users cannot read that.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

#: Stands between fields that no user can write into, where a question is ours to write. adminkit-ingest has it, too.
SHORT: Final = "\x1e"
#: Wide enough for a time with its seal.
SEALED_WIDTH: Final = 40


@dataclass(frozen=True, slots=True)
class Marks:
    """`delimiter` stands behind each field, `seal` behind the digits of each time."""

    delimiter: str
    seal: str

    def epoch(self, text: str) -> int | None:
        """A sealed time; None for one that is not, or is unknown."""
        digits = text.removesuffix(self.seal)
        return int(digits) if digits != text and digits.isascii() and digits.isdigit() else None


def draw() -> Marks:
    """New ones. Traps: SLURM_TIME_FORMAT takes 31 bytes, adminkit-ingest a delimiter of 16."""
    return Marks("\x1f" + secrets.token_urlsafe(6), "x" + secrets.token_hex(8))


def draw_typed() -> Marks:
    """New ones for a question that a program reads from a pipe, so that nobody can read them: shorter than `draw`'s, as
    the delimiter is half of a record.

    A record needs both, 24 and 48 bits. To spoil one takes the delimiter: who fills a command line with guesses hits it
    in one answer of a thousand, and the next has another.
    """
    return Marks("\x1f" + secrets.token_urlsafe(3), "x" + secrets.token_urlsafe(6))
