"""What --constraint asks of each node: names between & or between |.

Slurm's counts, brackets and parentheses choose sets of nodes; & and | in one list it reads from left to right. None of
these is judged here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NAME: Final = r"[A-Za-z0-9_.=-]{1,100}"
_LIST: Final = re.compile(rf"{_NAME}(?:&{_NAME}){{0,31}}|{_NAME}(?:\|{_NAME}){{0,31}}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Features of which a node has to have all, or one."""

    names: frozenset[str]
    all: bool

    def on(self, features: frozenset[str]) -> bool:
        return self.names <= features if self.all else bool(self.names & features)


def parse_features(text: str) -> Wanted | None:
    """None where it is not known what it asks for."""
    if not _LIST.fullmatch(text):
        return None
    return Wanted(frozenset(re.split(r"[&|]", text)), "|" not in text)
