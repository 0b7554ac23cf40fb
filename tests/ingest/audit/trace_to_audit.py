"""How the tests of this folder forge a trace, ask about it and read it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from adminkit.ingest.audit import audit
from adminkit.ingest.audited import Audited
from adminkit.ingest.sync_run import Options
from tests.ingest.fake_slurm import FakeSlurm

HOUR, DAY = 3600, 86_400
NOW = int(time.time())
ALL = ("confirmed", "contradicted", "unknown", "beyond", "open")


FORGED = (
    "INSERT INTO job (cluster, job_id_raw, submit_time, source, job_id, user, uid, state, start_time, end_time,"
    " elapsed, time_limit, limit_kind, limit_source, limit_original, gpus)"
    " VALUES ('{cluster}', {number}, {submit}, 'slurmdbd', '{number}', 'news', 9, 'COMPLETED', {submit}, {end}, 3500,"
    " 3600, 'finite', 'explicit', 3600, 8)"
)


def ask(slurm: FakeSlurm, db: Path, *clusters: str, **words: Any) -> Audited:
    slurm.write()
    words = {"steps": False, **words}
    steps = words.pop("steps")
    found = audit(Options(db, steps=steps, steps_pause=0.0, timeout=5.0), clusters, lambda _: None, **words)
    return found[0]


def counts(done: Audited) -> tuple[int, ...]:
    return tuple(done.counts[verdict] for verdict in ALL)


def forge(
    number: int = 990001, submit: int = NOW - 5 * DAY + 77, end: int | None = None, cluster: str = "alpha"
) -> str:
    return FORGED.format(number=number, submit=submit, end=end or submit + 3500, cluster=cluster)
