"""`python -m tests.extend_real run [--seed N]… [--risk R]… [--arm A]…`: days on private Slurms of this host.

Each run has a Slurm to itself; the runs that ended are kept in tests/data/extend_real at once, and one that is there is
not made again. `here` makes one run, `compare` writes docs/measured/extend-real.md. `variants`
simulates the days with other keys, and keeps what came of it for the page.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.cluster.harness.processes import ClusterError
from tests.extend_real import runs
from tests.extend_real.arms import ARMS, FIRST
from tests.extend_real.workloads import EVERY, RISKS, SEEDS, day
from tests.matrix.results import commit
from tests.matrix.rows import ROOT

#: Seconds for a run.
LIMIT: Final = 1500.0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.extend_real", description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    many = acts.add_parser("run")
    many.add_argument("--seed", action="append", type=int, choices=EVERY, help="default: the first six")
    many.add_argument("--risk", action="append", type=int, choices=RISKS, help="percent; default: all")
    many.add_argument("--arm", action="append", choices=ARMS, help="default: those of the first days")
    many.add_argument("--at-once", type=int, default=2, help="clusters side by side (default 2)")
    here = acts.add_parser("here")
    here.add_argument("seed", type=int, choices=EVERY)
    here.add_argument("risk", type=int, choices=RISKS)
    here.add_argument("arm", choices=ARMS)
    here.add_argument("--to", type=Path, required=True, help="a folder")
    acts.add_parser("compare")
    acts.add_parser("variants")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        if options.act == "here":
            return _here(options.seed, options.risk, options.arm, options.to)
        if options.act == "run":
            wanted = [
                (seed, risk, arm)
                for risk in options.risk or RISKS
                for seed in options.seed or SEEDS
                for arm in options.arm or FIRST
            ]
            return _many(wanted, options.at_once)
        if options.act == "variants":
            from tests.extend_real import variants

            variants.save()
            return 0
        return _compare()
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _here(seed: int, risk: int, arm: str, to: Path) -> int:
    from tests.extend_real.cluster import extending
    from tests.extend_real.drive import drive, run_of

    what = day(seed, risk)
    with extending() as ruled:
        head = {
            "seed": str(seed),
            "risk": str(risk),
            "digest": what.digest,
            "release": ruled.cluster.ask("slurmctld", "-V").split()[-1],
            "commit": commit(),
            "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        }
        told = drive(ruled, what, arm, head)
        to.mkdir(parents=True, exist_ok=True)
        (to / "told.json").write_text(json.dumps(asdict(told)))
        shutil.copy(ruled.cluster.home / "log/slurmctld.log", to)
    runs.save(run_of(told), to)
    return 0


def _many(wanted: list[tuple[int, int, str]], at_once: int) -> int:
    """0 when every run ended well."""
    missing = [one for one in wanted if not (runs.DATA / runs.name(*one)).exists()]
    pool = ThreadPoolExecutor(at_once)
    try:
        tasks = [pool.submit(_apart, *one) for one in missing]
        ended = [task.result() for task in tasks]
        return int(not all(ended))
    finally:
        pool.shutdown(cancel_futures=True)  # an interruption leaves the runs that have begun to end


def _apart(seed: int, risk: int, arm: str) -> bool:
    """One run in a process of its own; its files are kept when it ended well."""
    began, called = time.monotonic(), f"{seed}-{risk}-{arm}"
    to = ROOT / "build/extend_real" / called
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    command = [sys.executable, "-m", "tests.extend_real", "here", str(seed), str(risk), arm, "--to", str(to)]
    with (to / "out").open("w") as out:
        try:
            code = subprocess.run(command, cwd=ROOT, stdout=out, stderr=out, timeout=LIMIT, check=False).returncode
        except subprocess.TimeoutExpired:
            code = -1
    if code == 0:
        runs.save(runs.read(to / runs.name(seed, risk, arm)), runs.DATA)
    said = f"run {called}: {'kept' if code == 0 else f'exit {code}'} ({time.monotonic() - began:.0f} s)"
    print(said, file=sys.stderr, flush=True)
    return code == 0


def _compare() -> int:
    from tests.extend_real import page

    page.PAGE.write_text(page.markdown(runs.load()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
