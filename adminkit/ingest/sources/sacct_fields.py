"""sacct's fields: what each holds, and which column of the trace it feeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from adminkit.ingest.sources.gpu_values import filled, gpus_of
from adminkit.ingest.spec import Column, parameters
from adminkit.slurm.release import OLDEST, Release
from adminkit.trace import word_parts

#: Fields that feed the trace, and how adminkit-ingest reads them.
KINDS_OF_FIELDS: Final[dict[str, str]] = {
    "JobID": "jobid!",
    "JobIDRaw": "rawid!",
    "Submit": "time!^",
    "Cluster": "text^",
    "DBIndex": "serial",
    "User": "text",
    "UID": "int",
    "Group": "text",
    "Account": "text",
    "Partition": "text",
    "QOS": "text",
    "State": "state",
    "Reason": "text",
    "ExitCode": "exit",
    "DerivedExitCode": "exit",
    "Priority": "int",
    "Flags": "text",
    "Restarts": "int",
    "Eligible": "time",
    "Start": "time",
    "End": "time",
    "Elapsed": "seconds",
    "ElapsedRaw": "seconds",
    "Suspended": "seconds",
    "Timelimit": "limit",
    "TimelimitRaw": "limit",
    "ReqNodes": "int",
    "ReqCPUS": "int",
    "ReqMem": "reqmem",
    "ReqTRES": "tres",
    "ReqGRES": "gres",
    "NNodes": "int",
    "AllocNodes": "int",
    "NCPUS": "int",
    "AllocCPUS": "int",
    "AllocTRES": "tres",
    "AllocGRES": "gres",
    "NodeList": "nodelist",
    "NTasks": "int",
    "TotalCPU": "cputime",
    "UserCPU": "cputime",
    "SystemCPU": "cputime",
    "MaxRSS": "mem",
    "TRESUsageInTot": "usage",
    "TRESUsageOutTot": "usage",
    "ConsumedEnergyRaw": "int",
    "JobName": "free",
    "AdminComment": "admin_comment",
    "SubmitLine": "submitted",
}

#: Free text that feeds nothing, but may hold delimiters and newlines all the same.
FREE_FIELDS: Final = ("Comment", "SystemComment", "WorkDir", "Extra", "StdOut", "StdErr", "StdIn")

#: policy.toml's word for where a decision is recorded -> sacct's field.
RECORD_FIELDS: Final = {field.setting: field.name for field in word_parts.FIELDS}

#: Every other field of the oldest release and of those in SINCE: known, and ignored.
OTHER_FIELDS: Final = tuple(
    """AssocID AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize BlockID Constraints
    ConsumedEnergy Container CPUTime CPUTimeRAW Exclusive FailedNode GID Layout Licenses MaxDiskRead MaxDiskReadNode
    MaxDiskReadTask MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode MaxPagesTask MaxRSSNode
    MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask McsLabel MinCPU MinCPUNode MinCPUTask OriginalSLUID OverSubscribe
    Planned PlannedCPU PlannedCPURAW QOSRAW QOSREQ ReqCPUFreq ReqCPUFreqGov ReqCPUFreqMax ReqCPUFreqMin ReqReservation
    Reservation ReservationId Reserved ResvCPU ResvCPURAW SegmentSize SLUID TRESUsageInAve TRESUsageInMax
    TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin TRESUsageInMinNode TRESUsageInMinTask TRESUsageOutAve
    TRESUsageOutMax TRESUsageOutMaxNode TRESUsageOutMaxTask TRESUsageOutMin TRESUsageOutMinNode TRESUsageOutMinTask
    WCKey WCKeyID""".split()
)

#: Field -> the first release of sacct that has it, where that is later than the oldest one adminkit is tested on.
SINCE: Final[dict[str, Release]] = {
    **dict.fromkeys(("Planned", "PlannedCPU", "PlannedCPURAW", "Extra", "FailedNode", "Licenses"), (23, 2, 0)),
    **dict.fromkeys(("StdErr", "StdIn", "StdOut"), (24, 5, 0)),
    **dict.fromkeys(("QOSREQ", "Restarts", "SLUID"), (24, 11, 0)),
    **dict.fromkeys(("ReqReservation", "SegmentSize"), (25, 5, 0)),
    **dict.fromkeys(("Exclusive", "OriginalSLUID", "OverSubscribe"), (26, 5, 0)),
}
#: Field -> the first release of sacct without it. The two GRES fields occur in old files.
UNTIL: Final[dict[str, Release]] = {
    **dict.fromkeys(("ReqGRES", "AllocGRES"), OLDEST),
    **dict.fromkeys(("Reserved", "ResvCPU", "ResvCPURAW"), (23, 2, 0)),
}

_BY_LOWER: Final = {name.lower(): name for name in (*KINDS_OF_FIELDS, *FREE_FIELDS, *OTHER_FIELDS)}

#: Without these a row has no key.
KEY_FIELDS: Final = ("JobID", "JobIDRaw", "Submit")

#: What sync asks of every job, free text last. Fields a release lacks are left out.
JOB_FIELDS: Final = tuple(
    """JobID JobIDRaw Cluster DBIndex User UID Group Account Partition QOS State Reason ExitCode DerivedExitCode
    Priority Submit Eligible Start End ElapsedRaw Suspended TimelimitRaw ReqNodes ReqCPUS ReqMem ReqTRES AllocNodes
    AllocCPUS AllocTRES NodeList Restarts Flags AdminComment SubmitLine JobName""".split()
)

#: What sync asks of every step, in a pass of its own.
STEP_FIELDS: Final = tuple(
    """JobID JobIDRaw Cluster Submit State ExitCode Start End ElapsedRaw NNodes NTasks AllocTRES TotalCPU MaxRSS
    TRESUsageInTot TRESUsageOutTot ConsumedEnergyRaw JobName""".split()
)


#: SQL: the stored row and the one that comes are two runs, though they share a key. One that changes from snapshot to
#: snapshot has ended in the last one only; 7_[1-9] becomes 7_9 before it ends.
TWO_RUNS: Final = (
    "(job.end_time IS NOT NULL AND excluded.end_time IS NOT NULL AND coalesce(job.job_id <> excluded.job_id, FALSE))"
)
#: SQL: the same of two files, each of which may name the tasks that never started in its own way, 7_[1-9] or 7_[1-9%2].
TWO_TASKS: Final = f"({TWO_RUNS} AND job.job_id NOT GLOB '*[[]*' AND excluded.job_id NOT GLOB '*[[]*')"


def field_name(word: str) -> str | None:
    """sacct's own spelling of a field, in whatever case `word` is; None for an unknown word."""
    return _BY_LOWER.get(word.strip().lower())


def field_names() -> Iterable[str]:
    """Every field known, in sacct's spelling."""
    return _BY_LOWER.values()


def fields_of(release: Release) -> frozenset[str]:
    """The fields that sacct of this release has."""
    gone = {name for name, first in UNTIL.items() if release >= first}
    return frozenset(name for name in field_names() if SINCE.get(name, OLDEST) <= release) - gone


def columns_for(names: Iterable[str]) -> list[Column]:
    """How to read a line with these fields. Unknown words are ignored; of a field named twice the first counts."""
    columns, seen = [], set()
    for word in names:
        name = field_name(word) or word
        kind = KINDS_OF_FIELDS.get(name, "free" if name in FREE_FIELDS else "skip")
        if name in RECORD_FIELDS.values():
            kind = "admin_comment"
        if name in seen:
            kind = "skip"
        seen.add(name)
        bare = kind.rstrip("!^")
        columns.append(Column(name, bare, required="!" in kind, inherit="^" in kind))
    return columns


def job_values(columns: list[Column], cluster: str, recorded_in: str = "admin_comment") -> dict[str, str]:
    """Job's column -> SQL expression. `cluster` is SQL too: a parameter bound by hand.

    `recorded_in`: the one field whose record of the policy's decision is believed, as policy.toml names it.
    """
    place = parameters(columns)

    def first(*candidates: str) -> str | None:
        """The first of these that is known; a candidate names a place, or is an expression around {places}."""
        found = [sql for text in candidates if (sql := filled(text, place)) is not None]
        if not found:
            return None
        return found[0] if len(found) == 1 else f"coalesce({', '.join(found)})"

    values = {
        "cluster": first("Cluster", cluster) if "Cluster" in place else cluster,
        "job_id_raw": first("JobIDRaw"),
        "submit_time": first("Submit"),
        "db_index": first("DBIndex"),
        "job_id": first("JobID"),
        "array_job": first("JobID.array_job"),
        "array_task": first("JobID.array_task"),
        "array_tasks": first("JobID.array_tasks"),
        "het_job": first("JobID.het_job"),
        "het_offset": first("JobID.het_offset"),
        "user": first("User"),
        "uid": first("UID"),
        "group": first("Group"),
        "account": first("Account"),
        "queue": first("Partition"),
        "qos": first("QOS"),
        "job_name": first("JobName"),
        "state": first("State"),
        "cancelled_by": first("State.cancelled_by"),
        "reason": first(_unless("Reason", "'None'")),
        "exit_code": first("ExitCode"),
        "exit_signal": first("ExitCode.signal"),
        "derived_exit_code": first("DerivedExitCode"),
        "priority": first("Priority"),
        "flags": first("Flags"),
        "restarts": first("Restarts"),
        # A file without the column: jobs wait from their submission.
        "eligible_time": first("Eligible") or first("Submit"),
        "start_time": first("Start"),
        "end_time": first("End"),
        "elapsed": first("ElapsedRaw", "Elapsed", "CASE WHEN {End} >= {Start} THEN {End} - {Start} END"),
        "suspended": first("Suspended"),
        "time_limit": first("TimelimitRaw", "Timelimit"),
        "limit_kind": first(_known("TimelimitRaw.kind", "Timelimit" in place), "Timelimit.kind"),
        "req_nodes": first("ReqNodes", "ReqTRES.nodes"),
        "req_cpus": first("ReqCPUS", "ReqTRES.cpus"),
        **gpus_of(place, "Req", "req_gpus", "req_gpu_parts"),
        "req_mem": first("ReqTRES.mem", _req_mem(place)),
        "nodes": first("AllocTRES.nodes", *(_RAN.format(f) for f in ("AllocNodes", "NNodes"))),
        "cpus": first("AllocTRES.cpus", *(_RAN.format(f) for f in ("AllocCPUS", "NCPUS"))),
        **gpus_of(place, "Alloc", "gpus", "gpu_parts"),
        "gpu_type": first("AllocTRES.gpu_type", "AllocGRES.gpu_type"),
        "mem": first("AllocTRES.mem"),
        "node_list": first("NodeList"),
        "cpu_time": first(_unless("TotalCPU"), _TWO_CPU_TIMES),
        "energy": first(_unless("AllocTRES.energy"), _unless("ConsumedEnergyRaw")),
        # A run without a note shows that of an earlier run of its job: the count is right, the rest is not this run's.
        "ckpt_at": first(_of_this_run("at")),
        "ckpt_heard": first(_of_this_run("heard")),
        "ckpt_requeues": first("AdminComment.requeues"),
        "ckpt_end": first(_of_this_run("end")),
        "ext_asked": first("AdminComment.asked"),
        "ext_limit": first("AdminComment.extended"),
        "ext_times": first("AdminComment.times"),
        "admin_comment": first("AdminComment"),
        "submitted_by": first("SubmitLine"),
        "ckpt_asked": first("SubmitLine.ckpt"),
        "program": first("SubmitLine.program"),
        "framework": first("SubmitLine.framework"),
        "container": first("SubmitLine.container"),
    }
    field = RECORD_FIELDS[recorded_in]
    if field in place:
        source = f"coalesce({place[f'{field}.source']}, 'unknown')"
        values |= {"limit_original": place[f"{field}.limit"], "limit_source": source}
    return {column: sql for column, sql in values.items() if sql is not None}


def step_values(columns: list[Column], cluster: str) -> dict[str, str]:
    """Step's column -> SQL expression; as job_values."""
    place = parameters(columns)

    def first(*candidates: str) -> str | None:
        found = [sql for text in candidates if (sql := filled(text, place)) is not None]
        return f"coalesce({', '.join(found)}, NULL)" if found else None

    values = {
        "cluster": f"coalesce({place['Cluster']}, {cluster})" if "Cluster" in place else cluster,
        "job_id_raw": first("JobIDRaw"),
        "submit_time": first("Submit"),
        "step": first("JobID.step"),
        "step_name": first("JobName"),
        "state": first("State"),
        "nodes": first("AllocTRES.nodes", _unless("NNodes")),
        "tasks": first("NTasks"),
        "gpus": first("CASE WHEN {AllocTRES.gpu_parts} IS NULL THEN {AllocTRES.gpus} END"),
        "start_time": first("Start"),
        "end_time": first("End"),
        "elapsed": first("ElapsedRaw", "Elapsed"),
        "cpu_time": first("TotalCPU", "{UserCPU} + {SystemCPU}", "TRESUsageInTot.cpu_time"),
        "max_rss": first("MaxRSS"),
        "disk_read": first("TRESUsageInTot.disk"),
        "disk_write": first("TRESUsageOutTot.disk"),
        "energy": first(_unless("ConsumedEnergyRaw")),
        "exit_code": first("ExitCode"),
        "exit_signal": first("ExitCode.signal"),
        "mem_used": first(_unless("TRESUsageInTot.mem")),
        "gpus_used": first("{TRESUsageInTot.gpu_util} / 100.0"),
    }
    return {column: sql for column, sql in values.items() if sql is not None}


def _unless(field: str, nothing: str = "0") -> str:
    """nullif({field}, nothing), as an expression: a function's call would cost time in each of a million rows."""
    return f"CASE WHEN {{{field}}} <> {nothing} THEN {{{field}}} END"


def _known(kind: str, among: bool) -> str:
    """A limit's kind; where it is one `among` two, NULL for unknown."""
    return f"CASE WHEN {{{kind}}} <> 'unknown' THEN {{{kind}}} END" if among else kind


def _of_this_run(what: str) -> str:
    """One value of the checkpoint plugin's note, if the note was written during this run."""
    return f"CASE WHEN {{AdminComment.at}} >= {{Start}} THEN {{AdminComment.{what}}} END"


#: TotalCPU is their sum.
_TWO_CPU_TIMES: Final = "CASE WHEN {UserCPU} + {SystemCPU} <> 0 THEN {UserCPU} + {SystemCPU} END"

#: Trap: of a run that never started, AllocCPUS and NNodes are what was requested.
_RAN: Final = (
    "CASE WHEN {{Start}} IS NOT NULL AND {{End}} IS NOT {{Start}} THEN CASE WHEN {{{0}}} <> 0 THEN {{{0}}} END END"
)


def _either(place: dict[str, str], *names: str) -> str:
    """The first of these columns that is known, as an expression."""
    found = [f"{{{name}}}" for name in names if name in place]
    return f"coalesce({', '.join(found)})" if len(found) > 1 else found[0] if found else "NULL"


def _req_mem(place: dict[str, str]) -> str:
    """ReqMem of the whole job: per CPU ("c") and per node ("n") until 21.08, the node's or the job's after."""
    if "ReqMem" not in place:
        return ""
    cpus, nodes = _either(place, "ReqCPUS", "NCPUS"), _either(place, "ReqNodes", "NNodes")
    return (
        f"CASE {{ReqMem.per}} WHEN 'c' THEN {{ReqMem}} * {cpus} WHEN 'n' THEN {{ReqMem}} * {nodes} ELSE {{ReqMem}} END"
    )
