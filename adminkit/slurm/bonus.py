"""The bonus of waiting jobs, which Slurm calls a site factor: read by sprio, set by scontrol.

Traps: sprio has a line for each queue of a job, and none for a job that is held, or of an array whose tasks Slurm has
not looked at yet. Tasks that have not split off have the array's number, and are changed together.
"""

from __future__ import annotations

import re
from typing import Final

from adminkit.slurm.process import Refused, ask

_PATIENCE: Final = 10.0
_LINE: Final = re.compile(r"(?P<job>[0-9]{1,10})\|(?P<bonus>-?[0-9]{1,12})", re.ASCII)
#: What sprio says, with an error, of a user without a waiting job.
_NONE: Final = "Unable to find jobs"


def bonuses(uid: int) -> dict[int, int]:
    """The bonus of each waiting job of this user, in points. AdminkitError when slurmctld is away."""
    try:
        return parse(ask(["sprio", "-h", "-u", str(uid), "-o", "%i|%S"], _PATIENCE))
    except Refused as error:
        if _NONE in error.output:
            return {}
        raise


def parse(text: str) -> dict[int, int]:
    """Passes over lines of another shape."""
    lines = (re.sub(r"[ \t]", "", line) for line in text.split("\n"))
    return {int(one["job"]): int(one["bonus"]) for one in filter(None, map(_LINE.fullmatch, lines))}


def set_bonus(job_id: int, points: int) -> None:
    """Give the waiting job this bonus. Refused where slurmctld does not take it."""
    ask(["scontrol", "update", f"JobId={job_id}", f"SiteFactor={points}"])
