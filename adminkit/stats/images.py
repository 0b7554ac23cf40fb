"""How often container images of each kind are started: by how many runs, on how many nodes, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select
from adminkit.trace.months.door import groups

_KEYS: Final = ("cluster", "container", "user")
#: Starts, those of short runs, seconds.
_SUMS: Final = ("size_nodes", "CASE WHEN elapsed <= :short THEN 1 ELSE 0 END", "elapsed")
_IMAGES: Final = "FROM run WHERE {where} AND container IS NOT NULL AND size_nodes > 0 AND elapsed >= 0"


@dataclass(frozen=True, slots=True)
class Image:
    """The runs with images of one kind (apptainer, enroot …) on one cluster."""

    cluster: str
    container: str
    runs: int
    starts: float  # on each node of each run once
    short: int  # runs of at most the seconds that were asked for
    users: int
    elapsed: float  # seconds, their sum


def images(db: sqlite3.Connection, chosen: Filter, least: int, short: int) -> list[Image]:
    """Kinds of images that were started `least` times or more, most first. Runs of unknown nodes are left out."""
    selection = select(chosen, limits=False)
    rest, given = _IMAGES.format(where=selection.where), {**selection.params, "short": short}
    found = groups(db, _KEYS, (), _SUMS, (), rest, given)
    texts = (map(one.names.__getitem__, one.codes.tolist()) for one in found.texts)
    sums = (one.tolist() for one in (found.jobs, *found.sums))
    kinds: dict[tuple[str, str], list[int]] = {}
    for cluster, container, user, *values in zip(*texts, *sums, strict=True):
        known = kinds.setdefault((str(cluster), str(container)), [0] * 5)
        kinds[str(cluster), str(container)] = [a + b for a, b in zip(known, (*values, user is not None), strict=True)]
    kept = (
        Image(*key, runs, float(starts), brief, users, seconds)
        for key, (runs, starts, brief, seconds, users) in kinds.items()
        if starts >= least
    )
    return sorted(kept, key=lambda one: (-one.starts, one.cluster, one.container))
