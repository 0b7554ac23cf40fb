"""What slurmdbd's own tables say of every run, read by SQL, without sacct: for comparison with the trace."""

from __future__ import annotations

import os
import re
from typing import Final

from adminkit.ingest.sources.slurmdbd_fields import WHOLE_CODES
from adminkit.slurm.release import parse_release
from tests.cluster.harness.cluster import Cluster

Row = dict[str, object]

#: Flags of slurm.h beside a state that sacct prints instead of it, the first that is there.
FLAGS: Final = {0x2000: "RESIZING", 0x400: "REQUEUED", 0x80000: "REVOKED"}
#: job_states of slurm.h, of which every other flag is taken away.
STATES: Final = (
    "PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
    "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
)  # fmt: skip
_NO_VAL: Final = 2**32 - 2
#: Steps that have no number.
_STEPS: Final = {-5: "batch", -4: "extern", -6: "interactive", 2**32 - 5: "batch", 2**32 - 4: "extern"}

#: Columns of `job` that `job_rows` has. "group" is not slurmdbd's to know by name.
COLUMNS: Final = (
    "job_id_raw", "submit_time", "state", "user", "uid", "account", "queue", "eligible_time", "start_time", "end_time",
    "time_limit", "job_name", "array_job", "array_task", "derived_exit_code", "exit_code", "cpus", "node_list",
    "admin_comment",
)  # fmt: skip
STEP_COLUMNS: Final = ("job_id_raw", "submit_time", "step", "step_name", "state", "start_time", "end_time", "tasks")


def job_rows(cluster: Cluster) -> dict[tuple[int, int], Row]:
    """(JobIDRaw, Submit) -> the row as the trace should hold it, of every run, over or not."""
    cells = (
        "id_job", "time_submit", "state", "hex(user)", "id_user", "hex(j.account)", "hex(j.partition)",
        "time_eligible", "time_start", "time_end", "timelimit", "hex(job_name)", "id_array_job", "id_array_task",
        "derived_ec", "exit_code", "hex(tres_alloc)", "hex(nodelist)", "hex(admin_comment)", "1",
    )  # fmt: skip
    name = cluster.name
    sql = f"select {', '.join(f'j.{cell}' if cell.isidentifier() else cell for cell in cells)}"
    sql += f" from {name}_job_table j left join {name}_assoc_table a on a.id_assoc = j.id_assoc where j.deleted = 0"
    less = 128 if parse_release(cluster.ask("sacct", "-V")) < WHOLE_CODES else 0
    return {(int(row[0]), int(row[1])): _job(row, less) for row in cluster.sql(sql)}


def step_rows(cluster: Cluster) -> dict[tuple[int, int, str], Row]:
    """(JobIDRaw, Submit, step) -> the row as the trace should hold it."""
    name = cluster.name
    sql = "select j.id_job, j.time_submit, s.id_step, hex(s.step_name), s.state, s.time_start, s.time_end, s.task_cnt "
    sql += f"from {name}_step_table s join {name}_job_table j using (job_db_inx) where j.time_end > 0"
    found = {}
    for row in cluster.sql(sql):
        number = int(row[2])
        values = (
            int(row[0]), int(row[1]), _STEPS.get(number, str(number)), _text(row[3]), _state(row[4]),
            _time(row[5]), _time(row[6]), int(row[7]),
        )  # fmt: skip
        found[values[:3]] = dict(zip(STEP_COLUMNS, values, strict=True))
    return found


def _job(row: tuple[str, ...], less: int) -> Row:
    """`less`: what sacct takes off exit codes of 128 and more."""
    limit, array = int(row[10]), int(row[12])
    task = int(row[13])
    tres = dict(part.split("=") for part in (_text(row[16]) or "").split(",") if part)
    over = _time(row[9]) is not None
    code = (int(row[15]) >> 8) & 0xFF
    values = (
        int(row[0]), int(row[1]), _state(row[2]), _text(row[3]), int(row[4]), _text(row[5]), _text(row[6]),
        _time(row[7]), _time(row[8]), _time(row[9]), limit * 60 if 0 < limit < _NO_VAL else None, _text(row[11]),
        array or None, task if array and task < _NO_VAL else None, (int(row[14]) >> 8) & 0xFF,
        (code - less if code >= 128 else code) if over else 0, int(tres["1"]) if tres else None,
        None if _text(row[17]) in (None, "None assigned") else _text(row[17]), _text(row[18]),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _state(number: str) -> str:
    flag = next((word for bit, word in FLAGS.items() if int(number) & bit), None)
    return flag or STATES[int(number) & 0xFF]


def _text(hexed: str) -> str | None:
    """As the trace keeps it: U+FFFD for each byte that is no UTF-8."""
    if hexed in ("NULL", ""):
        return None
    return re.sub("[\udc80-\udcff]", "\ufffd", os.fsdecode(bytes.fromhex(hexed)))


def _time(text: str) -> int | None:
    return int(text) if text.isdigit() and text != "0" else None
