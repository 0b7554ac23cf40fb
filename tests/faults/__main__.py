"""`python -m tests.faults [--release R] [--fault NAME]…`: bring a site up, do each fault to it, count, take it down.

What was counted goes into tests/data/faults.json with the commit, and docs/reliability.md is made of it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback

from tests.cluster.compose.host import Site
from tests.cluster.harness.processes import ClusterError
from tests.faults import page, results
from tests.faults.catalogue import FAULTS, Fault
from tests.faults.results import Outcome, Result
from tests.faults.work import Work, Wrong
from tests.matrix import engine
from tests.matrix.results import commit
from tests.matrix.rows import ROWS

#: The hosts of the site keep a time that is changed twice a year.
ZONE = "America/New_York"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--release", default="trixie", choices=[row.name for row in ROWS if row.target == "debian"])
    parser.add_argument("--fault", action="append", choices=[fault.name for fault in FAULTS], help="default: every one")
    parser.add_argument("--keep", action="store_true", help="leave the site up, and take one that is up")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    row = next(row for row in ROWS if row.name == options.release)
    site = Site(row, f"adminkit-faults-{row.name}")
    try:
        if not (options.keep and site.left()):
            site.up(lively=False, zone=ZONE)
        slurm = site.ask("slurmctld", "-V").split()[-1]
        chosen = [fault for fault in FAULTS if not options.fault or fault.name in options.fault]
        failed = [fault.name for fault in chosen if not _do(site, fault, slurm)]
    except (engine.NotRun, ClusterError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        if not options.keep:
            site.down()
    return int(bool(failed))


def _do(site: Site, fault: Fault, slurm: str) -> bool:
    """One fault, its result kept at once. Whether it left everything whole."""
    print(f"== {fault.name}", file=sys.stderr, flush=True)
    began = time.monotonic()
    outcome, reason = Outcome(), ""
    try:
        outcome = fault.run(Work(site, fault.name))
    except Wrong as error:
        reason = str(error)
    except Exception as error:  # whatever it was: the other faults are done too
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}"
    good = not reason and outcome.whole
    if not good:
        site.heal()
    seconds = round(time.monotonic() - began)
    found = Result(
        site.row.name, fault.name, slurm, commit(), "passed" if good else "failed", seconds, outcome, reason[:400]
    )
    page.write(results.keep(found))
    print(page.told(found), file=sys.stderr, flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
