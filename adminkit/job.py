"""Job: the one record. Its fields are the columns of the table `job`, in base units, None for unknown.

Times are epoch seconds (UTC), durations seconds, sizes bytes, energy joules. A run that was requeued is a
Job of its own: the key is (cluster, job_id_raw, submit_time), slurmdbd's own unique index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

KEY: Final = ("cluster", "job_id_raw", "submit_time")
STEP_KEY: Final = (*KEY, "step")

#: Source of a row -> its rank. A source of lower rank never changes the row of a higher one; stats/sources.py has what
#: each counts for. `trusted`: text that an operator vouched for.
SOURCES: Final[Mapping[str, int]] = {"slurmdbd": 4, "trusted": 3, "text": 2, "swf": 2, "demo": 1}
#: The result of an audit of a row of slurmdbd's: slurmdbd has it, or cannot say, as it keeps nothing of that time.
AUDITED: Final = ("confirmed", "beyond")
#: Why `time_limit` is or is not a number.
LIMIT_KINDS: Final = ("finite", "unlimited", "partition", "unknown")
#: Who chose it. `stated`: typed, says a record that the job's owner may write: it counts for no points.
LIMIT_SOURCES: Final = ("explicit", "stated", "default", "unknown")
#: How a run ended that got the checkpoint plugin's signal; spank/ckpt/note.h has the meanings. Runs with the first two
#: were put back into the queue.
CKPT_ENDS: Final = ("more", "limit", "done", "failed", "max", "short", "refused")
#: What may have submitted a job.
SUBMITTERS: Final = ("sbatch", "srun", "salloc", "scrontab")
#: The job name of a server of JupyterHub (docs/jupyter.md). Any user may give it to a job: it saves letters, no more.
SERVER_NAME: Final = "jupyter"
#: What the numbers of the columns of `job` are in. A number that is not here is a name: an id, a code, a switch.
UNITS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("submit_time", "seen_open", "eligible_time", "start_time", "end_time", "ckpt_at"), "UTC"),
    **dict.fromkeys(("elapsed", "suspended", "time_limit", "limit_original", "cpu_time"), "seconds"),
    **dict.fromkeys(("ext_asked", "ext_limit"), "seconds"),
    **dict.fromkeys(("req_mem", "mem", "max_rss", "disk_read", "disk_write"), "bytes"),
    **dict.fromkeys(("req_nodes", "req_cpus", "req_gpus", "nodes", "cpus", "gpus"), "count"),
    **dict.fromkeys(("array_tasks", "restarts", "ext_times", "ckpt_heard", "ckpt_requeues"), "count"),
    "energy": "joules",
}
#: How parallel the run was. A run on more than one node is multi-node, with GPUs or without.
CLASSES: Final = ("cpu", "single-gpu", "multi-gpu", "multi-node")


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one job (one task of an array, one component of a het job)."""

    cluster: str
    job_id_raw: int  # sacct's JobIDRaw: every array task and het component has its own
    submit_time: int
    source: str = "text"  # one of SOURCES
    audited: str | None = None  # one of AUDITED; None before the first audit
    seen_open: int | None = None  # when sync's last snapshot showed it pending, running or suspended
    db_index: int | None = (
        None  # slurmdbd's DBIndex: a cross-check, no key. Until 24.05 it restarts with a rebuilt database
    )
    job_id: str | None = None  # as Slurm prints it: 123, 123_4, 123_[5-9%2], 123+1
    array_job: int | None = None
    array_task: int | None = None  # None while pending tasks share one record
    array_tasks: int | None = None  # how many share it; None for a task of its own, and where sacct cut the list
    het_job: int | None = None
    het_offset: int | None = None
    user: str | None = None
    uid: int | None = None
    group: str | None = None
    account: str | None = None
    queue: str | None = None  # Slurm's partition; "a,b" while several were asked for and none was chosen
    qos: str | None = None
    job_name: str | None = None
    state: str | None = None  # one word: "CANCELLED by 1000" is CANCELLED and cancelled_by 1000
    cancelled_by: int | None = None  # uid
    reason: str | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    derived_exit_code: int | None = None  # the highest code of its steps
    priority: int | None = None
    flags: str | None = None
    restarts: int | None = None
    eligible_time: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    elapsed: int | None = None  # run time without suspension
    suspended: int | None = None
    time_limit: int | None = None  # the final one, as sacct has it; None unless limit_kind is finite
    limit_kind: str = "unknown"
    limit_source: str = "unknown"
    limit_original: int | None = None  # what was asked for at submission, where that was recorded
    ext_asked: int | None = (
        None  # the limit before more time was given; like the next two from `adminkit extend`'s word
    )
    ext_limit: int | None = None  # the limit that it set last
    ext_times: int | None = None  # how many raises stand; 0: all were taken back
    ckpt_at: int | None = (
        None  # when the checkpoint plugin sent its signal in this run, or found no process to send it to
    )
    ckpt_heard: int | None = None  # how many processes got it; 0: no process caught it
    ckpt_requeues: int | None = None  # how often adminkit had put this job back when the run ended
    ckpt_end: str | None = None  # what the plugin made of the run's end; one of CKPT_ENDS
    req_nodes: int | None = None
    req_cpus: int | None = None
    req_gpus: int | None = None
    req_gpu_parts: str | None = None  # as gpu_parts
    req_mem: int | None = None  # whole job
    nodes: int | None = None  # allocated, like the next four
    cpus: int | None = None
    gpus: int | None = None
    gpu_type: str | None = None
    gpu_parts: str | None = None  # what is not a whole GPU: slice:a100_3g.20gb=2,shard=4; "?": it cannot be read
    mem: int | None = None
    node_list: str | None = None
    cpu_time: float | None = None  # seconds of CPU really used, summed over its steps
    max_rss: int | None = None  # the largest peak of any task
    disk_read: int | None = None  # summed over its steps
    disk_write: int | None = None
    energy: int | None = None
    admin_comment: str | None = None
    submitted_by: str | None = None  # one of SUBMITTERS, by the command line; None for another or no command line
    ckpt_asked: int | None = None  # 0, 1: the command line asks the checkpoint plugin for something
    program: str | None = None  # the name of the script or command, as far as the command line tells
    framework: str | None = None  # one of programs.py, like the next
    container: str | None = None
    fingerprint: int | None = None  # of the text that last changed the row: the same text again need not be compared


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one run: batch, extern, interactive or a number."""

    cluster: str
    job_id_raw: int
    submit_time: int
    step: str
    source: str = "text"  # as a Job's; a step counts with a run of its own source
    step_name: str | None = None
    state: str | None = None
    nodes: int | None = None
    tasks: int | None = None
    gpus: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    elapsed: int | None = None
    cpu_time: float | None = None
    max_rss: int | None = None  # the largest peak of any task
    disk_read: int | None = None
    disk_write: int | None = None
    energy: int | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    fingerprint: int | None = None  # as a Job's
    mem_used: int | None = None  # the peaks of all its tasks, added up
    gpus_used: float | None = None  # GPUs that were busy, as they were last measured
