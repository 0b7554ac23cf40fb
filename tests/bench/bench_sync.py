"""The job pass of `sync` over jobs put into slurmdbd's tables, against the same windows' `sacct … > /dev/null`; and the
whole command, which also starts Python, asks what Slurm is like and takes the snapshot.

Needs root and Slurm's packages: it boots a private cluster, as tests/cluster does.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from unittest import mock

from adminkit.ingest.sources.base import JOBS as JOB_PASS
from adminkit.ingest.sources.base import Part
from adminkit.ingest.sources.sacct import Sacct, open_sacct
from adminkit.ingest.sources.sacct_fields import JOB_FIELDS, STEP_FIELDS
from adminkit.ingest.sync_run import Options, SyncRun
from adminkit.ingest.sync_windows import ask_windows
from adminkit.slurm import cluster as slurm
from adminkit.slurm.release import FINISHED
from adminkit.slurm.sacct import Query
from adminkit.trace import connect
from tests.bench import pairs
from tests.bench.tools import fresh
from tests.cluster.harness.cluster import Cluster
from tests.setup import guard

JOBS = 300_000
DAYS = 5

# MariaDB's sequence engine makes the numbers. TRES: 1 CPUs, 2 memory in MiB, 4 nodes, 5 billing, 1001 GPUs.
INSERT = """
INSERT INTO alpha_job_table (job_db_inx, account, cpus_req, job_name, id_assoc, id_job, id_resv, id_wckey, id_user,
    id_group, het_job_id, het_job_offset, kill_requid, state_reason_prev, mem_req, nodelist, nodes_alloc, node_inx,
    `partition`, priority, state, timelimit, time_submit, time_eligible, time_start, time_end, work_dir, submit_line,
    tres_alloc, tres_req)
SELECT {first} + seq, 'staff', 8, concat('train_', seq % 97), {assoc}, {first} + seq, 0, 0, {uid}, 60, 0, 4294967294,
    NULL, 0, 64000, concat('n', 1 + seq % 4), 1, '0', elt(1 + seq % 3, 'gq', 'gq-short', 'gq-long'), 5000 + seq % 700,
    elt(1 + seq % 20, 3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,6,5,4,3,3), elt(1 + seq % 5, 60, 240, 1440, 4320, 4320),
    {start} + seq, {start} + seq, {start} + seq + 30, {start} + seq + 90 + seq % 5000, '/home/games',
    concat('sbatch --gres=gpu:1 -t 4320 train_', seq % 97, '.sh'),
    '1=8,2=64000,4=1,5=8,1001=1', '1=8,2=64000,4=1,5=8,1001=1'
FROM seq_1_to_{jobs}
"""


Measure = Callable[[Cluster, Path], Iterable[pairs.Ratio]]


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    return on_cluster("sync", _measure, folder)


def on_cluster(what: str, measure: Measure, folder: Path) -> list[pairs.Ratio]:
    """What `measure` finds on a private cluster; nothing, and why, where none may be booted here."""
    verdict = guard.check()
    if not verdict.allowed or os.geteuid() != 0:
        print(f"{what} over {JOBS} jobs: not run: {verdict.reason if not verdict.allowed else 'needs root'}")
        return []
    with tempfile.TemporaryDirectory(prefix="adminkit-bench-") as private:
        cluster = Cluster(private)
        cluster.boot(owner=os.getpid())
        try:
            with mock.patch.dict(os.environ, cluster.env()):
                return list(measure(cluster, folder))
        finally:
            cluster.stop()


def _measure(cluster: Cluster, folder: Path) -> list[pairs.Ratio]:
    start = (int(time.time()) - DAYS * 86_400) // 3600 * 3600
    assoc, uid = cluster.sql("SELECT id_assoc, 5 FROM alpha_assoc_table WHERE user = 'games' LIMIT 1")[0]
    cluster.sql(INSERT.format(assoc=assoc, uid=uid, start=start, jobs=JOBS, first=1_000_000))
    db = folder / "sync.db"
    command = [
        str(Path(sys.executable).with_name("adminkit")),
        "sync",
        "--no-steps",
        "--since",
        str(start),
        "--db",
        str(db),
    ]

    def whole() -> float:
        fresh(db)
        return timed([command], cluster)

    def job_pass() -> float:
        fresh(db)
        return _job_pass(db, start)

    def theirs() -> float:
        with closing(sqlite3.connect(db)) as trace:
            windows = trace.execute("SELECT since, until FROM window WHERE pass = 'job' ORDER BY since").fetchall()
        return timed(
            [Query("alpha", since, until, FINISHED, fields(cluster)).argv("\x1f") for since, until in windows], cluster
        )

    whole()
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute("SELECT count(*) FROM job").fetchone()[0]
        asked = trace.execute("SELECT count(*), max(rows) FROM window").fetchone()
    print(f"sync: {found} of {JOBS} jobs in {asked[0]} windows of at most {asked[1]} rows")
    assert found == JOBS
    what = f"job pass of sync over {JOBS} jobs, against the bare sacct calls"
    result = pairs.compare(what, job_pass, theirs, 1.10, at_most=True)
    pairs.compare("  whole command, for information", whole, theirs, 1.20, at_most=True)
    return [result]


class _Settled(Sacct):
    """Asks sacct alone: slurmctld is not asked what it still holds."""

    def backlog(self) -> int:
        return 0


def _job_pass(db: Path, since: int) -> float:
    """Seconds that the pass takes in a trace made before; its windows are imported and recorded."""
    cluster = slurm.local_cluster()
    with connect.writer(db) as trace, tempfile.TemporaryDirectory(dir=db.parent) as spool:
        options = Options(db)
        source = _Settled(**vars(open_sacct(cluster, Path(spool), timeout=options.timeout, record=options.record)))
        run = SyncRun(trace, source, options, print)
        started = time.perf_counter()
        ask_windows(run, JOB_PASS, since, int(time.time()))
        return time.perf_counter() - started


def fields(cluster: Cluster, part: Part = JOB_PASS) -> list[str]:
    """The fields of a pass that this sacct has."""
    known = cluster.ask("sacct", "--helpformat").split()
    return [field for field in (JOB_FIELDS if part == JOB_PASS else STEP_FIELDS) if field in known]


def timed(commands: list[list[str]], cluster: Cluster) -> float:
    """Seconds these commands take one after the other, output to nowhere. Every core may be used: a server answers."""
    env = {**cluster.env(), "TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}
    started = time.perf_counter()
    for command in commands:
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
