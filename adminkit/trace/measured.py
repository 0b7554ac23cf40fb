"""What was measured of a run while it ran, as columns beside those of the view run: its memory, its GPUs' use, and how
often it waited for files.

They take Python, and steps, so the view does not have them; a file of a month has. in_sqlite() makes SQL that
names them SQL over the view.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.trace.io_word import full, only_waits, samples
from adminkit.trace.monitored import monitored_gpu, monitored_gpu_memory
from adminkit.trace.plugin_words import FILE_WAITS, GPU_USE
from adminkit.trace.run_view import step_of
from adminkit.trace.step_memory import MEM_USED, NODE_MEM_USED, memory_functions

#: GPU-seconds that Slurm's plugin saw busy, NULL where it saw nothing. SQLite asks once whether there is any step.
_GPU_SECONDS: Final = f"""CASE WHEN EXISTS (SELECT 1 FROM step)
    THEN (SELECT sum(step.gpus_used * coalesce(step.elapsed, 0))
        FROM step WHERE {step_of("run")} AND step.gpus_used IS NOT NULL) END"""
#: The share of the GPUs that monitoring left, and the bytes of their memory that were used, and there.
_MONITORED: Final = ("monitored_gpu", "monitored_gpu_used", "monitored_gpu_there")
#: Samples of the tasks; those in which they only waited for files, and in which they wanted all their CPUs.
_FILE_WAITS: Final = {"file_samples": samples, "file_only": only_waits, "file_full": full}
#: Column -> SQL over a row of the view run.
MEASURED: Final[Mapping[str, str]] = {
    "measured_mem": MEM_USED,
    "measured_node_mem": NODE_MEM_USED,
    "measured_gpu_seconds": _GPU_SECONDS,
    **{
        f"measured_{name}": "CASE WHEN instr(admin_comment, 'JS1:') > 0"
        f" OR instr(admin_comment, '{GPU_USE.prefix}:') > 0 THEN {name}(admin_comment, start_time) END"
        for name in _MONITORED
    },
    **{
        f"measured_{name}": f"CASE WHEN instr(admin_comment, '{FILE_WAITS.prefix}:') > 0"
        f" THEN {name}(admin_comment, start_time) END"
        for name in _FILE_WAITS
    },
}
_NAME: Final = re.compile(rf"\b({'|'.join(MEASURED)})\b")


def in_sqlite(db: sqlite3.Connection, sql: Sequence[str], of_all: str = "") -> list[str]:
    """The same SQL with what these columns are instead of their names, which this connection can compute then.

    `of_all`: what sight.of_all() has, for SQL that counts everybody's runs, whoever asks.
    """
    found = [of_all + _NAME.sub(lambda name: f"({MEASURED[name[0]]})", one) for one in sql]
    if found != list(sql):
        memory_functions(db, of_all)
        db.create_function("monitored_gpu", 2, monitored_gpu)
        for name, measure in _FILE_WAITS.items():
            db.create_function(name, 2, measure)
        for place, name in enumerate(_MONITORED[1:]):
            db.create_function(name, 2, lambda *run, place=place: (monitored_gpu_memory(*run) or (None, None))[place])
    return found
