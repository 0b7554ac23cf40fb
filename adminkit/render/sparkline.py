"""A row of shares as one line of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

BLOCKS: Final = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
UNKNOWN: Final = "\u00b7"
#: The same for a terminal that cannot show blocks.
PLAIN: Final = str.maketrans(BLOCKS + UNKNOWN, "_.-:=+*#?")


def sparkline(shares: Sequence[float | None]) -> str:
    """A block for each share from 0 to 1, the lowest only for 0 and the highest only for 1; a dot for unknown."""
    return "".join(UNKNOWN if share is None else BLOCKS[_height(share)] for share in shares)


def _height(share: float) -> int:
    most = len(BLOCKS) - 1
    if share <= 0 or share >= 1:
        return 0 if share <= 0 else most
    return min(max(round(share * most), 1), most - 1)
