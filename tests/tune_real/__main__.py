"""`python -m tests.tune_real records`: six days on private Slurms under the defaults, for `adminkit tune`.

Each run has a Slurm 26.05 in a container to itself; what ended is kept in tests/data/tune_real at once, and a run that
is there is not made again. `here` runs one on this host's Slurm.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.cluster.harness.processes import ClusterError
from tests.matrix import engine
from tests.matrix.results import commit
from tests.soft_real import runs
from tests.soft_real.contained import Task, in_containers
from tests.tune_real import records
from tests.tune_real.records import DATA
from tests.tune_real.workloads import RECORDS, TRIAL, day


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tune_real", description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    for act, seeds in (("records", RECORDS),):
        many = acts.add_parser(act)
        many.add_argument("--seed", action="append", type=int, choices=seeds, help="default: all")
        many.add_argument("--at-once", type=int, default=4, help="clusters side by side (default 4)")
    here = acts.add_parser("here")
    here.add_argument("seed", type=int, choices=RECORDS + TRIAL)
    here.add_argument("--to", type=Path, required=True, help="a folder")
    here.add_argument("--commit", default="")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        if options.act == "here":
            _record(options.seed, options.to, options.commit or commit())
            return 0
        tasks = [
            Task(str(seed), (str(seed),), (records.name(seed), runs.name(seed, "off", 1, "open"), records.SITE))
            for seed in options.seed or RECORDS
        ]
        return in_containers("tests.tune_real", tasks, DATA, options.at_once)
    except (engine.NotRun, ClusterError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _record(seed: int, to: Path, made_by: str) -> None:
    """A day under the defaults: its run, what sacct says of it, and the site."""
    from tests.soft_real.cluster import know, planned, turn
    from tests.soft_real.drive import drive
    from tests.soft_real.history import sacct

    what = day(seed)
    to.mkdir(parents=True, exist_ok=True)
    with planned() as ruled:
        head = {
            "seed": str(seed),
            "digest": what.digest,
            "release": ruled.cluster.ask("slurmctld", "-V").split()[-1],
            "commit": made_by,
            "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        }
        know(ruled, sacct(what, int(time.time())), lambda: turn(ruled, "on", "open"))
        turn(ruled, "off", "open")
        records.site(ruled, to / records.SITE)
        (to / runs.name(seed, "off", 1, "open")).write_text(runs.text(drive(ruled, what, "off", head)))
        (to / records.name(seed)).write_text(records.told(ruled))


if __name__ == "__main__":
    sys.exit(main())
