"""The limits people are advised to type, and how often one may be too short: policy.toml's `menu` and `risk`.

The defaults and the bounds stand only here; whatever names a limit to somebody is given an Offer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

HOUR: Final = 3600
DAY: Final = 86_400
#: Seconds, ascending: what people type anyway. Beyond the last one whole days are used.
MENU: Final = (
    900, 1800, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
    DAY, 2 * DAY, 3 * DAY, 5 * DAY, 7 * DAY, 14 * DAY,
)  # fmt: skip
#: Share of runs that may need more than the safe limit: the default, the least and the most.
RISK: Final = 0.1
LEAST_RISK: Final = 0.05
MOST_RISK: Final = 0.5
#: A user is told about memory asked for on a node if it is at least this many times the safe size, and this many MiB
#: above it.
MEMORY_RATIO: Final = 2.0
MEMORY_FLOOR: Final = 8192


@dataclass(frozen=True, slots=True)
class Offer:
    """What a site recommends: limits of `menu`, ascending seconds, each too short for a share `risk` of the runs."""

    menu: tuple[int, ...] = MENU
    risk: float = RISK
    help_url: str | None = None  # the site's page for users, as policy.toml has it


def round_up(seconds: int, menu: Sequence[int]) -> int:
    """The least limit of `menu` that is at least `seconds`; whole days above its last."""
    place = bisect_left(menu, seconds)
    return menu[place] if place < len(menu) else -(-seconds // DAY) * DAY
