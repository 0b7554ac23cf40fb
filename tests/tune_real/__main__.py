"""`python -m tests.tune_real records | tune | run | simulate | compare`: `adminkit tune` and its pick on a real Slurm.

`records` runs six days under the defaults. `tune` gives their records to `adminkit tune`, and keeps its answer and its
pick. `run` runs each of twelve other days twice on one cluster, with the defaults and with the pick. `simulate` asks
the simulator about the same days, and `compare` writes docs/measured/tune-real.md. Each run has a Slurm 26.05 in a
container to itself; what ended is kept in tests/data/tune_real at once, and a run that is there is not made again.
`here` runs one on this host's Slurm.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.cluster.harness.processes import ClusterError
from tests.cluster.harness.ruled import Ruled
from tests.matrix import engine
from tests.matrix.results import commit
from tests.soft_real import runs
from tests.soft_real.contained import Task, in_containers
from tests.soft_real.runs import ARMS
from tests.tune_real import records
from tests.tune_real.records import DATA
from tests.tune_real.workloads import RECORDS, TRIAL, day

_SETTINGS = runs.SETTINGS[0]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tune_real", description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    for act, seeds in (("records", RECORDS), ("run", TRIAL)):
        many = acts.add_parser(act)
        many.add_argument("--seed", action="append", type=int, choices=seeds, help="default: all")
        many.add_argument("--at-once", type=int, default=4, help="clusters side by side (default 4)")
    here = acts.add_parser("here")
    here.add_argument("seed", type=int, choices=RECORDS + TRIAL)
    here.add_argument("--to", type=Path, required=True, help="a folder")
    here.add_argument("--commit", default="")
    acts.add_parser("tune")
    acts.add_parser("simulate")
    acts.add_parser("compare")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        if options.act == "here":
            options.to.mkdir(parents=True, exist_ok=True)
            (_record if options.seed in RECORDS else _pair)(options.seed, options.to, options.commit or commit())
        elif options.act == "tune":
            from tests.tune_real import tuning

            tuning.tune()
        elif options.act == "simulate":
            from tests.tune_real import measure

            measure.SIMULATED.write_text(measure.text(measure.simulate()))
        elif options.act == "compare":
            from tests.tune_real import page

            page.PAGE.write_text(page.markdown())
        else:
            seeds = options.seed or (RECORDS if options.act == "records" else TRIAL)
            return in_containers("tests.tune_real", [_task(seed) for seed in seeds], DATA, options.at_once)
        return 0
    except (engine.NotRun, ClusterError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _task(seed: int) -> Task:
    if seed in RECORDS:
        return Task(str(seed), (str(seed),), (records.name(seed), runs.name(seed, "off", 1, _SETTINGS), records.SITE))
    return Task(str(seed), (str(seed),), tuple(runs.name(seed, arm, 1, _SETTINGS) for arm in ARMS))


def _record(seed: int, to: Path, made_by: str) -> None:
    """A day under the defaults: its run, what sacct says of it, and the site."""
    from tests.soft_real.cluster import know, planned, turn
    from tests.soft_real.drive import drive
    from tests.soft_real.history import sacct

    what = day(seed)
    with planned() as ruled:
        know(ruled, sacct(what.past, int(time.time())), lambda: turn(ruled, "on", _SETTINGS))
        turn(ruled, "off", _SETTINGS)
        records.site(ruled, to / records.SITE)
        run = drive(ruled, what, "off", _head(ruled, seed, made_by))
        (to / runs.name(seed, "off", 1, _SETTINGS)).write_text(runs.text(run))
        (to / records.name(seed)).write_text(records.told(ruled))


def _pair(seed: int, to: Path, made_by: str) -> None:
    """A day with the defaults and with the pick, every other day with the defaults first."""
    from tests.soft_real.cluster import planned, remember
    from tests.soft_real.drive import drive
    from tests.tune_real.sides import DEFAULTS, picked, put

    what, sides = day(seed), {"off": DEFAULTS, "on": picked()}
    with planned() as ruled:
        base = (ruled.cluster.home / "slurm.conf").read_text()
        trace = remember(ruled, records.history(int(time.time())))
        for arm in ARMS if seed % 2 else ARMS[::-1]:
            put(ruled, sides[arm], base, trace)
            run = drive(ruled, what, arm, _head(ruled, seed, made_by))
            (to / runs.name(seed, arm, 1, _SETTINGS)).write_text(runs.text(run))


def _head(ruled: Ruled, seed: int, made_by: str) -> dict[str, str]:
    return {
        "seed": str(seed),
        "digest": day(seed).digest,
        "release": ruled.cluster.ask("slurmctld", "-V").split()[-1],
        "commit": made_by,
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


if __name__ == "__main__":
    sys.exit(main())
