"""How fast the runs of one user and name went, and on how many joules: by what they wrote of themselves.

The iterations are a claim of the program's (docs/progress.md); nothing but advice to its own user is made of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.stats.energy import cpus_of_nodes

#: Runs that are looked at, the last ones.
MOST: Final = 500
_RUNS: Final = f"""
SELECT size_gpus, elapsed, iterations, nullif(energy, 0), coalesce(size_nodes, 1), size_cpus, cluster, node_list
FROM run WHERE user = :user AND job_name = :name AND cluster = coalesce(:cluster, cluster)
    AND iterations > 0 AND elapsed > 0 AND size_gpus > 0
ORDER BY end_time DESC LIMIT {MOST}
"""


@dataclass(slots=True)
class Ran:
    """The runs with one number of GPUs: seconds an iteration of each; joules of those alone on nodes with a meter."""

    gpus: int
    seconds: list[float] = field(default_factory=list)
    joules: list[float] = field(default_factory=list)
    iterations: int = 0
    elapsed: int = 0
    metered: int = 0  # iterations of the runs of `joules`
    energy: float = 0.0  # of these
    shared: int = 0  # runs with a meter whose nodes were not theirs alone


def progress(db: sqlite3.Connection, user: str, name: str, cluster: str | None, node_watts: float) -> Sequence[Ran]:
    """By number of GPUs, the number that most runs had first. Impossible joules are unknown (stats/energy.py)."""
    there = cpus_of_nodes(db)
    found: dict[int, Ran] = {}
    rows = db.execute(_RUNS, {"user": user, "name": name, "cluster": cluster}).fetchall()
    for gpus, elapsed, iterations, joules, nodes, cpus, on, listed in rows:
        ran = found.setdefault(gpus, Ran(gpus))
        ran.seconds.append(elapsed / iterations)
        ran.iterations += iterations
        ran.elapsed += elapsed
        if joules is None or joules > elapsed * nodes * node_watts:
            continue
        held = there(on, listed)
        if held is not None and cpus is not None and cpus < held:
            ran.shared += 1
            continue
        ran.joules.append(joules / iterations)
        ran.metered += iterations
        ran.energy += joules
    return sorted(found.values(), key=lambda ran: (-len(ran.seconds), ran.gpus))
