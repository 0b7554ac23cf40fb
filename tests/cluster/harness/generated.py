"""Ended jobs put into a cluster's accounting by SQL: more than anybody would run for a test."""

from __future__ import annotations

from tests.bench.bench_sync import INSERT
from tests.cluster.harness.cluster import Cluster

STEPS = """
INSERT INTO alpha_step_table (job_db_inx, id_step, nodelist, nodes_alloc, state, step_name, task_cnt, time_start,
    time_end, user_sec, user_usec, tres_alloc, tres_usage_in_max, tres_usage_in_tot, tres_usage_out_tot)
SELECT job_db_inx, -5, nodelist, 1, state, 'batch', 1, time_start, time_end, 12, 345678, tres_alloc,
    '1=12345,2=3383296,3=0,6=11087,7=5644288,8=0', '1=12345,2=3383296,3=0,6=11087,7=5644288,8=0', '3=0,6=1'
FROM alpha_job_table
"""


def add_jobs(cluster: Cluster, jobs: int, start: int, steps: bool = False, first: int = 1_000_000) -> None:
    """One a second since `start` (epoch seconds), each over within 90 minutes; `first`: the number before the first."""
    assoc, uid = cluster.sql("SELECT id_assoc, 5 FROM alpha_assoc_table WHERE user = 'games' LIMIT 1")[0]
    cluster.sql(INSERT.format(assoc=assoc, uid=uid, start=start, jobs=jobs, first=first))
    if steps:
        cluster.sql(f"{STEPS} WHERE job_db_inx > {first}")


def remove_jobs(cluster: Cluster) -> None:
    cluster.sql("DELETE FROM alpha_step_table WHERE job_db_inx > 1000000")
    cluster.sql("DELETE FROM alpha_job_table WHERE job_db_inx > 1000000")
