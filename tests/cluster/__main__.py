"""`python -m tests.cluster up|down|status DIR`: a private Slurm to try things on."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.ending import clear_abandoned, stop
from tests.cluster.harness.processes import LEDGER, ClusterError, Ledger


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("act", choices=["up", "down", "status"])
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--second", action="store_true", help="boot a second cluster, beta, on the same slurmdbd")
    parser.add_argument("--proctrack", default="linuxproc", choices=["linuxproc", "cgroup"])
    options = parser.parse_args(argv)
    folder = options.folder.resolve()
    try:
        if options.act == "up":
            return _up(folder, options.second, options.proctrack)
        if not (folder / LEDGER).exists():
            raise ClusterError(f"{folder} holds no cluster of ours")
        if options.act == "down":
            stop(folder)
            print(f"stopped; the files stay in {folder}", file=sys.stderr)
            return 0
        return _status(folder)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _up(folder: Path, second: bool, proctrack: str) -> int:
    for old in clear_abandoned():
        print(f"cleared away what a killed run left in {old}", file=sys.stderr)
    cluster = Cluster(folder, proctrack=proctrack)
    cluster.boot()
    if second:
        cluster.another()
    print(f"export SLURM_CONF={cluster.home}/slurm.conf")
    return 0


def _status(folder: Path) -> int:
    """One line per process; 0 when all that was started is alive, else 3."""
    ledger = Ledger(folder)
    alive = ledger.alive()
    for process in ledger.read():
        print(f"{process.name:24} {process.pid:8} {'running' if process in alive else 'ended'}")
    return 0 if alive and len(alive) == len(ledger.read()) else 3


if __name__ == "__main__":
    sys.exit(main())
