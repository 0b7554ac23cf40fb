"""What jobs were charged for a unit of what they did, by number of GPUs: for `adminkit recommend gpus`.

What they did may be a claim of their program's, so what comes of it is advice, and no charge.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from adminkit.economy.charges import charge
from adminkit.economy.formula import NotChargeable
from adminkit.economy.schemes import Scheme
from adminkit.stats.charged_jobs import whole_jobs

#: The key of a run: cluster, job_id_raw, submit_time.
Key = tuple[str, int, int]


def unit_costs(
    db: sqlite3.Connection, scheme: Scheme, did: Mapping[Key, tuple[int, int]], since: int
) -> Mapping[int, float]:
    """By number of GPUs, in the scheme's smallest unit; `did` has the GPUs of a run and how many units it did.

    A job counts where all its runs are in `did` and had the same GPUs: a charge is a whole job's.
    """
    owed: dict[int, int] = {}
    units: dict[int, int] = {}
    for job in whole_jobs(db, sorted({cluster for cluster, _, _ in did}), since):
        runs = [did.get((piece.cluster, piece.job_id_raw, piece.submit_time)) for piece in job.pieces]
        known = [one for one in runs if one is not None]
        if len(known) < len(runs) or len({gpus for gpus, _ in known}) != 1:
            continue
        try:
            amount = charge(job, scheme).amount
        except NotChargeable:
            continue
        gpus = known[0][0]
        owed[gpus] = owed.get(gpus, 0) + amount
        units[gpus] = units.get(gpus, 0) + sum(done for _, done in known)
    return {gpus: amount / units[gpus] for gpus, amount in owed.items()}
