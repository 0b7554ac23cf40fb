"""A node with an energy counter that is fed by hand, for a host that has none.

slurmd's plugin acct_gather_energy/pm_counters reads two files below /sys/cray. They are made for this one slurmd, in a
mount namespace of its own: the host's /sys stays as it is.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Final

from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.machine import MARK

#: What a cluster with a counter needs in slurm.conf.
SETTINGS: Final = {
    "AcctGatherEnergyType": "acct_gather_energy/pm_counters",
    "AcctGatherNodeFreq": "1",
    "JobAcctGatherFrequency": "task=1,energy=1",
}
#: Trap: /sys takes no new folder, so another takes its place with whatever it had: cgroups, and the processors, without
#: which slurmd 24.11 dies at its start.
_WITH_COUNTERS: Final = """
set -e
mkdir -p "$1/sys"
mount --rbind /sys "$1/sys"
mount -t tmpfs tmpfs /sys
for folder in "$1"/sys/*/; do
    mkdir "/sys/$(basename "$folder")"
    mount --rbind "$folder" "/sys/$(basename "$folder")"
done
mkdir -p /sys/cray/pm_counters
mount --bind "$1/counters" /sys/cray/pm_counters
shift
exec "$@"
"""


class Meter:
    """The counter of the first node; `watts` is what it draws now. It begins when slurmd was started anew."""

    def __init__(self, cluster: Cluster, watts: float = 0.0) -> None:
        self.watts = watts
        self._joules = 1_000_000.0  # a counter never begins at 0
        self._folder = cluster.home / "meter"
        (self._folder / "counters").mkdir(parents=True)
        self._end = threading.Event()
        self._write()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()
        self._restart(cluster)

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _feed(self) -> None:
        last = time.monotonic()
        while not self._end.wait(0.1):
            now = time.monotonic()
            self._joules += self.watts * (now - last)
            last = now
            self._write()

    def _write(self) -> None:
        for name, text in (("energy", f"{int(self._joules)} J\n"), ("power", f"{int(self.watts)} W\n")):
            fresh = self._folder / name
            fresh.write_text(text)
            fresh.rename(self._folder / "counters" / name)

    def _restart(self, cluster: Cluster) -> None:
        name = f"{cluster.name}-slurmd-n1"
        process = cluster.ledger.find(name)
        assert process
        cluster.ledger.stop(process)
        env = {**cluster.env(), MARK: str(cluster.folder)}
        command = ["unshare", "-m", "sh", "-c", _WITH_COUNTERS, "meter", str(self._folder), "slurmd", "-D", "-N", "n1"]
        cluster.ledger.start(name, command, env, Path(cluster.home, "log", "slurmd-n1.out"))
        cluster.until_idle()
        assert Path("/sys/fs/cgroup").exists() and not Path("/sys/cray").exists(), "the host's /sys is as it was"
