"""Slurm's lists of hosts: n[1-3,7],login2 -> n1, n2, n3, n7, login2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

#: Hosts of one list, at most: no job's list of nodes has more.
MOST: Final = 100_000

_RANGE: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_PART: Final = re.compile(r"((?:[^\[\],]|\[[^\]]*\])+)(?:,|$)")


def hosts(text: str) -> list[str]:
    """Every host of a list, in its order; what cannot be read is left out."""
    if text.count("[") != text.count("]"):
        return []
    found: list[str] = []
    for part in _PART.finditer(text):
        found += _expanded(part[1], MOST - len(found))
    return found


def _expanded(text: str, most: int) -> list[str]:
    """The hosts of one name, which may have several brackets."""
    names = [""]
    for piece in re.findall(r"[^\[\]]+|\[[^\]]*\]", text):
        endings = list(_numbers(piece[1:-1], most)) if piece.startswith("[") else [piece]
        if not endings or len(names) * len(endings) > most:
            return []
        names = [name + ending for name in names for ending in endings]
    return names


def _numbers(text: str, most: int) -> Iterator[str]:
    """The numbers of a bracket, as wide as the first of each range."""
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            continue
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) < most:
            yield from (f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1))
