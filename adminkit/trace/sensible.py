"""What is nonsense in a row is unknown: no source keeps it, because every one stores through upsert.py.

- A duration below 0.
- A run time longer than the time from the start (else the submission) to the end.
- An end before the submission; a start behind the end.

Clocks may differ by CLOCKS. adminkit-ingest (native/common/order.c) and ingest/sources/order.py count such rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Seconds by which clocks may differ.
CLOCKS: Final = 60
_DURATIONS: Final = ("elapsed", "suspended", "cpu_time")


def sensible(values: Mapping[str, str]) -> dict[str, str]:
    """`values` (column of job or step -> SQL) with NULL for what is nonsense beside the others."""
    found = dict(values)
    for name in _DURATIONS:
        if name in values:
            found[name] = f"CASE WHEN {values[name]} >= 0 THEN {values[name]} END"
    submit, end, elapsed = (values.get(name) for name in ("submit_time", "end_time", "elapsed"))
    if submit is None or end is None:
        return found
    found["end_time"] = f"CASE WHEN {end} >= {submit} - {CLOCKS} THEN {end} END"
    begin = submit
    if "start_time" in values:
        start = values["start_time"]
        begin = f"coalesce({start}, {submit})"
        # An end before the submission says nothing of the start.
        behind = f"{end} < {start} - {CLOCKS} AND {end} >= {submit} - {CLOCKS}"
        found["start_time"] = f"CASE WHEN {behind} THEN NULL ELSE {start} END"
    if elapsed is not None:
        most = f"coalesce({end} - {begin} + {CLOCKS}, {elapsed})"
        found["elapsed"] = f"CASE WHEN {elapsed} >= 0 AND {elapsed} <= {most} THEN {elapsed} END"
    return found
