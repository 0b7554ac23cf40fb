"""Measured curves, and what lies between their points: for a model, for the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adminkit.power.scaling import Model, Point, model
from adminkit.stats.power_curve import Curve


class Size(NamedTuple):
    """What a number of GPUs does: work a second, and the watts of all of them; `measured`, else the model's."""

    gpus: int
    rate: float
    watts: float
    measured: bool


def points_of(curve: Curve) -> list[Point]:
    """What a model is fitted to. Batches that are not known, of all or of some, count as one."""
    known = all(place.batch is not None for place in curve.places)
    return [
        Point(place.gpus, (place.batch or 1.0) if known else 1.0, place.seconds, place.watts) for place in curve.places
    ]


def sizes_of(curve: Curve, batch: float | None, wanted: Sequence[int]) -> list[Size]:
    """Every number of GPUs of `wanted` from the least to the greatest that was measured with this batch, without gaps:
    what was not measured is the model's. [] where the watts of one are not known.
    """
    mine = {place.gpus: place for place in curve.places if place.batch == batch}
    fitted = model(points_of(curve))
    found = []
    for gpus in (one for one in wanted if min(mine) <= one <= max(mine)):
        place = mine.get(gpus)
        watts = place.watts if place is not None else None
        if watts is None and fitted is not None:
            watts = fitted.watts(gpus, _batch_of(curve, batch))
        if watts is None:
            return []
        seconds = place.seconds if place is not None else _seconds(fitted, gpus, _batch_of(curve, batch))
        found.append(Size(gpus, 1 / seconds, watts, place is not None))
    return found


def _seconds(fitted: Model | None, gpus: int, batch: float) -> float:
    assert fitted is not None  # it had the watts
    return fitted.seconds(gpus, batch)


def _batch_of(curve: Curve, batch: float | None) -> float:
    """The batch as points_of() has it."""
    return batch if batch is not None and all(place.batch is not None for place in curve.places) else 1.0
