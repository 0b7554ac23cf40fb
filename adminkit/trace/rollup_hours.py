"""What a run adds to the rollup by hour, `occupied_hour`, as SQL over a row of `job`: at its start, and at its end.

What was in use in an hour is what was before it, and what changed in it. So a run of a month is in two rows, as is one
of a minute. All numbers are whole: native/ingest/hours.c says the same in C. Runs for which that does not hold
(suspended, or of nonsense) are in no row; the index `rollup_odd` has them, and readers take them from the rows of job.
"""

from __future__ import annotations

from typing import Final

from adminkit.trace.rollup_row import HOUR, LAST, MOST, columns
from adminkit.trace.rollup_table import RollupTable
from adminkit.trace.run_view import CPUS, GPUS, NODES, TOO_LONG, class_sql

#: What a key is made of -> SQL over a row of job.
KEYS: Final = {"cluster": "cluster", "queue": "queue", "class": class_sql(NODES, GPUS)}
SIZES: Final = {"gpu": GPUS, "cpu": CPUS, "node": NODES}
#: SQL over a row of job: the run held all it had from its start to its end. Not true where it is unknown.
_EVEN: Final = " AND ".join(
    (
        f"start_time > 0 AND end_time <= {LAST} AND elapsed >= 0 AND elapsed < {TOO_LONG}",
        "elapsed = end_time - start_time",
        *(f"coalesce({sql}, 0) BETWEEN 0 AND {MOST}" for sql in SIZES.values()),
    )
)
#: SQL: a run that started and ended, and is in no row.
ODD: Final = f"end_time IS NOT NULL AND start_time IS NOT NULL AND ({_EVEN}) IS NOT TRUE"
#: The sums of a row: runs that began in the hour, and that had their last second in it, all and those of a known size;
#: by how much what is in use changed, and that times the seconds of the hour that had passed.
SUMS: Final = (
    "started", "ended", *(f"{name}_{what}" for name in SIZES for what in ("started", "ended")),
    *(column for name in SIZES for column in (f"{name}s", f"{name}_passed")),
)  # fmt: skip
#: The last second of a run, or its first where it had none.
_LAST_SECOND: Final = "max(end_time - 1, start_time)"


def _point(at: str, passed: str, started: int) -> str:
    """SQL over what image() keeps of a run: what changes at its start (`started` 1) or at its end."""
    sign = "" if started else "-"
    sums = {
        "started": str(started),
        "ended": str(1 - started),
        **{f"{name}_started": f"(size_{name} IS NOT NULL)" if started else "0" for name in SIZES},
        **{f"{name}_ended": "0" if started else f"(size_{name} IS NOT NULL)" for name in SIZES},
        **{f"{name}s": f"{sign}coalesce(size_{name}, 0)" for name in SIZES},
        **{f"{name}_passed": f"{sign}coalesce(size_{name}, 0) * ({passed})" for name in SIZES},
    }
    return f"SELECT {at} - {at} % {HOUR} AS hour, {', '.join(KEYS)}, {columns({n: sums[n] for n in SUMS})}"


def image(rows: str) -> str:
    """SQL: what each row of `rows` (job, or a SELECT in parentheses) adds: hour, keys and sums, two rows of each."""
    sizes = {f"size_{name}": sql for name, sql in SIZES.items()}
    kept = f"SELECT start_time, end_time, {columns(KEYS)}, {columns(sizes)} FROM {rows} AS job WHERE {_EVEN}"
    first = _point("start_time", f"start_time % {HOUR}", 1)
    last = _point(_LAST_SECOND, f"{_LAST_SECOND} % {HOUR} + end_time - {_LAST_SECOND}", 0)
    return f"{first} FROM ({kept}) UNION ALL {last} FROM ({kept})"


HOURS: Final = RollupTable(
    "occupied_hour",
    "occupied_key",
    "hour",
    {"cluster": "TEXT NOT NULL", "queue": "TEXT", "class": "TEXT"},
    SUMS,
    "started = 0 AND ended = 0",
    image,
)
#: What makes and removes the index of ODD, only for traces that keep rollups.
CREATE_ODD: Final = f"CREATE INDEX rollup_odd ON job (start_time) WHERE {ODD}"
DROP_ODD: Final = "DROP INDEX IF EXISTS rollup_odd"
