"""`python -m tests.soft_real run [--seed N]… [--again] [--settings default]`: the pairs of runs, on private Slurms.

Each pair has a Slurm 26.05 in a container to itself; the runs that ended are kept in tests/data/soft_real at once, and
a pair that is there is not made again. `--again` makes the second pair of a day, which says how far real runs are
apart. `--settings`: of soft limits, those of tests/soft_real/history.py. `here` runs one pair on this host's Slurm,
`load` shows by the simulator how busy the days are, `frontier` tries other settings on other days there, `compare`
writes docs/measured/soft-limits-real.md.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from pathlib import Path

from tests.cluster.harness.processes import ClusterError
from tests.matrix import engine
from tests.matrix.results import commit
from tests.soft_real import runs
from tests.soft_real.contained import Task, in_containers
from tests.soft_real.runs import ARMS, SETTINGS
from tests.soft_real.workloads import SEEDS, day


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soft_real", description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    many = acts.add_parser("run")
    many.add_argument("--seed", action="append", type=int, choices=SEEDS, help="default: all")
    many.add_argument("--at-once", type=int, default=3, help="clusters side by side (default 3)")
    many.add_argument("--again", action="store_true", help="the second pair of each")
    here = acts.add_parser("here")
    here.add_argument("seed", type=int, choices=SEEDS)
    here.add_argument("--number", type=int, default=1, choices=(1, 2), help="the second pair of the day?")
    here.add_argument("--to", type=Path, required=True, help="a folder")
    here.add_argument("--commit", default="")
    for one in (many, here):
        one.add_argument("--settings", default=SETTINGS[0], choices=SETTINGS, help=f"default: {SETTINGS[0]}")
    acts.add_parser("load")
    acts.add_parser("frontier")
    acts.add_parser("compare")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        if options.act == "here":
            _here(options.seed, options.number, options.settings, options.to, options.commit or commit())
            return 0
        if options.act == "run":
            return _many(options.seed or list(SEEDS), 1 + options.again, options.settings, options.at_once)
        return {"load": _load, "frontier": _frontier, "compare": _compare}[options.act]()
    except (engine.NotRun, ClusterError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _here(seed: int, number: int, settings: str, to: Path, made_by: str) -> None:
    """Every other pair begins without soft limits, and of the two pairs of a day one."""
    from tests.soft_real.cluster import know, planned, turn
    from tests.soft_real.drive import drive
    from tests.soft_real.history import sacct

    what = day(seed)
    to.mkdir(parents=True, exist_ok=True)
    with planned() as ruled:
        release = ruled.cluster.ask("slurmctld", "-V").split()[-1]
        know(ruled, sacct(what.past, int(time.time())), lambda: turn(ruled, "on", settings))
        for arm in ARMS if (seed + number) % 2 == 0 else ARMS[::-1]:
            head = {
                "seed": str(seed),
                "number": str(number),
                "settings": settings,
                "digest": what.digest,
                "release": release,
                "commit": made_by,
            }
            head |= {"date": time.strftime("%Y-%m-%d %H:%M", time.gmtime())}
            turn(ruled, arm, settings)
            run = drive(ruled, what, arm, head)
            (to / runs.name(seed, arm, number, settings)).write_text(runs.text(run))
            shutil.copy(ruled.cluster.home / "log/slurmctld.log", to / f"{seed}-{arm}.log")


def _many(seeds: list[int], number: int, settings: str, at_once: int) -> int:
    """0 when every pair ended well."""
    tasks = [
        Task(
            f"{seed}-{number}-{settings}",
            (str(seed), "--number", str(number), "--settings", settings),
            tuple(runs.name(seed, arm, number, settings) for arm in ARMS),
        )
        for seed in seeds
    ]
    return in_containers("tests.soft_real", tasks, runs.DATA, at_once)


def _load() -> int:
    """The imports need numpy."""
    from tests.soft_real.compare import expected

    for seed in SEEDS:
        print(expected(day(seed)))
    return 0


def _frontier() -> int:
    from tests.soft_real import frontier

    frontier.FILE.write_text(frontier.text(frontier.made()))
    return 0


def _compare() -> int:
    """0 always: the result stands."""
    from tests.soft_real import page

    page.PAGE.write_text(page.markdown(runs.load()))
    print(page.PAGE.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
