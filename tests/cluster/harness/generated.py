"""Ended jobs put into a cluster's accounting by SQL: more than anybody would run for a test."""

from __future__ import annotations

from typing import Final

from tests.bench.bench_sync import INSERT
from tests.cluster.harness.cluster import Cluster

STEPS = """
INSERT INTO alpha_step_table (job_db_inx, id_step, nodelist, nodes_alloc, state, step_name, task_cnt, time_start,
    time_end, user_sec, user_usec, tres_alloc, tres_usage_in_max, tres_usage_in_tot, tres_usage_out_tot)
SELECT job_db_inx, -5, nodelist, 1, state, 'batch', 1, time_start, time_end, 12, 345678, tres_alloc,
    '1=12345,2=3383296,3=0,6=11087,7=5644288,8=0', '1=12345,2=3383296,3=0,6=11087,7=5644288,8=0', '3=0,6=1'
FROM alpha_job_table
"""
#: Slurm's NO_VAL, INFINITE and NO_VAL64.
_NO_VAL, _INFINITE, _UNSET = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFE
#: Columns of jobs -> SQL in turn, row by row. The numbers of words have few common factors, so they meet in many ways.
_JOBS: Final = {
    "state": "3 3 3 4 5 6 7 8 9 10 11 3 4".split(),
    "kill_requid": ["NULL", "0", "5", str(_INFINITE), "60000", "NULL", "9"],
    "exit_code": ["0", "0", "256", "9", "65280", "34304", "139", str(_NO_VAL), "15", "32512", "0"],
    "derived_ec": ["0", "0", "0", "512", "65280", "9", "34304", str(_NO_VAL)],
    "timelimit": ["60", "240", str(_NO_VAL), str(_INFINITE), "1", "0", "4320", "525600", "10"],
    "time_suspended": ["0", "0", "0", "7", "0", "61", "0", "3599", "0", "100000"],
    "flags": "0 1 2 4 8 16 17 18 24 20 26".split(),
    "id_group": "0 5 60 65534 4242 1000 100".split(),
    "id_qos": "0 1 1".split(),
    "state_reason_prev": [str(number) for number in range(29)],
    "priority": ["0", "1", "4294901743", "5000", str(_NO_VAL)],
    "cpus_req": "0 1 8 256".split(),
    "nodes_alloc": "0 1 1 4".split(),
    "nodelist": ["'n1'", "'None assigned'", "''", "'n[1-4]'", "'n[1-2,4]'"],
    "`partition`": ["'gq'", "'gq-short'", "'gq,gq-short'", "''", "'gq-long'"],
    "tres_req": ["'1=8,2=64000,4=1,5=8,1001=1'", "''", "'1=1'", f"'1=2,2={_UNSET},4=1,5=2'",
                 "'1=4,2=4096,4=2,5=4,1001=3,1002=3'"],
    "tres_alloc": ["'1=8,2=64000,4=1,5=8,1001=1'", "''", "'1=2,2=1,3=18446744073709551614,4=1,5=2'",
                   "'1=4,2=4096,3=1234567,4=2,5=4,1002=3,1001=3'"],
    "account": ["'staff'", "'physics'", "''", "NULL"],
    "admin_comment": ["NULL", "''", "'a|b'", "'adminkit.record=limit:60'", "'naïve \\\\ \"x\"'"],
    "system_comment": ["NULL", "''", "'two\\nlines'"],
    "derived_es": ["NULL", "''", "'a\\tb'", "'[_0x3]'", "'x_[0x3]|'"],
    "submit_line": ["NULL", "''", "'sbatch -t 60 a.sh'", "'srun --mem=4G python \"a b\".py'", "'salloc -p gq'",
                    "'sbatch --wrap=a\\nb'"],
    "job_name": ["'train'", "''", "'a|b'", "'naïve'", "'two\\nlines'", "concat('x', char(1))", "'%s$(id)'"],
}  # fmt: skip
#: Columns of their steps.
_STEPS: Final = {
    "id_step": "-5 -4 0 1 -6 4000".split(),
    "step_het_comp": [str(_NO_VAL), str(_NO_VAL), "0", "3", str(_NO_VAL)],
    "state": "3 4 5 6 7 11 3 3".split(),
    "kill_requid": ["NULL", "0", str(_INFINITE), "5", "NULL"],
    "exit_code": "0 256 9 65280 34304 139 -2 0 15".split(),
    "task_cnt": "1 0 64".split(),
    "nodes_alloc": "1 4 0 1".split(),
    "time_suspended": "0 0 3 0 0 0".split(),
    "user_sec": "0 12 3599 3600 90061 1000000 0".split(),
    "user_usec": "0 345678 999999 999 1000".split(),
    "sys_sec": "0 1 59".split(),
    "sys_usec": "0 654322 1".split(),
    "consumed_energy": ["0", str(_UNSET), "123456789", "1"],
    "step_name": ["'batch'", "''", "'a|b'", "'naïve'", "'two\\nlines'"],
    "tres_alloc": ["'1=8,2=64000,4=1,5=8,1001=1'", "''", "'1=4,2=4096,4=2'"],
    "tres_usage_in_max": ["'1=12345,2=3383296,3=0,6=11087,7=5644288,8=0'", "''", "'1=1'",
                          f"'1={_UNSET},2={_UNSET}'", "'2=0'"],
    "tres_usage_in_tot": ["'1=12345,2=3383296,3=0,6=11087,7=5644288,8=0'", "''", f"'2={_UNSET},6=5'"],
    "tres_usage_out_tot": ["'3=0,6=1'", "''", "'6=99999999999'"],
}  # fmt: skip
#: What hangs together: jobs that never started; tasks of arrays; components of het jobs; associations that are gone.
_KINDS: Final = """
UPDATE alpha_job_table SET
    time_start = IF(job_db_inx % 31 = 0, 0, IF(job_db_inx % 37 = 0, time_end + 5, time_start)),
    time_eligible = IF(job_db_inx % 31 = 0 AND job_db_inx % 2, 0, time_eligible),
    state = IF(job_db_inx % 31 = 0, 4, state),
    id_array_job = IF(job_db_inx % 50 < 20, id_job - job_db_inx % 50 % 20, 0),
    id_array_task = IF(job_db_inx % 50 < 20, job_db_inx % 50 % 20, 4294967294),
    het_job_id = IF(job_db_inx % 50 BETWEEN 30 AND 33, id_job - (job_db_inx % 50 - 30), 0),
    het_job_offset = IF(job_db_inx % 50 BETWEEN 30 AND 33, job_db_inx % 50 - 30, 4294967294),
    id_assoc = IF(job_db_inx % 41 = 0, 0, id_assoc),
    id_user = elt(1 + job_db_inx % 43 % 3, 5, 9, 60000)
WHERE job_db_inx > 1000000
"""


def add_jobs(cluster: Cluster, jobs: int, start: int, steps: bool = False, first: int = 1_000_000) -> None:
    """One a second since `start` (epoch seconds), each over within 90 minutes; `first`: the number before the first."""
    assoc, uid = cluster.sql("SELECT id_assoc, 5 FROM alpha_assoc_table WHERE user = 'games' LIMIT 1")[0]
    cluster.sql(INSERT.format(assoc=assoc, uid=uid, start=start, jobs=jobs, first=first))
    if steps:
        cluster.sql(f"{STEPS} WHERE job_db_inx > {first}")


def vary(cluster: Cluster) -> None:
    """Give the jobs that were put in, and their steps, all that a table may hold, in many combinations."""
    for table, columns in (("job", _JOBS), ("step", _STEPS)):
        given = ", ".join(
            f"{name} = elt(1 + (job_db_inx DIV {1 + place} + {place}) % {len(values)}, {', '.join(values)})"
            for place, (name, values) in enumerate(columns.items())
        )
        cluster.sql(f"UPDATE alpha_{table}_table SET {given} WHERE job_db_inx > 1000000")
    cluster.sql(_KINDS)


def remove_jobs(cluster: Cluster) -> None:
    cluster.sql("DELETE FROM alpha_step_table WHERE job_db_inx > 1000000")
    cluster.sql("DELETE FROM alpha_job_table WHERE job_db_inx > 1000000")
