"""Groups of rows: the same by blocks as row by row."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from adminkit.stats.grouped import BLOCK, as_they_come, grouped
from adminkit.stats.taken import numbered, split


@pytest.mark.parametrize(
    ("rows", "groups", "why"),
    [
        (0, 0, "no row"),
        (1, 1, "one"),
        (7, 9, "groups without a row"),
        (BLOCK, 3, "one whole block"),
        (2 * BLOCK + 1, 300, "a row in the third block"),
    ],
)
@pytest.mark.parametrize("kind", ["i2", "i4", "i8"])
def test_the_values_of_each_group_are_in_the_order_of_its_rows(rows: int, groups: int, why: str, kind: str) -> None:
    number, values = np.random.default_rng(rows).integers(0, max(groups - 1, 1), rows).astype(kind), np.arange(rows)
    apart = defaultdict(list)
    for group, value in zip(number.tolist(), values.tolist(), strict=True):
        apart[group].append(value)
    assert [part.tolist() for part in split(number, groups, values)] == [apart[k] for k in range(groups)], why
    assert numbered(number, groups).tolist() == [len(apart[k]) for k in range(groups)], why
    code, keys = as_they_come(*grouped(number))
    assert [key for (key,) in keys] == list(dict.fromkeys(number.tolist())), why
    assert [keys[one][0] for one in code.tolist()] == number.tolist(), why
