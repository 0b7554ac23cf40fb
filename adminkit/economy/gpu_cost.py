"""What a training's own runs were charged for an iteration, by number of GPUs: for `adminkit recommend gpus`."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from adminkit.economy.charges import charge
from adminkit.economy.formula import NotChargeable
from adminkit.economy.schemes import Scheme
from adminkit.stats.charged_jobs import whole_jobs
from adminkit.stats.progress import Counted


def gpu_costs(db: sqlite3.Connection, scheme: Scheme, counted: Sequence[Counted], since: int) -> Mapping[int, float]:
    """By number of GPUs, in the scheme's smallest unit for an iteration.

    A job counts where all its runs had the same GPUs and counted iterations: a charge is a whole job's.
    """
    told = {(one.cluster, one.job_id_raw, one.submit_time): one for one in counted}
    owed: dict[int, int] = {}
    iterations: dict[int, int] = {}
    for job in whole_jobs(db, sorted({one.cluster for one in counted}), since):
        runs = [told.get((piece.cluster, piece.job_id_raw, piece.submit_time)) for piece in job.pieces]
        known = [one for one in runs if one is not None]
        if len(known) < len(runs) or len({one.gpus for one in known}) != 1:
            continue
        try:
            amount = charge(job, scheme).amount
        except NotChargeable:
            continue
        gpus = known[0].gpus
        owed[gpus] = owed.get(gpus, 0) + amount
        iterations[gpus] = iterations.get(gpus, 0) + sum(one.iterations for one in known)
    return {gpus: amount / iterations[gpus] for gpus, amount in owed.items()}
