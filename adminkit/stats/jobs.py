"""The runs themselves, for whoever computes with them: rows of the view run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from adminkit.errors import unknown_word
from adminkit.job import KEY, Job
from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select
from adminkit.trace.columns import Texts
from adminkit.trace.months import door
from adminkit.trace.run_view import DERIVED

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TEXTS: Final = {one.name for one in fields(Job) if str(one.type).startswith("str")} | {"class", "gpu_kind"}
#: Stands for an unknown number; floats hold it exactly, and no column of a trace does.
_UNKNOWN: Final = -(1 << 62)
#: Every column of the view run, in its order.
COLUMNS: Final = (*(one.name for one in fields(Job)), *DERIVED)


def jobs(
    db: sqlite3.Connection, filter: Filter, columns: Sequence[str] = COLUMNS
) -> dict[str, Texts | tuple[NDArray[Any], NDArray[Any]]]:
    """These columns of the runs that `filter` takes, by cluster, job and submission: texts, or numbers and which of
    them are unknown. UsageError for another column.
    """
    for name in columns:
        if name not in COLUMNS:
            raise unknown_word("column", name, COLUMNS)
    selection = select(filter, limits=False)
    wanted = dict.fromkeys((*columns, *KEY))
    named, counted = ([name for name in wanted if (name in _TEXTS) is text] for text in (True, False))
    # Trap: as NaN, an unknown number would make a column one of floats, which do not hold every whole number.
    numbers = [f'coalesce("{name}", {_UNKNOWN})' for name in counted]
    texts, values = door.columns(
        db, [f'"{name}"' for name in named], numbers, f"FROM run WHERE {selection.where}", selection.params
    )
    its, known = dict(zip(named, texts, strict=True)), dict(zip(counted, values, strict=True))
    cluster, *others = KEY
    order = _order(its[cluster], [known[name] for name in others])
    return {
        name: Texts(its[name].codes[order], its[name].names)
        if name in its
        else (known[name][order], known[name][order] == _UNKNOWN)
        for name in columns
    }


def _order(cluster: Texts, numbers: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The rows by cluster, then by the numbers."""
    import numpy as np

    names = [name or "" for name in cluster.names]
    rank = np.argsort(np.array(sorted(range(len(names)), key=names.__getitem__), np.int64))
    return np.lexsort((*reversed(numbers), rank[cluster.codes]))
