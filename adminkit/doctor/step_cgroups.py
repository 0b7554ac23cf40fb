"""How Slurm names the cgroups of steps on this host, and whether the checkpoint plugin knows the names.

Steps are in folders …/JOB/step_X. A JOB with another name than the plugin knows leaves it the process tree, in which a
process is lost once its parents have ended.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: As `job_length` of spank/common/proc_parse.c has them.
BY_ID: Final = re.compile(r"job_[0-9]+", re.ASCII)
BY_SLUID: Final = re.compile(r"s[0-9A-Z]{13}", re.ASCII)
#: Where slurmd puts steps below the mount: its scope is in a slice of systemd's (CgroupSlice), or at the top. A host
#: of several slurmds has one for each. Trap: no deeper, where users may make folders of any name.
_STEPS: Final = {
    1: ("slurm*/uid_*/*/step_*",),
    2: ("*slurmstepd.scope/*/step_*", "*/*slurmstepd.scope/*/step_*", "*/*/*slurmstepd.scope/*/step_*"),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """`version` of the cgroups that steps are in; None: no such hierarchy is mounted. `jobs`: names of folders."""

    version: int | None
    jobs: tuple[str, ...] = ()

    @property
    def unknown(self) -> list[str]:
        return [name for name in self.jobs if not BY_ID.fullmatch(name) and not BY_SLUID.fullmatch(name)]

    @property
    def naming(self) -> str:
        """`job_N`, `SLUID` or both, where slurmd was upgraded below a running job; "" where no job runs."""
        words = {"job_N": BY_ID, "SLUID": BY_SLUID}
        return " and ".join(word for word, name in words.items() if any(map(name.fullmatch, self.jobs)))


def look(plugin: str | None, mounts: Path = Path("/proc/self/mounts")) -> Seen | None:
    """What this host shows; None where its mounts cannot be read. `plugin`: CgroupPlugin.

    With any plugin but cgroup/v1 and cgroup/v2, version 1 counts where both are mounted, as in Slurm's autodetect.
    """
    if not os.access(mounts, os.R_OK):
        return None
    places = dict(_places(mounts.read_text("utf-8", "replace")))
    wanted = {"cgroup/v1": (1,), "cgroup/v2": (2,)}.get(plugin or "", (1, 2))
    version = next((one for one in wanted if one in places), None)
    if version is None:
        return Seen(None)
    steps = (step for pattern in _STEPS[version] for step in places[version].glob(pattern) if step.is_dir())
    return Seen(version, tuple(sorted({step.parent.name for step in steps})))


def _places(text: str) -> Iterator[tuple[int, Path]]:
    """Version -> where it is mounted. proctrack/cgroup uses the freezer of version 1."""
    for row in (line.split() for line in text.splitlines()):
        if len(row) > 3 and row[2] == "cgroup2":
            yield 2, Path(row[1])
        elif len(row) > 3 and row[2] == "cgroup" and "freezer" in row[3].split(","):
            yield 1, Path(row[1])
