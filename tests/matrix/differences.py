"""The differences between Slurm's releases that adminkit handles, each in one file: a table of docs/releases.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Difference:
    """`since` is the first release that has it, as far as is known, `place` the file that handles it."""

    since: str
    what: str
    place: str


DIFFERENCES: Final = (
    Difference(
        "23.02",
        "sacct's field Reserved is now Planned; later releases add fields (24.11: Restarts)",
        "adminkit/ingest/sources/sacct_fields.py",
    ),
    Difference("23.02", "a job has the field `extra`, which may hold a policy's record", "adminkit/doctor/rules.py"),
    Difference("23.02", "--ntasks-per-node by itself leaves num_tasks unset in Lua", "job_submit/adminkit/request.lua"),
    Difference(
        "23.02",
        "every error has a constant in Lua; before, only eight errors had one",
        "job_submit/adminkit/slurm_api.lua",
    ),
    Difference(
        "23.02",
        "sacct's AllocCPUS of a job without an allocation is 0; before, it was what the job had asked for",
        "adminkit/ingest/sources/slurmdbd_fields.py",
    ),
    Difference("23.02", "the environment of a job's tasks has SLURM_JOB_END_TIME", "spank/common/task_env.h"),
    Difference(
        "23.11", "Lua sees --gres=gpu:2 as gres/gpu:2; before, Lua saw gres:gpu:2", "job_submit/adminkit/gres.lua"
    ),
    Difference("23.11", "cgroup.conf accepts CgroupPlugin=disabled", "tests/cluster/harness/config.py"),
    Difference("24.11", "sbatch no longer has SLURM_OPEN_MODE in its own environment", "spank/common/slurm_compat.h"),
    Difference(
        "24.11",
        "DBIndex is the job's SLUID, a number up to 2^64; before, DBIndex was the number of a database row",
        "adminkit/native/common/number_fields.c",
    ),
    Difference(
        "24.11", "slurmdbd gives a cluster a random id, and slurmctld checks the id", "tests/cluster/harness/cluster.py"
    ),
    Difference(
        "24.11",
        "MariaDB 11.6 and later enable snapshot isolation, which slurmdbd does not support",
        "tests/cluster/harness/config.py",
    ),
    Difference(
        "25.05",
        "a job with --time-min but without --time no longer makes backfill hang (25.05.6, 25.11.1)",
        "adminkit/deploy/planning.py",
    ),
    Difference(
        "25.11",
        "resources.yaml can define resources that a job uses on each of its nodes (mode 3)",
        "adminkit/slurm/licences.py",
    ),
    Difference(
        "25.11",
        "if the script of a job with --requeue=expedite fails, Slurm requeues and holds the job",
        "spank/common/slurm_compat.h",
    ),
    Difference(
        "25.11",
        "requeued jobs are delayed by SchedulerParameters=requeue_delay, no longer by AuthInfo's cred_expire",
        "adminkit/slurm/requeue.py",
    ),
    Difference(
        "25.11",
        "sacct prints every exit code as it is; before, sacct subtracted 128 from an exit code of 128 or more",
        "adminkit/ingest/sources/slurmdbd_fields.py",
    ),
    Difference(
        "26.05",
        "slurm_load_job(), slurm_requeue() and job updates expect a slurm_step_id_t instead of a job number",
        "spank/common/slurm_compat.h",
    ),
    Difference(
        "26.05",
        "slurmd cancels or requeues a job with names or values in --export if its user has no login shell; before, the"
        " job ran",
        "tests/cluster/test_hub.py",
    ),
    Difference(
        "26.05",
        "a job's cgroup is named after its SLUID, unless CgroupJobIdPaths=yes; before, it was named job_N",
        "spank/common/proc_parse.c",
    ),
    Difference("26.05", "slurm_free_ctl_conf() is renamed slurm_free_conf()", "spank/common/slurm_compat.h"),
    Difference(
        "26.05",
        "a job is refused if job_submit.lua has an error; before, the job was accepted",
        "job_submit/adminkit/slurm_api.lua",
    ),
    Difference(
        "26.05",
        "`sacctmgr show configuration` no longer shows slurmdbd's PrivateData, release and start time",
        "adminkit/slurm/cluster.py",
    ),
    Difference(
        "26.05",
        "a new accounting database gets incomplete rows for the runs that slurmctld remembers",
        "adminkit/trace/upsert.py",
    ),
    Difference(
        "26.05",
        "a queue that gives out whole nodes has Exclusive=NODE instead of OverSubscribe=EXCLUSIVE",
        "adminkit/slurm/partitions.py",
    ),
    Difference(
        "26.05",
        "squeue's field Exclusive says whether a job has whole nodes; before, the field OverSubscribe did",
        "adminkit/slurm/room.py",
    ),
    Difference(
        "26.05",
        "backfill keeps a limit that was updated while backfill yielded its locks (26.05.3; not in 25.05.8 or 25.11.7)",
        "adminkit/deploy/planning.py",
    ),
    Difference(
        "23.11",
        "a running slurmctld takes other parameters of slurm.conf at a reconfigure than before",
        "adminkit/slurm/run_time.py",
    ),
    Difference("26.05", "sacct can list its fields and states even if slurmdbd is down", "adminkit/slurm/cluster.py"),
)
