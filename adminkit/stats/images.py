"""How often container images of each kind are started: by how many runs, on how many nodes, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select

_IMAGES: Final = """
SELECT cluster, container, count(*), total(size_nodes), count(*) FILTER (WHERE elapsed <= :short),
    count(DISTINCT user), coalesce(sum(elapsed), 0)
FROM run WHERE {where} AND container IS NOT NULL AND size_nodes > 0 AND elapsed >= 0
GROUP BY cluster, container HAVING total(size_nodes) >= :least ORDER BY 4 DESC, cluster, container
"""


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
    given = {**selection.params, "least": least, "short": short}
    return [Image(*row) for row in db.execute(_IMAGES.format(where=selection.where), given)]
