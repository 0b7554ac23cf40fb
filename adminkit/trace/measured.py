"""What was measured of a run while it ran, as columns beside those of the view run: its memory, and its GPUs' use.

They take Python, and steps, so the view does not have them; a file of a month has. in_sqlite() makes SQL that
names them SQL over the view.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.trace.jobstats import jobstats_gpu, jobstats_gpu_memory
from adminkit.trace.run_view import step_of
from adminkit.trace.step_memory import MEM_USED, NODE_MEM_USED, memory_functions

#: GPU-seconds that Slurm's plugin saw busy, NULL where it saw nothing. SQLite asks once whether there is any step.
_GPU_SECONDS: Final = f"""CASE WHEN EXISTS (SELECT 1 FROM step)
    THEN (SELECT sum(step.gpus_used * coalesce(step.elapsed, 0))
        FROM step WHERE {step_of("run")} AND step.gpus_used IS NOT NULL) END"""
#: Jobstats' share of the GPUs, and the bytes of their memory that were used, and there.
_JOBSTATS: Final = ("jobstats_gpu", "jobstats_gpu_used", "jobstats_gpu_there")
#: Column -> SQL over a row of the view run.
MEASURED: Final[Mapping[str, str]] = {
    "measured_mem": MEM_USED,
    "measured_node_mem": NODE_MEM_USED,
    "measured_gpu_seconds": _GPU_SECONDS,
    **{
        f"measured_{name}": f"CASE WHEN instr(admin_comment, 'JS1:') > 0 THEN {name}(admin_comment) END"
        for name in _JOBSTATS
    },
}
_NAME: Final = re.compile(rf"\b({'|'.join(MEASURED)})\b")


def in_sqlite(db: sqlite3.Connection, sql: Sequence[str]) -> list[str]:
    """The same SQL with what these columns are instead of their names, which this connection can compute then."""
    found = [_NAME.sub(lambda name: f"({MEASURED[name[0]]})", one) for one in sql]
    if found != list(sql):
        memory_functions(db)
        db.create_function("jobstats_gpu", 1, jobstats_gpu)
        for place, name in enumerate(("jobstats_gpu_used", "jobstats_gpu_there")):
            db.create_function(name, 1, lambda text, place=place: (jobstats_gpu_memory(text) or (None, None))[place])
    return found
