"""Rows by groups, as GROUP BY has them: of columns that SQLite answered with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adminkit.trace.columns import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Groups(NamedTuple):
    """The keys of each group as columns, how many rows it has, and its sums and largest values."""

    texts: list[Texts]
    numbers: list[NDArray[Any]]
    jobs: NDArray[Any]
    sums: list[NDArray[Any]]
    most: list[NDArray[Any]]


def group(texts: Sequence[Texts], values: Sequence[NDArray[Any]], keys: int, sums: int) -> Groups:
    """Rows by texts and the first `keys` of `values`. The next `sums` are added up; of the others the largest is taken,
    but for the last one, which has a value for every row.
    """
    import numpy as np

    rows = len(values[-1])
    code = np.zeros(rows, np.int64)
    for column in (*(one.codes for one in texts), *values[:keys]):
        found, place = np.unique(column, return_inverse=True)
        code, many = code * len(found) + place, np.unique(code * len(found) + place, return_inverse=True)
        code = many[1].astype(np.int64)
    groups = int(code.max()) + 1 if rows else 0
    if not texts and not keys:
        groups = 1
    first = np.zeros(groups, np.int64)
    first[code[::-1]] = np.arange(rows - 1, -1, -1)
    return Groups(
        [Texts(one.codes[first] if rows else one.codes[:0], one.names) for one in texts],
        [column[first] if rows else column[:0] for column in values[:keys]],
        np.bincount(code, minlength=groups),
        [_sums(column, code, groups) for column in values[keys : keys + sums]],
        [_most(column, code, groups) for column in values[keys + sums : -1]],
    )


def _sums(column: NDArray[Any], code: NDArray[Any], groups: int) -> NDArray[Any]:
    import numpy as np

    found = np.zeros(groups, np.int64)
    whole = np.nan_to_num(column) if column.dtype.kind == "f" else column
    np.add.at(found, code, whole.astype(np.int64))
    return found


def _most(column: NDArray[Any], code: NDArray[Any], groups: int) -> NDArray[Any]:
    import numpy as np

    found = np.full(groups, np.nan)
    np.fmax.at(found, code, column.astype(np.float64))
    return found
