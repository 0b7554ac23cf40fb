"""Which of two hours a local time means, and whether the times of a row contradict each other.

native/common/order.c has the same for accounting text; tests hold them to one table of cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Final

from adminkit.ingest.sources.cells import REVOKED
from adminkit.ingest.spec import Column
from adminkit.trace.sensible import CLOCKS

#: What comes after what.
ORDER: Final = ("submit_time", "eligible_time", "start_time", "end_time")
#: sacct's fields of these, of the run time (twice) and of the suspension, as adminkit-ingest's --order takes them.
_FIELDS: Final = ("Submit", "Eligible", "Start", "End", "ElapsedRaw", "Elapsed", "Suspended")
#: The meanings of a time: none where it is unknown, two in an hour that occurs twice.
Meanings = tuple[int, ...]


def order_of(columns: Sequence[Column]) -> tuple[int, ...]:
    """Where `columns` of sacct's fields have those of the order, from 1; 0 for none: for adminkit-ingest's --order."""
    places = {column.name: place for place, column in enumerate(columns, 1) if column.kind != "skip"}
    return tuple(places.get(name, 0) for name in _FIELDS)


def without_siblings(columns: Sequence[Column]) -> tuple[str, ...]:
    """The jobs for adminkit-ingest's --without: those that another cluster of a federation took."""
    return tuple(f"{place}={REVOKED}" for place, column in enumerate(columns, 1) if column.kind == "state")


def settled(times: Sequence[Meanings], ran: int | None) -> tuple[list[int | None], set[str]]:
    """(the times of a row in the order of ORDER, those of which both hours are possible).

    `ran`: the seconds from start to end, where they are known.
    """
    every: list[tuple[int | None, ...]] = list(product(*(meanings or (None,) for meanings in times)))
    wrong = [_wrong(one, ran) for one in every]
    best = [one for one, how in zip(every, wrong, strict=True) if how == min(wrong)]
    undecided = {name for place, name in enumerate(ORDER) if len({one[place] for one in best}) > 1}
    first = min(best, key=_earliest)
    return list(first), undecided


def _earliest(times: tuple[int | None, ...]) -> list[int]:
    return [time or 0 for time in times[::-1]]


def _wrong(times: Sequence[int | None], ran: int | None) -> tuple[int, int]:
    """How often the order is broken, and by how many seconds the run time is not that from start to end."""
    known = [time for time in times if time is not None]
    broken = sum(after < before for before, after in pairwise(known))
    start, end = times[-2:]
    off = 0 if start is None or end is None or ran is None else abs(end - start - ran)
    return broken, off


def contradictory(submit: object, start: object, end: object, elapsed: object) -> bool:
    """Whether a run ended before it was submitted or started, or ran for longer than that. Numbers, or unknown."""
    if not isinstance(end, int):
        return False
    begin = start if isinstance(start, int) else submit
    if isinstance(submit, int) and end < submit - CLOCKS:
        return True
    return isinstance(begin, int) and (elapsed if isinstance(elapsed, int) else 0) > end - begin + CLOCKS
