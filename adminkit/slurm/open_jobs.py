"""AdminComment of the jobs that slurmctld holds. Trap: sacct has it only once a job has ended."""

from __future__ import annotations

import re
from typing import Final

from adminkit.slurm import bindings
from adminkit.slurm.cluster import local_cluster
from adminkit.slurm.process import ask
from adminkit.slurm.seal import Marks, draw
from adminkit.slurm.squeue import shape

_FIELDS: Final = ("JobID", "SubmitTime", "admin_comment")


def admin_comments(cluster: str) -> list[tuple[int, int, str]]:
    """(JobIDRaw, Submit, AdminComment) of every open job that has one.

    Raises AdminkitError when slurmctld is away. Pending tasks of an array share one line, as they share one record.
    Trap: `-t PD` leaves out a pending job with a flag, such as one that is held after a requeue.
    """
    pyslurm, _ = bindings.usable()
    if pyslurm is not None and cluster == local_cluster():
        return bindings.admin_comments(pyslurm)
    marks = draw()
    words = ["squeue", "-a", "-h", "-M", cluster, "-O", shape(_FIELDS, marks)]
    return parse(ask(words, seal=marks.seal), marks)


def parse(text: str, marks: Marks) -> list[tuple[int, int, str]]:
    """Passes over lines that are not of a job: the cluster's name, the rest of a comment with a newline."""
    mark, seal = re.escape(marks.delimiter), re.escape(marks.seal)
    lines = re.findall(rf"^(\d+) *{mark}(\d+){seal} *{mark}(.*?) *{mark}$", text, re.MULTILINE)
    jobs = ((int(job), int(submit), comment) for job, submit, comment in lines)
    return [one for one in jobs if one[2] not in ("", "(null)", "N/A")]
