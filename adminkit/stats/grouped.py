"""Rows that are alike in some columns: a number for each of them, as GROUP BY has groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from adminkit.trace.columns import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Rows of a block: few enough to stay in the processor's cache.
BLOCK: Final = 1 << 16
#: Groups beyond which an array with a place for each that there might be is not worth it.
_MANY: Final = 1 << 22


def grouped(*of: Texts | NDArray[Any]) -> tuple[NDArray[Any], list[tuple[Any, ...]]]:
    """A number for each row, the same for rows that are alike in all of these columns; and what each number stands for.

    Numbers ascend from 0 as GROUP BY orders groups: what is unknown is None, and comes first. Whole numbers are int.
    """
    number, first = told_apart(*of)
    return number, list(zip(*(values_of(column, first) for column in of), strict=True))


def told_apart(*of: Texts | NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The numbers of grouped(), and the first row of each."""
    import numpy as np

    code: NDArray[Any] = np.zeros(0, np.int32)
    many = 0
    for column in of:
        more, count = _ranked(column) if isinstance(column, Texts) else _dense(column)
        if not many:
            code, many = more.astype(np.int32), count
        elif many * count > _MANY:
            values, code = np.unique(code.astype(np.int64) * count + more, return_inverse=True)
            many = len(values)
        else:
            code *= count
            code += more
            many *= count
    first = _first(code, many)
    there = np.flatnonzero(first >= 0)
    number = np.zeros(many, np.int16 if len(there) < 2**15 else np.int32)
    number[there] = np.arange(len(there))
    return number[code], first[there]


def as_they_come(number: NDArray[Any], keys: Sequence[tuple[Any, ...]]) -> tuple[NDArray[Any], list[tuple[Any, ...]]]:
    """What grouped() answers, with numbers in the order in which rows of a group come first."""
    import numpy as np

    order = np.argsort(_first(number, len(keys)))
    return np.argsort(order).astype(number.dtype)[number], [keys[one] for one in order.tolist()]


def _first(number: NDArray[Any], many: int) -> NDArray[Any]:
    """The first row of each number below `many`; -1 where a number has no row."""
    import numpy as np

    first = np.full(many, -1, np.int64)
    for block in reversed([*blocks(len(number))]):
        mine = number[block][::-1]
        first[mine] = np.arange(block.start + len(mine) - 1, block.start - 1, -1)
    return first


def _ranked(column: Texts) -> tuple[NDArray[Any], int]:
    """Codes of texts, ascending from 0; and how many codes there may be."""
    import numpy as np

    names = column.names
    order = sorted(range(len(names)), key=lambda place: (names[place] is not None, names[place] or ""))
    if order == [*range(len(names))]:
        return column.codes, len(names)
    return np.argsort(order).astype(np.int32)[column.codes], len(names)


def _dense(values: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Ascending codes from 0 of numbers, and how many codes there may be."""
    import numpy as np

    real = values.dtype.kind == "f"
    known = values[~np.isnan(values)] if real else values
    whole = not real or bool((known % 1 == 0).all())
    if len(known) and float(most := known.max()) - float(least := known.min()) < BLOCK and whole:
        if len(known) < len(values):
            values = np.nan_to_num(values, nan=least - 1)  # what is unknown comes first
        codes: NDArray[Any] = np.empty(len(values), np.int32)
        for block in blocks(len(values)):
            codes[block] = values[block].astype(np.int64) - int(least) + 1
        return codes, int(most) - int(least) + 2
    found, codes = np.unique(values, return_inverse=True)
    if len(found) and found[-1] != found[-1]:  # what is unknown comes first
        codes = (codes + 1) % len(found)
    return codes, len(found)


def values_of(column: Texts | NDArray[Any], rows: NDArray[Any]) -> list[Any]:
    if isinstance(column, Texts):
        return [column.names[code] for code in column.codes[rows].tolist()]
    values = column[rows].tolist()
    return [None if one != one else int(one) if one == one // 1 else one for one in values]


def blocks(rows: int) -> Iterator[slice]:
    """Slices of BLOCK rows, one behind the other."""
    return (slice(begin, begin + BLOCK) for begin in range(0, rows, BLOCK))
