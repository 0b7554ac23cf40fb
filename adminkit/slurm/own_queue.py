"""One user's jobs as slurmctld holds them: what runs, and why the others wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.arrays import tasks_of
from adminkit.slurm.cluster import local_cluster, on, parse_limit
from adminkit.slurm.keyvalue import given, number
from adminkit.slurm.process import ask
from adminkit.slurm.seal import Marks, draw
from adminkit.slurm.squeue import shape

#: squeue's words for the fields. The name, the one text that its owner writes, is the last.
_FIELDS: Final = (
    "JobArrayID",
    "StateCompact",
    "Partition",
    "TimeLimit",
    "TimeUsed",
    "SubmitTime",
    "StartTime",
    "NumNodes",
    "NumCPUs",
    "Reason",
    "Name",
)
#: The states of a job that waits: pending, also after a requeue or held after a failure.
_WAITING: Final = ("PD", "RQ", "RF", "RH", "SE", "RD")
#: The state of a federation's sibling that another cluster took.
_REVOKED: Final = "RV"


@dataclass(frozen=True, slots=True)
class Queued:
    """One job, or the waiting tasks of one array. None: unknown; `limit` None: no limit."""

    job_id: str  # as Slurm prints it: 12, 12_3, 12_[4-9]
    state: str  # in squeue's short form
    queue: str | None
    time_limit: int | None  # seconds
    elapsed: int | None  # seconds
    submit_time: int | None  # epoch seconds
    start_time: int | None  # epoch seconds; of a waiting job when backfill expects it to start
    nodes: int | None
    cpus: int | None
    reason: str | None  # Slurm's code
    job_name: str | None

    @property
    def tasks(self) -> int | None:
        """How many tasks of an array these are, 1 for a job; None where Slurm cut the list of them."""
        return tasks_of(self.job_id)

    @property
    def waits(self) -> bool:
        return self.state in _WAITING


def own_queue(cluster: str, uid: int) -> list[Queued]:
    """The open jobs of this user, in squeue's order. AdminkitError when slurmctld is away.

    Traps: `-M` asks slurmdbd even for the local cluster. `-t PD` leaves out a pending job with a flag, such as one
    that is held after a requeue; without `-t` squeue shows all that are open.
    """
    marks = draw()
    words = ["squeue", "-a", "-h", *_on(cluster), "-u", str(uid), "-O", shape(_FIELDS, marks)]
    return parse(ask(words, seal=marks.seal), marks)


def _on(cluster: str) -> list[str]:
    try:
        return on(None if cluster == local_cluster() else cluster)
    except AdminkitError:
        return on(cluster)


def parse(text: str, marks: Marks) -> list[Queued]:
    """Every whole record. What is before the first is the cluster's name; a name may hold newlines.

    A record counts where its submission is sealed, which no name can be (seal.py).
    """
    cells = [cell.strip() for cell in text.split(marks.delimiter)]
    many = len(_FIELDS)
    found = []
    for at in range(0, len(cells) - many + 1, many):
        one = cells[at : at + many]
        submit = marks.epoch(one[5])
        if submit is not None and one[1] != _REVOKED:
            found.append(_queued(one, submit, marks))
    return found


def _queued(cells: list[str], submit: int, marks: Marks) -> Queued:
    job, state, queue, limit, used, _, start, nodes, cpus, reason, name = cells
    return Queued(
        job.split("\n")[-1],  # the first one stands behind the cluster's name
        state,
        given(queue),
        parse_limit(limit),
        parse_limit(used),
        submit,
        marks.epoch(start),
        number(nodes.partition("-")[0]),
        number(cpus),
        given(reason),
        given(name),
    )
