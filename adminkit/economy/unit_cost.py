"""What jobs were charged for a unit of what they did, by number of GPUs: for `adminkit recommend gpus`.

What they did may be a claim of their program's, so what comes of it is advice, and no charge.
"""

from __future__ import annotations

from collections.abc import Mapping

from adminkit.economy.charges import charge
from adminkit.economy.formula import NotChargeable
from adminkit.economy.schemes import Scheme
from adminkit.sqlite import sqlite3
from adminkit.stats.charged_jobs import whole_jobs

#: The key of a run: cluster, job_id_raw, submit_time.
Key = tuple[str, int, int]


def unit_costs(
    db: sqlite3.Connection, scheme: Scheme, did: Mapping[Key, tuple[int, int]], since: int
) -> Mapping[int, float]:
    """The costs by number of GPUs, in the scheme's smallest unit; `did` has the GPUs of a run and its units."""
    owed: dict[int, int] = {}
    units: dict[int, int] = {}
    for job in whole_jobs(db, sorted({cluster for cluster, _, _ in did}), since):
        for place, run in enumerate(job.pieces):
            gpus, done = did.get((run.cluster, run.job_id_raw, run.submit_time), (0, 0))
            try:
                amount = charge(job, place, scheme).amount if done else 0
            except NotChargeable:
                continue
            owed[gpus] = owed.get(gpus, 0) + amount
            units[gpus] = units.get(gpus, 0) + done
    return {gpus: amount / units[gpus] for gpus, amount in owed.items() if units[gpus]}
