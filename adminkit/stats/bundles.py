"""What the steps of a run tell of how parallel it was: whether it is a bundle, single-GPU work side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select
from adminkit.stats.sources import STEP_OF_RUN
from adminkit.trace.months.edges import has_steps

#: CPU time of a step over its run time, below which it does not count, by default; :min_cpu_use in SQL.
MIN_CPU_USE: Final = 0.02
_WORK: Final = f"""{STEP_OF_RUN}
           AND step NOT IN ('batch', 'extern', 'interactive') AND end_time > start_time
           AND NOT coalesce(step.cpu_time < :min_cpu_use * (end_time - start_time), 0)"""

#: SQL over a row of run. A bundle is single-GPU work side by side: most step time is in steps of one node and at most
#: one GPU, and two of these overlap. Steps without CPU use do not count; nor does the batch step, which does not show
#: what runs in it.
BUNDLE: Final = f"""
(SELECT total(CASE WHEN single THEN busy END) >= 0.9 * total(busy * max(coalesce(gpus, 1), 1))
        AND coalesce(max(single AND together), 0)
 FROM (SELECT gpus, end_time - start_time AS busy, coalesce(gpus <= 1 AND nodes <= 1, 0) AS single,
           coalesce(start_time < max(end_time) OVER (
               PARTITION BY coalesce(gpus <= 1 AND nodes <= 1, 0) ORDER BY start_time, end_time, step
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS together
       FROM step
       WHERE {_WORK}))
"""

#: SQL over a row of run: whether it has steps. Only for speed: BUNDLE takes as long for a run without.
_SEEN: Final = f"EXISTS (SELECT 1 FROM step WHERE {STEP_OF_RUN})"

#: What a multi-GPU or multi-node run looks like by its steps and its command line.
LOOKS: Final = ("parallel", "bundle", "one task per GPU", "not known")
#: SQL over a row of run: its look where it has no steps.
LOOK_WITHOUT_STEPS: Final = "CASE WHEN framework IS NULL THEN 'not known' ELSE 'parallel' END"
#: SQL over a row of run: one of LOOKS. A launcher on the command line says parallel; so does a step with fewer tasks
#: than GPUs, one program on several. A step with a task for each GPU may be MPI, or as many programs of their own.
LOOK: Final = f"""CASE
    WHEN NOT {_SEEN} THEN {LOOK_WITHOUT_STEPS}
    WHEN {BUNDLE} THEN 'bundle' WHEN framework IS NOT NULL THEN 'parallel'
    ELSE coalesce((SELECT CASE max(step.tasks < step.gpus) WHEN 1 THEN 'parallel' WHEN 0 THEN 'one task per GPU' END
        FROM step WHERE {_WORK} AND step.gpus > 1), 'not known') END"""

# Trap: without LIMIT SQLite writes BUNDLE out wherever its name stands, and computes it as often.
_BUNDLERS: Final = f"""
SELECT cluster, user, count(*), total(bundle), total(elapsed * size_gpus * bundle) FROM (
    SELECT cluster, user, elapsed, size_gpus, CASE WHEN {_SEEN} THEN coalesce({BUNDLE}, 0) ELSE 0 END AS bundle
    FROM run WHERE (size_gpus > 1 OR size_nodes > 1) AND size_gpus > 0 AND user IS NOT NULL AND {{where}}
    LIMIT -1
) GROUP BY cluster, user HAVING total(bundle) > 0 ORDER BY 5 DESC, cluster, user
"""


@dataclass(frozen=True, slots=True)
class Bundler:
    """A user's runs of several GPUs; `bundles` of them are bundles, which took `gpu_seconds`."""

    cluster: str
    user: str
    runs: int
    bundles: int
    gpu_seconds: float


def bundlers(db: sqlite3.Connection, chosen: Filter) -> list[Bundler]:
    """The users with bundles among the jobs that `chosen` takes, those with the most GPU-seconds first."""
    if not has_steps(db):
        return []
    selection = select(chosen, limits=False)
    found = db.execute(_BUNDLERS.format(where=selection.where), {**selection.params, "min_cpu_use": MIN_CPU_USE})
    return [Bundler(cluster, user, runs, int(bundles), seconds) for cluster, user, runs, bundles, seconds in found]
