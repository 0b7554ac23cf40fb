"""How long runs like it needed: the Kaplan–Meier estimate of a group's run times, and the limit for a risk.

Kaplan, Meier: Nonparametric estimation from incomplete observations, JASA 53 (1958): a run that was cut off counts as
longer than it ran, and leaves the runs at risk without having been short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: Below the risk that the longest run shows, the limit grows with this power of the ratio of the two risks …
TAIL: Final = 0.5
#: … up to this many times the longest run.
LONGEST: Final = 4.0
#: Tolerance for comparing risks, which are sums of floats.
EQUAL: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Curve:
    """A survival curve of `runs`, `cut` of them cut off. A share `longer[i]` of runs needs over `needs[i]` seconds.

    `needs` ascend; `longer` descends. `weight` says how many runs it counts as.
    """

    runs: int
    cut: int
    weight: float
    expected: int | None = None  # half of such runs take this or less
    needs: tuple[int, ...] = ()
    longer: tuple[float, ...] = ()

    def limit(self, risk: float) -> int | None:
        """The least need that at most the share `risk` of such runs exceeds, seconds; None where no run shows it."""
        longer, low, high = self.longer, 0, len(self.longer)
        while low < high:
            middle = (low + high) // 2
            if longer[middle] <= risk + EQUAL:
                high = middle
            else:
                low = middle + 1
        return self.needs[low] if low < len(longer) else None

    def beyond(self, risk: float) -> float:
        """The same where no run shows so small a risk: the longest one, stretched (the tail of a Pareto law)."""
        return self.needs[-1] * min(LONGEST, math.pow(self.longer[-1] / risk, TAIL))


def kaplan_meier(pool: Sequence[tuple[int, bool, float]], unseen: float) -> Curve:
    """Estimate from runs (need, cut off, weight) and one that no history shows, longer than all, of weight `unseen`."""
    total = sum(weight for _, _, weight in pool)
    sample = sorted(pool)
    left, share, cut_off = total + unseen, 1.0, 0
    needs: list[int] = []
    longer: list[float] = []
    last = None
    for need, cut, weight in sample:
        if cut:
            cut_off += 1
        else:
            share *= 1 - weight / left
            if need == last:
                longer[-1] = share
            else:
                needs.append(need)
                longer.append(share)
                last = need
        left -= weight
    expected = next((need for need, share in zip(needs, longer, strict=True) if share <= 0.5), None)
    return Curve(len(sample), cut_off, total, expected, tuple(needs), tuple(longer))
