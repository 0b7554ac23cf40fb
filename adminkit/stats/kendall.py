"""Kendall's tau-b, the agreement of two orders, in O(n log n).

Kendall, M. G. (1945): The treatment of ties in ranking problems. Biometrika 33, 239-251. Pairs that are closer than a
tolerance in one of the two orders count as tied in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


def tau_b(x: Numbers, y: Numbers, tied: int = 0) -> float | None:
    """1 for the same order, -1 for the opposite one; values that differ by at most `tied` have no order.

    None where all pairs are tied in one of the two.
    """
    count = len(x)
    pairs = count * (count - 1) // 2
    in_x, in_y = _apart(x, tied), _apart(y, tied)
    if not in_x or not in_y or not pairs:
        return None
    agree = _both_below(x, y, tied)
    differ = _both_below(x, -y, tied)
    return float((agree - differ) / (float(in_x) ** 0.5 * float(in_y) ** 0.5))


def _apart(values: Numbers, tied: int) -> int:
    """How many pairs differ by more than `tied`."""
    import numpy as np

    ordered = np.sort(values)
    return int(np.searchsorted(ordered, ordered - tied, side="left").sum())


def _both_below(x: Numbers, y: Numbers, tied: int) -> int:
    """How many ordered pairs (j, i) have x[j] < x[i] - tied and y[j] < y[i] - tied.

    Each value stands twice in the order of x: as a point, and as a question in front of the first x that is too close.
    The answer to a question is how many points before it are below in y.
    """
    import numpy as np

    count = len(x)
    question = np.repeat([True, False], count)  # stable sorts put questions before points that are equal
    by_x = np.argsort(np.concatenate([x - tied, x]), kind="stable")
    by_y = np.argsort(np.concatenate([y - tied, y]), kind="stable")
    rank = np.empty(2 * count, dtype=np.int64)
    rank[by_y] = np.arange(2 * count)
    return _points_before_and_below(rank[by_x], question[by_x])


def _points_before_and_below(rank: Numbers, question: NDArray[np.bool_]) -> int:
    """For each question, the points before it that have a smaller rank; their sum. `rank` is a permutation.

    Beginning with the highest bit: among those that agree in all higher bits, a point with 0 is below a question with
    1. Each step sorts stably by its bit, so that every group is contiguous and keeps its order.
    """
    import numpy as np

    total = 0
    for bit in reversed(range(max(int(len(rank) - 1).bit_length(), 1))):
        one = (rank >> bit & 1).astype(bool)
        low = np.concatenate([[0], np.cumsum(~one & ~question)])
        asked = np.flatnonzero(one & question)
        first = rank[asked] >> (bit + 1) << (bit + 1)  # ranks are dense: the place where the group begins
        total += int((low[asked] - low[first]).sum())
        group = rank >> (bit + 1)
        order = np.argsort(group * 2 + one, kind="stable")
        rank, question = rank[order], question[order]
    return total
