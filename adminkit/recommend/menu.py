"""The limits people are advised to type."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

HOUR: Final = 3600
DAY: Final = 86_400
#: Seconds, ascending: what people type anyway. Beyond the last one whole days are used.
MENU: Final = (
    900, 1800, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 6 * HOUR, 8 * HOUR, 12 * HOUR,
    24 * HOUR, 36 * HOUR, 48 * HOUR, 72 * HOUR,
)  # fmt: skip


def round_up(seconds: int, menu: Sequence[int] = MENU) -> int:
    """The least limit of `menu` that is at least `seconds`; whole days above its last."""
    place = bisect_left(menu, seconds)
    return menu[place] if place < len(menu) else -(-seconds // DAY) * DAY
