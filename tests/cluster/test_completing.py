"""A job whose limit is its QOS's, put back while its last run is COMPLETING, as the checkpoint plugin does at a limit.

By its source slurmctld may then write the next run's numbers into the row of the run that ended.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import adminkit
from tests.cluster.harness.processes import until

pytestmark = [pytest.mark.cluster, pytest.mark.soak]


@pytest.fixture(scope="module")
def cluster(outside: Listing, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    epilog = tmp_path_factory.mktemp("epilog") / "epilog"
    epilog.write_text("#!/bin/sh\nsleep 4\n")
    epilog.chmod(0o755)
    with private_slurm(nodes=1, AccountingStorageEnforce="limits,qos", Epilog=str(epilog)) as booted:
        conf = booted.home / "slurm.conf"
        conf.write_text(f"{conf.read_text()}PartitionName=open Nodes=ALL State=UP\n")  # without any limit
        booted.restart_ctld()
        booted.until_idle()
        booted.ask("sacctmgr", "-i", "add", "qos", "capped", "MaxWall=00:03:00")
        booted.ask("sacctmgr", "-i", "modify", "user", "games", "set", "qos+=capped")
        yield booted


def test_the_row_of_the_run_that_ended_stays_whole(cluster: Cluster, tmp_path: Path) -> None:
    options = ("-p", "open", "--qos=capped")
    first = 'if [ -z "$SLURM_RESTART_COUNT" ]; then sleep 2; exit 3; fi'
    jobs = [cluster.submit(first, *options, user="games") for _ in range(4)]
    for job in jobs:
        cluster.wait(job, "COMPLETING")
        cluster.ask("scontrol", "requeue", str(job))
    until("each second run to end", lambda: all(cluster.states(job) == ["COMPLETED"] for job in jobs), 90.0)
    cluster.settle()
    db = tmp_path / "trace.db"
    adminkit(cluster, db, "sync", "--since", "1h")
    columns = "coalesce(restarts, continues), continues, time_limit, start_time IS NOT NULL, elapsed >= 2, exit_code"
    with closing(sqlite3.connect(db)) as trace:
        for job in jobs:
            select = f"SELECT {columns} FROM run WHERE job_id_raw = {job} ORDER BY submit_time"
            before, after = trace.execute(select).fetchall()
            assert before == (0, 0, 180, 1, 1, 3)
            assert after[:4] == (1, 1, 180, 1)
