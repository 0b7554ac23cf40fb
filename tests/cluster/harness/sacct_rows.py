"""What sacct itself says of every run, read the plain way: for comparison with the trace, row by row."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.cluster.harness.cluster import Cluster

FIELDS = (
    "JobIDRaw", "Submit", "JobID", "User", "UID", "Group", "Account", "Partition", "QOS", "State", "ExitCode",
    "Eligible", "Start", "End", "ElapsedRaw", "TimelimitRaw", "AllocNodes", "AllocCPUS", "AllocTRES", "ReqTRES",
    "NodeList", "DBIndex", "JobName",
)  # fmt: skip

Row = dict[str, object]

#: Columns of `job` that are compared; "group" is quoted in SQL.
COLUMNS = (
    "job_id_raw", "submit_time", "job_id", "user", "uid", "group", "account", "queue", "qos", "state", "cancelled_by",
    "exit_code", "exit_signal", "eligible_time", "start_time", "end_time", "elapsed", "time_limit", "limit_kind",
    "nodes", "cpus", "gpus", "req_gpus", "node_list", "db_index", "job_name", "array_job", "array_task", "het_job",
)  # fmt: skip


def sacct_rows(cluster: Cluster, *options: str) -> dict[tuple[int, int], Row]:
    """(JobIDRaw, Submit) -> the row as the trace should hold it, for all runs that have ended."""
    separator = "\x1e"
    # Trap: without -s, runs cancelled before they were eligible are not shown.
    command = ["sacct", "-a", "-X", "-D", "-n", "-p", f"--delimiter={separator}", "-S", "2020-01-01", "-E", "now+1day"]
    command += ["-s", "CD,F,TO,CA,NF,PR,BF,DL,OOM,RQ,RS"]
    done = cluster.run(*command, *options, "-o", ",".join(FIELDS), env={"TZ": "UTC", "SLURM_TIME_FORMAT": "%s"})
    assert done.code == 0, done.err
    text = done.out.decode("utf-8", "surrogateescape")
    found = {}
    for record in text.split(separator + "\n")[:-1]:
        cells = dict(zip(FIELDS, record.split(separator), strict=True))
        if cells["End"] == "Unknown":
            continue
        row = _row(cells)
        found[(int(cells["JobIDRaw"]), int(cells["Submit"]))] = row
    return found


def _row(cells: Mapping[str, str]) -> Row:
    state, _, by = cells["State"].partition(" by ")
    code, _, signal = cells["ExitCode"].partition(":")
    limit = cells["TimelimitRaw"]
    alloc, requested = _tres(cells["AllocTRES"]), _tres(cells["ReqTRES"])
    array = re.fullmatch(r"(\d+)_(\d+|\[.*\])", cells["JobID"])
    het = re.fullmatch(r"(\d+)\+\d+", cells["JobID"])
    task = array[2] if array else ""
    return {
        "job_id_raw": int(cells["JobIDRaw"]),
        "submit_time": int(cells["Submit"]),
        "job_id": cells["JobID"],
        "user": cells["User"] or None,
        "uid": int(cells["UID"]),
        "group": cells["Group"] or None,
        "account": cells["Account"] or None,
        "queue": cells["Partition"] or None,
        "qos": cells["QOS"] or None,
        "state": state,
        "cancelled_by": int(by) if by else None,
        "exit_code": int(code),
        "exit_signal": int(signal),
        "eligible_time": _time(cells["Eligible"]),
        "start_time": _time(cells["Start"]),
        "end_time": _time(cells["End"]),
        "elapsed": int(cells["ElapsedRaw"]),
        "time_limit": int(limit) * 60 if limit.isdigit() else None,
        "limit_kind": {"UNLIMITED": "unlimited", "Partition_Limit": "partition", "": "unknown"}.get(limit, "finite"),
        "nodes": int(alloc["node"]) if alloc else None,
        "cpus": int(alloc["cpu"]) if alloc else None,
        "gpus": int(alloc.get("gres/gpu", "0")) if alloc else None,
        "req_gpus": int(requested.get("gres/gpu", "0")) if requested else None,
        "node_list": None if cells["NodeList"] == "None assigned" else cells["NodeList"],
        "db_index": (int(cells["DBIndex"]) + 2**63) % 2**64 - 2**63,  # 64 bits, with a sign
        "job_name": re.sub("[\udc80-\udcff]", "\ufffd", cells["JobName"]),
        "array_job": int(array[1]) if array else None,
        "array_task": int(task) if task.isdigit() else None,
        "het_job": int(het[1]) if het else None,
    }


def _tres(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",")) if text else {}


def _time(text: str) -> int | None:
    return int(text) if text.isdigit() else None
