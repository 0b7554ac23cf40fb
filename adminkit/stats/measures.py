"""Measures that several parts of one answer need, each read once: a report and a finding of the same jobs share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeVar

from adminkit.sqlite import sqlite3
from adminkit.stats.efficiencies import Efficiencies, efficiencies
from adminkit.stats.file_waits import Classify, Waits, file_waits
from adminkit.stats.select import Filter, clusters
from adminkit.stats.users import Users, users

M = TypeVar("M")

#: A year back, seconds: as far as the page of all reports looks, and the months that a month is compared with.
YEAR: Final = 365 * 86_400


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured of one trace. It is kept as it was measured first, whatever was written since.

    `parts` of efficiencies() are measured in one scan when the first of them is asked for.
    """

    parts: Sequence[str] = ()
    _known: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)

    def efficiencies(self, db: sqlite3.Connection, chosen: Filter, part: str) -> Efficiencies:
        parts = self.parts if part in self.parts else (part,)
        return self._once(("efficiencies", parts), db, chosen, lambda same: efficiencies(db, same, parts))[
            parts.index(part)
        ]

    def file_waits(self, db: sqlite3.Connection, chosen: Filter, part: str, classify: Classify, classes: int) -> Waits:
        return self._once(
            ("file_waits", part, classify), db, chosen, lambda same: file_waits(db, same, part, classify, classes)
        )

    def users(self, db: sqlite3.Connection, chosen: Filter) -> Users:
        return self._once(("users",), db, chosen, lambda same: users(db, same))

    def _once(self, name: tuple[Any, ...], db: sqlite3.Connection, chosen: Filter, make: Callable[[Filter], M]) -> M:
        # Whoever names every cluster asks for what whoever names none does.
        same = replace(chosen, clusters=()) if set(clusters(db)) == set(chosen.clusters) else chosen
        values = (getattr(same, one.name) for one in fields(same) if one.compare)
        key = (*name, *(tuple(one) if isinstance(one, (list, tuple)) else one for one in values))
        if key not in self._known:
            self._known[key] = make(same)
        found: M = self._known[key]
        return found
