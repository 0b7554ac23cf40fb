"""The rollups in a load of many rows by adminkit-ingest: it sums up what it put in at its end, in its transaction.

A trigger takes 25 µs for a row, 3 µs to do nothing. So that of INSERT is away meanwhile. `upto` of rollup_kept is the
last rowid before the load: the triggers correct the sums where a row up to it changes, and leave what comes after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from adminkit.trace.rollup import (
    BINS,
    DROP,
    EDGES_OF_RUN,
    HELD,
    INSERTED,
    KEYS,
    LEVELS,
    SUMS,
    add_ended,
    add_key,
    add_occupied,
    hour_of,
    image,
    keep,
    key_of,
    triggers,
)


class RollupLoad(NamedTuple):
    """What adminkit-ingest is given: statements before and after the rows, and how their sums are made.

    `number` and `number_new` are of a key, whose parts are ?1 …; `sums` as its option --sum has them.
    """

    before: Sequence[str]
    rows: str
    sums: Sequence[str]
    number: str
    number_new: str
    after: Sequence[str]


_NEW: Final = "(SELECT * FROM job WHERE rowid > (SELECT upto FROM rollup_kept) AND end_time IS NOT NULL)"


def _at(time: str) -> str:
    """SQL: hour, key, LEVELS of a run's start or end; the hour is NULL where it does not count."""
    levels = EDGES_OF_RUN[time]
    return f"CASE WHEN {HELD} THEN {hour_of(time)} END, key, {', '.join(levels[name] for name in LEVELS)}"


_NUMBERED: Final = {"key": f"numbered({', '.join(KEYS.values())})"}
_ROWS: Final = (
    f"SELECT hour, key, {', '.join((*BINS, *SUMS))}, {', '.join(map(_at, EDGES_OF_RUN))}"
    f" FROM ({image(_NEW, _NUMBERED)})"
)
_ENDED: Final = (2 + len(BINS), len(SUMS))
_OCCUPIED: Final = (2, len(LEVELS))


def _bound(count: int) -> str:
    return f"VALUES ({', '.join(f'?{number + 1}' for number in range(count))})"


def _sums() -> list[str]:
    """The options --sum: where the columns of each table stand in _ROWS, and the statement for a group."""
    first, found = 0, []
    for (groups, sums), add in ((_ENDED, add_ended), *((_OCCUPIED, add_occupied) for _ in EDGES_OF_RUN)):
        found.append(f"{first},{groups},{sums}:{add(_bound(groups + sums))}")
        first += groups + sums
    return found


_PLACES: Final = {name: f"?{number}" for number, name in enumerate(KEYS, start=1)}
_LOAD: Final = RollupLoad(
    before=("UPDATE rollup_kept SET upto = (SELECT coalesce(max(rowid), 0) FROM job)", f"DROP TRIGGER {INSERTED}"),
    rows=_ROWS,
    sums=_sums(),
    number=key_of(_PLACES.__getitem__),
    number_new=add_key(_bound(len(KEYS))),
    after=(triggers()[0], "UPDATE rollup_kept SET upto = NULL"),
)


def loading() -> RollupLoad:
    """Of a load into a trace that keeps rollups."""
    return _LOAD


def rebuilding(now: int) -> RollupLoad:
    """Make the rollups from every row of job, and keep them from here on."""
    return _LOAD._replace(before=(*DROP, *keep(now), "UPDATE rollup_kept SET upto = -1", f"DROP TRIGGER {INSERTED}"))
