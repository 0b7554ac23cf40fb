"""The view `run`: every row of `job` with what measures derive from its columns. The one home of each of these facts.

The SQL is what SQLite and DuckDB both take and answer alike: CASE for truth values (0 and 1), and no max() of two
values, which the two treat differently where one is NULL. What depends on a setting is not a column of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.job import SERVER_NAME
from adminkit.trace.continued_runs import CONTINUED, CONTINUES, PIECE, PREVIOUS_SUBMIT, acting
from adminkit.trace.decision_sql import iterations, soft_limit

#: Durations of this and more (68 years) are nonsense and count as unknown; measures keep durations in 32 bits.
TOO_LONG: Final = 2**31 - 1
#: The study counts jobs that ended as they should, or at their limit …
STUDY_STATES: Final = ("COMPLETED", "TIMEOUT")
#: … and ran longer than this, in seconds: shorter ones are mostly typing errors.
STUDY_MIN_ELAPSED: Final = 60

#: SQL: adminkit gave the running job more time, not all of which was taken back.
EXTENDED: Final = f"(ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < {TOO_LONG})"
#: SQL: the last limit, without the time that adminkit gave. A limit above the one that it set last is somebody else's.
UNEXTENDED: Final = f"CASE WHEN {EXTENDED} AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END"
#: The most that was ever asked for: nobody looks better by lowering a limit before the end, nor by raising a small one.
REQ_LIMIT: Final = f"""CASE
        WHEN limit_original > coalesce({UNEXTENDED}, 0)
            THEN CASE WHEN limit_original < {TOO_LONG} THEN limit_original END
        WHEN ({UNEXTENDED}) > 0 AND ({UNEXTENDED}) < {TOO_LONG} THEN {UNEXTENDED} END"""
#: What ended a run that reached it: the last limit of a run that was given more time, else REQ_LIMIT.
_LAST_LIMIT: Final = f"""CASE WHEN {EXTENDED} AND time_limit > 0 AND time_limit < {TOO_LONG} THEN time_limit
        ELSE {REQ_LIMIT} END"""
#: What a run used of the time that it was given; 0 where it ended within the limit that was asked for.
_MORE_USED: Final = f"""CASE WHEN {EXTENDED} AND elapsed >= 0 AND elapsed < {TOO_LONG} THEN CASE
        WHEN elapsed <= ext_asked THEN 0 WHEN elapsed < ext_limit THEN elapsed - ext_asked
        ELSE ext_limit - ext_asked END END"""
#: How large a run was, or as large as was asked for.
NODES: Final = "coalesce(nodes, req_nodes)"
CPUS: Final = "coalesce(cpus, req_cpus)"
GPUS: Final = "coalesce(gpus, req_gpus)"  # whole ones, as the row has them
#: What of its GPUs is not whole; NULL for none.
_PARTS: Final = "CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END"
#: Whether accounting named no GPUs when the run began, whatever it had.
_UNTRACKED: Final = """EXISTS (SELECT 1 FROM gpu_untracked AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until)"""
#: Whether what it counted as GPUs may have been slices.
_UNTYPED: Final = f"(gpu_type IS NULL AND {_UNTRACKED.replace('gpu_untracked', 'gpu_untyped')})"


def _of_words(column: str) -> str:
    return f"(SELECT w.{column} FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = ({_PARTS}))"


#: GPU equivalents: whole ones and what the parts make; NULL where either is unknown.
SIZE_GPUS: Final = f"""CASE WHEN ({_PARTS}) IS NOT NULL THEN {GPUS} + {_of_words("equivalents")}
        WHEN {GPUS} = 0 THEN CASE WHEN NOT {_UNTRACKED} THEN 0 END WHEN NOT {_UNTYPED} THEN {GPUS} END"""
#: SQL over the view: accounting has something to say of the run's GPUs, and how many they were is not known.
GPUS_IN_DOUBT: Final = """(size_gpus IS NULL
        AND coalesce(gpus >= 0, req_gpus >= 0, gpu_parts IS NOT NULL OR req_gpu_parts IS NOT NULL))"""
#: What GPUS_OR_CPUS has for these: the size of no other run.
IN_DOUBT: Final = -(1 << 40)
#: SQL over the view: the GPUs of a run, a part of one as a whole one, or, below 0, the CPUs of a run without.
GPUS_OR_CPUS: Final = f"""CASE WHEN {GPUS_IN_DOUBT} THEN {IN_DOUBT} WHEN size_gpus > 0
        THEN CAST(round(size_gpus) AS BIGINT) + CASE WHEN round(size_gpus) < size_gpus THEN 1 ELSE 0 END
        ELSE -coalesce(size_cpus, size_nodes, 0) END"""
#: SQL over the view: GPUs, where all of them are whole or there are none: of its node a part of a GPU tells little.
WHOLE_OR_NONE: Final = "CASE WHEN gpu_kind = 'whole' OR size_gpus = 0 THEN size_gpus END"


def _pieces(words: str) -> str:
    """SQL: the parts of GPUs that these words are, as rules count them: of MPS each GPU that it is a part of."""
    return f"""(SELECT CASE WHEN w.mps = 0 THEN w.slices + w.shards
            WHEN w.kind = 'mps' AND instr(w.words, ',') = 0 AND coalesce(run.req_nodes, run.nodes) = 1
            THEN CAST(w.equivalents AS INTEGER) + (CAST(w.equivalents AS INTEGER) < w.equivalents) END
            FROM gpu_words AS w WHERE w.cluster = run.cluster AND w.words = {words})"""


#: SQL over the view: the parts of GPUs in ASKED_GPUS; NULL where that is not known.
ASKED_PARTS: Final = f"""CASE WHEN req_gpu_parts IS NOT NULL THEN {_pieces("req_gpu_parts")} WHEN req_gpus > 0 THEN 0
        WHEN gpu_parts IS NOT NULL THEN {_pieces("gpu_parts")} WHEN size_gpus IS NOT NULL THEN 0 END"""
#: SQL over the view: what was asked for in GPU equivalents, where that is known, else what was allocated.
ASKED_GPUS: Final = """CASE WHEN req_gpu_parts IS NOT NULL
        THEN req_gpus + (
            SELECT w.equivalents FROM gpu_words AS w WHERE w.cluster = run.cluster AND w.words = req_gpu_parts)
        WHEN req_gpus > 0 OR req_gpus = 0 AND gpu_parts IS NULL AND size_gpus IS NOT NULL THEN req_gpus
        ELSE size_gpus END"""
_KIND: Final = f"""CASE WHEN ({_PARTS}) IS NULL THEN CASE WHEN {GPUS} > 0 AND NOT {_UNTYPED} THEN 'whole' END
        WHEN {GPUS} > 0 THEN 'mixed' ELSE {_of_words("kind")} END"""
#: SQL: the run started. Trap: of a job that was cancelled while it waited sacct has a start, the moment of its end, and
#: no nodes.
STARTED: Final = (
    "start_time IS NOT NULL AND (end_time IS NULL OR end_time > start_time OR elapsed > 0 OR node_list IS NOT NULL)"
)
#: How many tasks the row stands for: pending ones of an array share a row, also after they were cancelled.
_TASKS: Final = f"""CASE WHEN array_job IS NULL OR array_task IS NOT NULL THEN 1
        WHEN array_tasks IS NOT NULL THEN array_tasks WHEN {STARTED} THEN 1 END"""
#: The soft limit of a record read whole, in the field that users cannot write; one in Comment is no more than `stated`.
_SOFT_LIMIT: Final = f"CASE WHEN limit_source = 'explicit' THEN {soft_limit('admin_comment')} END"
_STUDY_COUNTED: Final = f"""CASE
        WHEN state IN ('{"', '".join(STUDY_STATES)}') AND elapsed > {STUDY_MIN_ELAPSED} AND elapsed < {TOO_LONG}
            AND ({REQ_LIMIT}) > 0
        THEN 1 ELSE 0 END"""


_NOTED: Final = "ckpt_requeues IS NOT NULL AND (ckpt_requeues > 0 OR ckpt_heard > 0)"
#: Whether it was put back, continues another run, or was warned in time.
CHECKPOINT: Final = f"""CASE WHEN {_NOTED} THEN 1 ELSE {PIECE} END"""


def class_sql(nodes: str, gpus: str) -> str:
    """SQL: one of job.CLASSES from two SQL expressions, of nodes and GPUs; NULL where the GPUs are unknown."""
    return (
        f"CASE WHEN {nodes} > 1 THEN 'multi-node' WHEN {gpus} > 1 THEN 'multi-gpu'"
        f" WHEN {gpus} > 0 THEN 'single-gpu' WHEN {gpus} = 0 THEN 'cpu' END"
    )


def step_of(table: str) -> str:
    """SQL: whether a row of step belongs to the run in the row of `table`, and is the word of the same source."""
    return (
        f"step.cluster = {table}.cluster AND step.job_id_raw = {table}.job_id_raw"
        f" AND step.submit_time = {table}.submit_time AND step.source = {table}.source"
    )


#: What the view has besides the columns of `job`, in its order -> what it is in. "" for a switch (0, 1); class is text.
DERIVED: Final[Mapping[str, str]] = {
    "req_limit": "seconds",
    "class": "",
    **dict.fromkeys(("size_nodes", "size_cpus", "size_gpus", "size_units"), "count"),
    **dict.fromkeys(("interactive", "checkpoint"), ""),
    **dict.fromkeys(("wait", "soft_limit"), "seconds"),
    **dict.fromkeys(("acting", "study_counted"), ""),
    "iterations": "count",
    "gpu_kind": "",
    **{"continues": "", "previous_submit": "UTC", "continued": "", "tasks": "count"},
    **dict.fromkeys(("last_limit", "more_given", "more_used"), "seconds"),
}
#: As class_sql, with one look-up for the many runs without GPUs.
_CLASS: Final = f"""CASE WHEN {NODES} > 1 THEN 'multi-node'
        WHEN {GPUS} = 0 AND ({_PARTS}) IS NULL THEN CASE WHEN NOT {_UNTRACKED} THEN 'cpu' END
        WHEN ({_PARTS}) IS NULL THEN CASE WHEN NOT ({GPUS} > 1 AND {_UNTYPED}) THEN {class_sql("1", GPUS)} END
        ELSE {class_sql("1", SIZE_GPUS)} END"""
_STEPS: Final = f"SELECT 1 FROM step WHERE {step_of('job')}"
#: The SELECT of the view `run` over the tables `job` and `step`. Traps: it names no schema, because whoever attaches
#: the file chooses that name; and a view of the schema never sees temporary tables, so sight.py, which puts views
#: before job and step, makes it once more. Once the schema is released, a further column is a migration that replaces
#: the view.
RUN_SELECT: Final = f"""SELECT job.*,
    {REQ_LIMIT} AS req_limit,
    {_CLASS} AS class,
    {NODES} AS size_nodes, {CPUS} AS size_cpus, {SIZE_GPUS} AS size_gpus,
    CASE WHEN ({GPUS} > 0 OR ({_PARTS}) IS NOT NULL) AND ({SIZE_GPUS}) > 0 THEN {SIZE_GPUS}
        WHEN {CPUS} > 0 THEN {CPUS} END AS size_units,
    CASE WHEN job_name IN ('interactive', '{SERVER_NAME}') OR submitted_by IN ('salloc', 'srun')
            OR EXISTS ({_STEPS} AND step.step = 'interactive')
            OR submitted_by IS NULL AND EXISTS ({_STEPS}) AND NOT EXISTS ({_STEPS} AND step.step = 'batch')
        THEN 1 ELSE 0 END AS interactive,
    {CHECKPOINT} AS checkpoint,
    start_time - eligible_time AS wait,
    {_SOFT_LIMIT} AS soft_limit,
    CASE WHEN {acting("job")} THEN 1 ELSE 0 END AS acting,
    {_STUDY_COUNTED} AS study_counted,
    {iterations("admin_comment")} AS iterations,
    {_KIND} AS gpu_kind,
    {CONTINUES} AS continues, {PREVIOUS_SUBMIT} AS previous_submit, {CONTINUED} AS continued,
    {_TASKS} AS tasks,
    {_LAST_LIMIT} AS last_limit,
    CASE WHEN {EXTENDED} THEN ext_limit - ext_asked END AS more_given,
    {_MORE_USED} AS more_used
FROM job
"""
#: The statement that makes the view.
RUN_VIEW: Final = f"CREATE VIEW run AS {RUN_SELECT}"
