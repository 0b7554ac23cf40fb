"""How fast the runs of a user and name went, and on how many joules: by what they wrote of themselves.

The iterations are a claim of the program's (docs/progress.md); nothing but advice to its own user is made of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.energy import cpus_of_nodes

#: Days of runs that are looked at, and runs of a name, the last ones.
DAYS: Final = 180
MOST: Final = 500
#: Trap: `iterations` is cut out of each comment, so a letter's are read for everybody at once.
_RUNS: Final = """
SELECT user, job_name, size_gpus, elapsed, iterations, nullif(energy, 0), coalesce(size_nodes, 1), size_cpus, cluster,
    node_list
FROM run WHERE end_time >= :since AND cluster = coalesce(:cluster, cluster) AND user = coalesce(:user, user)
    AND job_name = coalesce(:name, job_name) AND iterations > 0 AND elapsed > 0 AND gpu_kind = 'whole'
ORDER BY end_time DESC
"""


_COUNTED: Final = """
SELECT cluster, job_id_raw, submit_time, size_gpus, iterations FROM run
WHERE end_time >= :since AND cluster = coalesce(:cluster, cluster) AND user = :user AND job_name = :name
    AND iterations > 0 AND elapsed > 0 AND gpu_kind = 'whole'
ORDER BY end_time DESC LIMIT :most
"""
_HABIT: Final = """
SELECT cluster, queue, req_limit FROM run
WHERE end_time >= :since AND cluster = coalesce(:cluster, cluster) AND user = :user AND job_name = :name
    AND iterations > 0 AND elapsed > 0 AND gpu_kind = 'whole' AND queue IS NOT NULL AND req_limit > 0
ORDER BY end_time DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Habit:
    """What the last run of a name asked for."""

    cluster: str
    queue: str
    req_limit: int


def habit(db: sqlite3.Connection, now: int, user: str, name: str, cluster: str | None = None) -> Habit | None:
    """None where no counted run of the last DAYS had both a queue and a limit."""
    given = {"since": now - DAYS * 86_400, "cluster": cluster, "user": user, "name": name}
    found = db.execute(_HABIT, given).fetchone()
    return None if found is None else Habit(*found)


def counted(
    db: sqlite3.Connection, now: int, user: str, name: str, cluster: str | None = None
) -> dict[tuple[str, int, int], tuple[int, int]]:
    """The runs that progress() is about, by key: GPUs and iterations."""
    given = {"since": now - DAYS * 86_400, "cluster": cluster, "user": user, "name": name, "most": MOST}
    return {row[:3]: row[3:] for row in db.execute(_COUNTED, given)}


@dataclass(slots=True)
class Ran:
    """The runs with one number of GPUs: seconds an iteration; joules, of those that had metered nodes to themselves."""

    gpus: int
    seconds: list[float] = field(default_factory=list)
    joules: list[float] = field(default_factory=list)
    iterations: int = 0
    elapsed: int = 0
    metered: int = 0  # iterations of the runs of `joules`
    energy: float = 0.0  # of these
    shared: int = 0  # runs with a meter that shared their nodes

    @property
    def pace(self) -> float:
        """Seconds an iteration, of all runs together."""
        return self.elapsed / self.iterations

    @property
    def joules_each(self) -> float | None:
        """Joules an iteration, of the runs of `joules` together; None without one."""
        return self.energy / self.metered if self.metered else None


def progress(
    db: sqlite3.Connection,
    now: int,
    node_watts: float,
    *,
    cluster: str | None = None,
    user: str | None = None,
    name: str | None = None,
) -> dict[tuple[str, str], list[Ran]]:
    """(user, job name) -> its runs of the last DAYS by number of GPUs, the number that most of them had first.

    Impossible joules are unknown (stats/energy.py).
    """
    there = cpus_of_nodes(db)
    found: dict[tuple[str, str], dict[int, Ran]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    given = {"since": now - DAYS * 86_400, "cluster": cluster, "user": user, "name": name}
    for whose, called, gpus, elapsed, iterations, joules, nodes, cpus, on, listed in db.execute(_RUNS, given):
        key = (whose, called)
        seen[key] += 1
        if seen[key] > MOST:
            continue
        ran = found.setdefault(key, {}).setdefault(gpus, Ran(gpus))
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
    return {key: sorted(its.values(), key=lambda ran: (-len(ran.seconds), ran.gpus)) for key, its in found.items()}
