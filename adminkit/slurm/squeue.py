"""Jobs as squeue prints them: its fields, none of which cuts, and the one parser of its lines.

Who asks names the fields, those that a user wrote last, and takes a view of the QueuedJob: room.py, planning.py,
elastic_jobs.py, own_queue.py, open_jobs.py, and server_job.py for a hub.

Traps: the width 0 of -O is the whole text, and a field without a width has 20; of a width squeue prints what fits and
does not say that there was more. What squeue cuts by itself, the tasks of an array, process.py has it print whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.slurm.cluster import read_limit
from adminkit.slurm.hostlist import hosts
from adminkit.slurm.keyvalue import given, number
from adminkit.slurm.process import TIMEOUT, ask
from adminkit.slurm.seal import Marks, draw


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job. Times in epoch seconds, limits in seconds. None: unknown, none, or not asked for."""

    submit_time: int
    job_id: int = 0
    listed_id: str = ""  # 12, 12_3, 12_[4-9]
    array_id: int | None = None
    tasks: str | None = None  # of an array: 3, 4-6,9%2
    het_id: int | None = None
    state: str = ""
    short_state: str = ""
    queue: str | None = None  # or several, between commas
    nodes: tuple[str, ...] = ()
    planned_nodes: tuple[str, ...] = ()
    many: int | None = None  # nodes that it has, or asks for at least
    many_text: str = ""
    cpus: int | None = None
    tres: str | None = None  # all that it has, or asks for while it waits: cpu=4,mem=8G,node=1,gres/gpu=2
    tres_per_node: str | None = None  # as slurmctld spells it; so the next three
    tres_per_job: str | None = None
    cpus_per_tres: str | None = None
    mem_per_tres: str | None = None
    time_limit: int | None = None
    time_min: int | None = None
    odd_limit: str = ""  # why it cannot be read; so the next
    odd_min: str = ""
    elapsed: int | None = None
    eligible_time: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    deadline: int | None = None
    priority: int | None = None
    reason: str = ""  # Slurm's code
    uid: int | None = None
    user: str = ""
    account: str | None = None
    qos: str | None = None
    features: str | None = None
    licences: str | None = None
    reservation: str | None = None
    sharing: str = ""  # OverSubscribe, or Exclusive of later releases
    restarts: int | None = None
    admin_comment: str | None = None
    comment: str = ""  # its user's
    job_name: str | None = None
    batch: bool | None = None  # whether sbatch submitted it

    @property
    def odd(self) -> str:
        """Why one of its limits cannot be read; "" where both can."""
        return self.odd_limit or self.odd_min


def _plain(cell: str, marks: Marks) -> str:
    return cell


def _given(cell: str, marks: Marks) -> str | None:
    return given(cell)


def _number(cell: str, marks: Marks) -> int | None:
    return number(cell)


def _least(cell: str, marks: Marks) -> int | None:
    """1-2 nodes -> 1."""
    return number(cell.partition("-")[0])


def _hosts(cell: str, marks: Marks) -> tuple[str, ...]:
    return tuple(hosts(given(cell) or ""))


def _epoch(cell: str, marks: Marks) -> int | None:
    return marks.epoch(cell)


def _seconds(cell: str, marks: Marks) -> int | None:
    return read_limit(cell)[0]


def _some(cell: str, marks: Marks) -> int | None:
    return read_limit(cell)[0] or None


def _odd(cell: str, marks: Marks) -> str:
    return read_limit(cell)[1]


def _flag(cell: str, marks: Marks) -> bool | None:
    """Trap: slurmctld counts a flag up when it puts the job back."""
    many = number(cell)
    return None if many is None else many > 0


#: squeue's word of a field -> the fields of QueuedJob, and how the cell is read.
_READ: Final[Mapping[str, Sequence[tuple[str, Callable[[str, Marks], object]]]]] = {
    "SubmitTime": [("submit_time", _epoch)],
    "JobID": [("job_id", _number)],
    "JobArrayID": [("listed_id", _plain)],
    "ArrayJobID": [("array_id", _number)],
    "ArrayTaskID": [("tasks", _given)],
    "HetJobID": [("het_id", _number)],
    "State": [("state", _plain)],
    "StateCompact": [("short_state", _plain)],
    "Partition": [("queue", _given)],
    "NodeList": [("nodes", _hosts)],
    "SchedNodes": [("planned_nodes", _hosts)],
    "NumNodes": [("many", _least), ("many_text", _plain)],
    "NumCPUs": [("cpus", _number)],
    "tres-alloc": [("tres", _given)],
    "tres-per-node": [("tres_per_node", _given)],
    "tres-per-job": [("tres_per_job", _given)],
    "cpus-per-tres": [("cpus_per_tres", _given)],
    "mem-per-tres": [("mem_per_tres", _given)],
    "TimeLimit": [("time_limit", _seconds), ("odd_limit", _odd)],
    "MinTime": [("time_min", _some), ("odd_min", _odd)],
    "TimeUsed": [("elapsed", _seconds)],
    "EligibleTime": [("eligible_time", _epoch)],
    "StartTime": [("start_time", _epoch)],
    "EndTime": [("end_time", _epoch)],
    "Deadline": [("deadline", _epoch)],
    "PriorityLong": [("priority", _number)],
    "Reason": [("reason", _plain)],
    "UserID": [("uid", _number)],
    "UserName": [("user", _plain)],
    "Account": [("account", _given)],
    "QOS": [("qos", _given)],
    "Feature": [("features", _given)],
    "Licenses": [("licences", _given)],
    "Reservation": [("reservation", _given)],
    "OverSubscribe": [("sharing", _plain)],
    "Exclusive": [("sharing", _plain)],
    "RestartCnt": [("restarts", _number)],
    "admin_comment": [("admin_comment", _given)],
    "Comment": [("comment", _plain)],
    "Name": [("job_name", _given)],
    "BatchFlag": [("batch", _flag)],
}
#: Fields of which a line break may be part: the first line of them counts.
_OF_LINES: Final = ("Comment", "Name")


#: The tasks of an array that wait, as squeue lists them; it puts ... where there are too many.
_TASKS: Final = re.compile(r"[0-9]+(?:-[0-9]+(?::[0-9]+)?)?(?:,[0-9]+(?:-[0-9]+(?::[0-9]+)?)?)*")


def name_of(job: QueuedJob) -> str:
    """What scontrol changes only this job by: 8_3 for a task; 8_[4-6] for those that wait, unless squeue cut the list
    short; else the number. Trap: one record of an array has the array's id, by which scontrol changes every task.
    """
    tasks = job.tasks or ""
    if tasks.isdigit():
        return f"{job.array_id}_{tasks}"
    waiting = tasks.partition("%")[0]
    return f"{job.array_id}_[{waiting}]" if _TASKS.fullmatch(waiting) else str(job.job_id)


def jobs(fields: Sequence[str], *which: str, patience: float = TIMEOUT, most: int | None = None) -> list[QueuedJob]:
    """The open jobs, with these fields; `which` are options that name some. AdminkitError when slurmctld is away, and
    for a text in which there is no job: that is not an empty list.
    """
    marks = draw()
    answer = ask(words(fields, marks, *which), patience, marks.seal)
    found = list(parse(answer, fields, marks, most))
    if not found and answer.strip() and not answer.startswith("CLUSTER:"):
        raise AdminkitError(
            "couldn't read the output of squeue: there is a text, and no job in it", "run squeue by hand"
        )
    return found


def words(fields: Iterable[str], marks: Marks, *which: str) -> list[str]:
    """squeue's words, which have to be run with the seal."""
    return ["squeue", "-a", "-h", *which, "-O", shape(fields, marks)]


def shape(fields: Iterable[str], marks: Marks) -> str:
    """The word of -O for these fields, each with the delimiter behind it."""
    return ",".join(f"{field}:0{marks.delimiter}" for field in fields)


def parse(text: str, fields: Sequence[str], marks: Marks, most: int | None = None) -> Iterator[QueuedJob]:
    """Passes over lines that are not of a job: those without a sealed submission, which no text of a user can be."""
    ids = [place for place, field in enumerate(fields) if field in ("JobID", "ArrayJobID")]
    for cells in _rows(text.split("\n")[:most], fields, marks):
        if all(number(cells[place]) is not None for place in ids):
            yield _job(zip(fields, cells, strict=True), marks)


def _rows(lines: Iterable[str], fields: Sequence[str], marks: Marks) -> Iterator[list[str]]:
    """The cells of each job. A line break in the last one takes in the lines up to the next job's."""
    at, last = fields.index("SubmitTime"), len(fields) - 1
    row: list[str] = []
    for line in [*lines, ""]:
        cells = line.split(marks.delimiter, last)
        if len(cells) > last and marks.epoch(cells[at].partition(marks.delimiter)[0].strip()) is not None:
            yield from _whole(row, fields, marks)
            row = cells
        elif row:
            row[last] += f"\n{line}"
    yield from _whole(row, fields, marks)


def _whole(row: list[str], fields: Sequence[str], marks: Marks) -> Iterator[list[str]]:
    if row:
        text, ended, _ = row[-1].partition(marks.delimiter)
        if "\n" not in text or fields[-1] in _OF_LINES:
            yield [cell.strip() for cell in (*row[:-1], text)] if ended else []


def _job(cells: Iterable[tuple[str, str]], marks: Marks) -> QueuedJob:
    read: dict[str, Any] = {
        attribute: reader(cell, marks) for field, cell in cells for attribute, reader in _READ[field]
    }
    return QueuedJob(**read)
