"""Measured curves of time and energy: the rows of the table power_curve, one curve for what may be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from adminkit.sqlite import sqlite3

_ROWS: Final = """
SELECT model, gpu, cap, iterations IS NOT NULL, gpus, batch, count(*),
    sum(seconds / coalesce(iterations, 1)) / count(*),
    sum(joules / coalesce(iterations, 1)) / count(joules)
FROM power_curve WHERE model = coalesce(?1, model) AND gpu = coalesce(?2, gpu) AND (?3 IS NULL OR cap = ?3)
    AND (?4 IS NULL OR batch = ?4)
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3 DESC, 4, 6, 5
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A configuration, the mean of its `rows` measurements: seconds and joules of an iteration or a piece of work."""

    gpus: int
    batch: float | None
    rows: int
    seconds: float
    joules: float | None

    @property
    def watts(self) -> float | None:
        return None if self.joules is None else self.joules / self.seconds


@dataclass(frozen=True, slots=True)
class Curve:
    """What was measured of one model on one kind of GPU at one power limit, in one unit of work."""

    model: str
    gpu: str
    cap: float | None
    by_iteration: bool  # else by a piece of work that the source does not count
    places: Sequence[Place]


def curves(
    db: sqlite3.Connection,
    model: str | None = None,
    gpu: str | None = None,
    cap: float | None = None,
    batch: float | None = None,
) -> list[Curve]:
    """Every curve of these, by model, kind of GPU and power limit, the highest first; places by batch and GPUs."""
    found = []
    rows = db.execute(_ROWS, (model, gpu, cap, batch)).fetchall()
    for (name, kind, limit, counted), its in groupby(rows, lambda row: row[:4]):
        found.append(Curve(name, kind, limit, bool(counted), [Place(*row[4:]) for row in its]))
    return found


def models(db: sqlite3.Connection) -> list[str]:
    """Every model of which anything was measured, by name."""
    return [name for (name,) in db.execute("SELECT DISTINCT model FROM power_curve ORDER BY 1")]
