"""What follows from the cells of a table's row: the kind of a limit, ends, run times, and from when a job waited."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from adminkit.ingest.sources import cells
from adminkit.ingest.sources.cells import Value

#: States of runs that have not ended.
OPEN: Final = ("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "RESIZING", "REQUEUED")
#: Column -> the fields that it follows from, where a map does not have it.
FROM: Final = {
    "elapsed": ("start_time", "end_time"),
    "start_time": ("end_time", "elapsed"),
    "end_time": ("start_time", "elapsed"),
}


def followed(fields: Collection[str]) -> tuple[str, ...]:
    """The columns that follow from a map's `fields`, in the order in which they are found."""
    times = tuple(name for name, needed in FROM.items() if name not in fields and set(needed) <= set(fields))
    waits = "eligible_time" not in fields and ("start_time" in (*fields, *times) or "state" in fields)
    return (*times, "eligible_time") if waits else times


def follow(found: dict[str, Value], missing: Collection[str]) -> None:
    """Fill in the columns `missing`, which followed() named. A job waits from its submission where nothing says when it
    was eligible; of a run whose start is unknown nobody knows whether it waited at all.
    """
    start, end, ran = found.get("start_time"), found.get("end_time"), found.get("elapsed")
    state = found.get("state")
    if "elapsed" in missing:
        found["elapsed"] = end - start if isinstance(start, int) and isinstance(end, int) and end >= start else None
    if isinstance(ran, int):
        suspended = found.get("suspended")
        took = ran + (suspended if isinstance(suspended, int) else 0)
        if "start_time" in missing:
            found["start_time"] = end - took if isinstance(end, int) and end >= took else None
        if "end_time" in missing:
            found["end_time"] = start + took if isinstance(start, int) and state not in OPEN else None
    else:
        found.update({name: None for name in ("start_time", "end_time") if name in missing})
    if "eligible_time" in missing:
        waited = found.get("start_time") is not None or state == "PENDING"
        found["eligible_time"] = found["submit_time"] if waited else None


def read_words(found: dict[str, Value]) -> None:
    """Take apart what one cell says of two columns: a limit and its kind, a state and who cancelled the run."""
    if "time_limit" in found:
        limit = found["time_limit"]
        found["limit_kind"] = limit if isinstance(limit, str) else "unknown" if limit is None else "finite"
        found["time_limit"] = None if isinstance(limit, str) else limit
    if isinstance(state := found.get("state"), str):
        found["state"], by = cells.cancelled_by(state)
        found["cancelled_by"] = by if by is not None else found.get("cancelled_by")
    else:
        found.setdefault("cancelled_by", None)
