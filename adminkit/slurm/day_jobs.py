"""The jobs that became eligible in some days, by one call of sacct: what the guards of a trial count."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.associations import parse_tres
from adminkit.slurm.keyvalue import number
from adminkit.slurm.sacct import Query, fetch
from adminkit.slurm.seal import Marks

_FIELDS: Final = (
    "JobIDRaw", "State", "NNodes", "ReqTRES", "TimelimitRaw", "ElapsedRaw", "Partition", "AdminComment", "Eligible",
    "Start", "End",
)  # fmt: skip
_TIMEOUT: Final = 300.0
_UNKNOWN: Final = ("Unknown", "None", "")


@dataclass(frozen=True, slots=True)
class DayJob:
    """Seconds. `units`: its GPUs, or its nodes where those are more; `time_limit` None: unlimited."""

    eligible_time: int
    start_time: int | None
    end_time: int | None
    state: str
    units: int
    elapsed: int
    time_limit: int | None
    queue: str
    comment: str


def day_jobs(cluster: str, since: int, until: int, timeout: float = _TIMEOUT) -> list[DayJob]:
    """Those of a cluster that became eligible in [since, until). AdminkitError where sacct gives no whole answer."""
    query = Query(cluster, since, until, (), _FIELDS)
    with tempfile.TemporaryDirectory(prefix="adminkit-") as folder:
        answer = fetch(query, Path(folder) / "answer", timeout)
        text = answer.path.read_text("utf-8", "replace")
    return [job for job in parse_day_jobs(text, answer.marks) if since <= job.eligible_time < until]


def parse_day_jobs(text: str, marks: Marks) -> Iterator[DayJob]:
    """sacct's records. AdminkitError for anything else: a count without it would be too low."""
    for line in text.split(marks.delimiter + "\n"):
        if not line:
            continue
        cells = line.split(marks.delimiter)
        if len(cells) != len(_FIELDS) or number(cells[0]) is None:
            raise AdminkitError("couldn't read sacct's records: one has other fields than asked for", "adminkit doctor")
        eligible, start, end = (_time(cell, marks) for cell in cells[-3:])
        if eligible is None:
            continue  # held, or waits for another job
        _, state, nodes, tres, limit, elapsed, queue, comment = cells[:8]
        gpus = parse_tres(tres).get("gres/gpu", 0)
        minutes = number(limit)
        yield DayJob(
            eligible, start, end, state.partition(" ")[0], max(gpus, number(nodes) or 1), number(elapsed) or 0,
            None if minutes is None else 60 * minutes, queue, comment,
        )  # fmt: skip


def _time(cell: str, marks: Marks) -> int | None:
    if cell.removesuffix(marks.seal) in _UNKNOWN:
        return None
    found = marks.epoch(cell)
    if found is None:
        raise AdminkitError("couldn't read sacct's records: a time without its seal", "run it again")
    return found
