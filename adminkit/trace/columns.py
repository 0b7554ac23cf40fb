"""Whole columns of a SELECT: by the SQL functions of adminkit-columns.so, or row by row where Python cannot have it.

A Python object for each value of each row takes several times as long as SQLite does for the rest. The functions
answer with a blob for each column; its form is said in native/columns/columns.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.errors import AdminkitError
from adminkit.installed import columns_library
from adminkit.owner import as_caller
from adminkit.sqlite import library as library_of_sqlite
from adminkit.sqlite import sqlite3

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Rows that are read at a time, where they are read by row.
CHUNK: Final = 2000
_FUNCTION: Final = "adminkit_columns"
_ONE: Final = "adminkit_column"
_HEAD: Final = 6
#: mallopt(3): blocks of this many bytes or more are apart from each other, and go back one by one.
_M_MMAP_THRESHOLD: Final = -3
_APART: Final = 1 << 20
_FUNCTIONS: Final = f"SELECT DISTINCT name FROM pragma_function_list WHERE name IN ('{_FUNCTION}', '{_ONE}')"


class Texts(NamedTuple):
    """A column of texts: of each row the place of its text among `names`, where None stands for unknown."""

    codes: NDArray[Any]
    names: Sequence[str | None]


def give_back() -> None:
    """Let the columns that are done with go back to the system, now and later. glibc keeps freed blocks of up to
    32 MB for itself once it has seen one, and what lies between them keeps them there: a process of many measures would
    only grow. Smaller blocks go back now.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another libc has no such function
        known_to = ctypes.CDLL(None)
        known_to.mallopt(_M_MMAP_THRESHOLD, _APART)
        known_to.malloc_trim(0)


@cache
@as_caller()
def register() -> bool:
    """Give the function to every connection that this process opens later; return whether it could be done.

    Python has its own way to load a library only where it was built so. Trap: the copy of SQLite must be the one that
    Python itself uses, so its name is looked up from there, and the library is linked with none.
    """
    try:
        import ctypes

        give_back()
        known_to = ctypes.CDLL(library_of_sqlite())
        library = ctypes.CDLL(str(columns_library()))
        return bool(known_to.sqlite3_auto_extension(library.adminkit_columns_init) == 0)
    except (OSError, AttributeError, ImportError):  # not installed or not to be read; or SQLite is a part of Python
        return False


def columns(
    db: sqlite3.Connection,
    texts: Sequence[str],
    numbers: Sequence[str],
    rest: str,
    given: Mapping[str, Any] | Sequence[Any] = (),
) -> tuple[list[Texts], list[NDArray[Any]]]:
    """What "SELECT texts, numbers" with `rest` (FROM and what follows) answers, in its order, as columns.

    Whole numbers are as narrow as they allow: widen them before a product or a sum. A column in which a number is
    unknown is of floats, NaN for that one.
    """
    found, values = masked_columns(db, texts, numbers, rest, given)
    return found, [with_nan(column) for column in values]


def masked_columns(
    db: sqlite3.Connection,
    texts: Sequence[str],
    numbers: Sequence[str],
    rest: str,
    given: Mapping[str, Any] | Sequence[Any] = (),
) -> tuple[list[Texts], list[NDArray[Any]]]:
    """The same, with every whole number as it is: a column in which some are unknown is a masked array."""
    if not _can_read_columns(db):
        rows = db.execute(f"SELECT {', '.join((*texts, *numbers))} {rest}", given)
        return _by_row(iter(lambda: rows.fetchmany(CHUNK), []), len(texts), len(numbers))
    kinds = "t" * len(texts) + "n" * len(numbers)
    (rows,) = db.execute(f"SELECT {_FUNCTION}('{kinds}', {', '.join((*texts, *numbers))}) {rest}", given).fetchone()
    if rows == 0:
        return _by_row((), len(texts), len(numbers))
    # One at a time: SQLite holds a second copy of what it hands over.
    blobs = (db.execute(f"SELECT {_ONE}(?)", (place,)).fetchone()[0] for place in range(len(kinds)))
    return [_texts(next(blobs), rows) for _ in texts], [_numbers(next(blobs), rows) for _ in numbers]


def _can_read_columns(db: sqlite3.Connection) -> bool:
    """Whether the connection has the functions. AdminkitError where the library has some of them only."""
    there = len(db.execute(_FUNCTIONS).fetchall())
    if there == 1:
        raise AdminkitError(
            f"{columns_library()} is of another release of adminkit",
            "install adminkit again; in a checkout: rm .venv/.built && make .venv/.built",
        )
    return there > 0


def _by_row(
    chunks: Iterable[list[tuple[Any, ...]]], texts: int, numbers: int
) -> tuple[list[Texts], list[NDArray[Any]]]:
    import numpy as np

    known: list[dict[str | None, int]] = [{} for _ in range(texts)]
    parts: list[list[NDArray[Any]]] = [[np.zeros(0, np.int32)] for _ in range(texts + numbers)]
    for rows in chunks:
        for place, values in enumerate(zip(*rows, strict=True)):
            if place < texts:
                codes = known[place]
                part = np.array([codes.setdefault(value, len(codes)) for value in values], np.int32)
            elif None in values:
                part = np.ma.masked_array([value or 0 for value in values], [value is None for value in values])
            else:
                part = np.array(values)
            parts[place].append(part)
    whole = [(np.ma if any(map(np.ma.isMaskedArray, some)) else np).concatenate(some) for some in parts]
    return [Texts(one, list(codes)) for one, codes in zip(whole, known, strict=False)], whole[texts:]


def _head(blob: bytes, rows: int) -> tuple[NDArray[Any], list[int]]:
    """The values of a column as they were handed over, and its head."""
    import numpy as np

    width, real, *rest = np.frombuffer(blob, np.int64, _HEAD).tolist()
    return np.frombuffer(blob, f"f{width}" if real else f"i{width}", rows, 8 * _HEAD), [width, real, *rest]


def _numbers(blob: bytes, rows: int) -> NDArray[Any]:
    import numpy as np

    values, (_, real, missing, *_) = _head(blob, rows)
    if not missing:
        return values
    return np.ma.masked_array(values, np.isnan(values) if real else values == np.iinfo(values.dtype).min)


def _texts(blob: bytes, rows: int) -> Texts:
    import numpy as np

    values, (width, _, _, count, _, no_text) = _head(blob, rows)
    at = 8 * _HEAD + _padded(rows * width)
    ends = np.frombuffer(blob, np.int64, count, at).tolist()
    at += 8 * count
    names: list[str | None] = [
        blob[at + begin : at + end].decode(errors="replace") for begin, end in zip([0, *ends], ends, strict=False)
    ]
    if no_text:
        names[no_text - 1] = None
    return Texts(values, names)


def _padded(size: int) -> int:
    return -(-size // 8) * 8


def with_nan(column: NDArray[Any]) -> NDArray[Any]:
    """NaN for what is masked; single precision holds numbers of 16 bits."""
    import numpy as np

    if not isinstance(column, np.ma.MaskedArray):
        return column
    values, unknown = column.data, np.ma.getmaskarray(column)
    if unknown.all():
        return np.broadcast_to(np.float64(np.nan), len(values))  # takes no room
    if values.dtype.kind == "f":
        known = values.copy()
    else:
        known = values.astype(np.float32 if values.dtype.itemsize <= 2 else np.float64)
    known[unknown] = np.nan
    return known
