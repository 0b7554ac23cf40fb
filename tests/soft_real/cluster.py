"""A private Slurm of the days' shape on which soft limits are safe, with adminkit's script."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cluster.harness.ending import TEMPORARY, clear_abandoned
from tests.cluster.harness.machine import give
from tests.cluster.harness.ruled import HEAD, Ruled, ruling
from tests.simulate_real.cluster import Shaped
from tests.soft_real.history import CLUSTER, POLICY, QUIET
from tests.soft_real.workloads import SHAPE

#: Debian's packages bring it.
SLURM_USER: Final = "slurm" if any(who.pw_name == "slurm" for who in pwd.getpwall()) else "daemon"


class Planned(Shaped):
    """What soft limits ask of slurm.conf is in it, the parameter too, with soft limits and without."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SHAPE)
        self._slurm_user = SLURM_USER

    def _configure(self) -> None:
        super()._configure()
        conf = self.home / "slurm.conf"
        words = conf.read_text().replace("SlurmUser=root", f"SlurmUser={SLURM_USER}")
        words = words.replace("OverTimeLimit=0", "DefaultTime=00:05:00 OverTimeLimit=0")
        conf.write_text(words + "EnforcePartLimits=ALL\n")
        give(SLURM_USER, self.home / "state", self.home / "log")


@contextmanager
def planned() -> Iterator[Ruled]:
    """A booted cluster with the script in force, in a folder of its own, stopped and removed at the end."""
    clear_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    cluster = Planned(folder)
    try:
        cluster.boot(owner=os.getpid())
        with ruling(cluster) as ruled:
            yield ruled
    finally:
        cluster.stop()
        shutil.rmtree(folder)


def know(ruled: Ruled, runs: str, turn_on: Callable[[], None]) -> None:
    """The runs before the day in a trace, and the tables that the commands make of it with soft limits, in place."""
    trace = remember(ruled, runs)
    turn_on()
    tables(ruled, trace)


def remember(ruled: Ruled, runs: str) -> Path:
    """A trace of these runs."""
    past, trace = ruled.cluster.folder / "past.txt", ruled.cluster.folder / "trace.db"
    past.write_text(runs)
    ruled.adminkit("import", past, "--db", trace, "--cluster", CLUSTER, "--trusted", "--apply")
    return trace


def tables(ruled: Ruled, trace: Path) -> None:
    """The tables of points and needs by the policy in force. Trap: points are theirs, not the policy's."""
    words = ("--policy", ruled.policy, "--db", trace, "--cluster", CLUSTER, "--points-per-hour", "1000", "--apply")
    ruled.adminkit("incentives", "install", *words)


def turn(ruled: Ruled, arm: str, settings: str) -> None:
    """Soft limits on or off, by the policy alone."""
    ruled.rules(HEAD + QUIET + (POLICY[settings] if arm == "on" else ""))
