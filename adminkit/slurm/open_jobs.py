"""AdminComment of the jobs that slurmctld holds. Trap: sacct has it only once a job has ended."""

from __future__ import annotations

import re
from typing import Final

from adminkit.slurm import bindings
from adminkit.slurm.cluster import local_cluster
from adminkit.slurm.run import ask

#: Wider than any record of ours; what is cut off is somebody else's text behind it.
_WIDTH: Final = 1100
_LINE: Final = re.compile(r"^(\d+) *\x1f(\d+) *\x1f(.*?) *\x1f$", re.MULTILINE)


def admin_comments(cluster: str) -> list[tuple[int, int, str]]:
    """(JobIDRaw, Submit, AdminComment) of every pending, running or suspended job that has one.

    Raises AdminkitError when slurmctld is away. Pending tasks of an array share one line, as they share one record.
    """
    pyslurm, _ = bindings.found()
    if pyslurm is not None and cluster == local_cluster():
        return bindings.admin_comments(pyslurm)
    shape = f"JobID:20\x1f,SubmitTime:20\x1f,admin_comment:{_WIDTH}\x1f"
    return parse(ask(["squeue", "-a", "-h", "-M", cluster, "-t", "PD,R,S", "-O", shape]))


def parse(text: str) -> list[tuple[int, int, str]]:
    """A line that is none, such as the cluster's name or the rest of a comment with a newline, is passed over."""
    found = ((int(job), int(submit), said) for job, submit, said in _LINE.findall(text))
    return [one for one in found if one[2] not in ("", "(null)", "N/A")]
