"""`python -m tests.simulate_real run --row forky [--workload W]… [--times 3] [--at-once 4]`: workloads on a real Slurm.

Each run has a container of its row's Slurm to itself; those that ended are kept in tests/data/simulate at once, and a
run that is there is not made again. `here` runs one workload on this host's Slurm, `compare` has the simulator do what
was kept and writes docs/measured/simulate-real.md.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cluster.harness.processes import ClusterError
from tests.matrix import engine
from tests.matrix.results import commit
from tests.matrix.rows import ROWS, Row
from tests.simulate_real import runs
from tests.simulate_real.runs import Run
from tests.simulate_real.workloads import SHORT, WORKLOADS, Workload, workload

_NAMES = [one.name for one in WORKLOADS]
_ROWS = {row.name: row for row in ROWS if row.target == "debian"}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulate_real", description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    many = acts.add_parser("run")
    many.add_argument("--row", action="append", choices=list(_ROWS), required=True)
    many.add_argument("--workload", action="append", choices=_NAMES, help="default: all that the row's Slurm can run")
    many.add_argument("--times", type=int, default=3, help="runs of each (default 3)")
    many.add_argument("--at-once", type=int, default=4, help="clusters side by side (default 4)")
    here = acts.add_parser("here")
    here.add_argument("workload", choices=[*_NAMES, SHORT.name])
    here.add_argument("--to", type=Path, required=True, help="the file")
    here.add_argument("--commit", default="")
    acts.add_parser("compare")
    jobs = acts.add_parser("jobs", help="the starts of one run's jobs, in the order of the real ones")
    jobs.add_argument("run", type=Path, help="its file")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        if options.act == "here":
            _here(workload(options.workload), options.to, options.commit or commit())
            return 0
        if options.act == "compare":
            return _compare()
        if options.act == "jobs":
            return _jobs(runs.parse(options.run.read_text()))
        names = options.workload or _NAMES
        return _many([_ROWS[name] for name in options.row], names, options.times, options.at_once)
    except (engine.NotRun, ClusterError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _here(what: Workload, to: Path, made_by: str) -> None:
    from tests.simulate_real.cluster import shaped
    from tests.simulate_real.drive import drive

    with shaped(what.shape) as cluster:
        release = cluster.ask("slurmctld", "-V").split()[-1]
        head = {"workload": what.name, "digest": what.digest, "seed": str(what.seed), "release": release}
        head |= {"commit": made_by, "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime())}
        run = drive(cluster, what, head)
        (to.parent / f"{to.stem}.log").write_bytes((cluster.home / "log/slurmctld.log").read_bytes())
    to.write_text(runs.text(run))


def _compare() -> int:
    """0 when every figure is within its bounds. The imports need numpy, which a container's Python lacks."""
    from tests.simulate_real import compare, page

    kept = runs.load()
    found = compare.compare_all(kept)
    signs = compare.signs(found)
    page.PAGE.write_text(page.markdown(kept, found, signs))
    print(page.text(found, signs))
    return int(not (all(one.within for one in found) and all(one.right for one in signs)))


def _jobs(run: Run) -> int:
    """A line for each job: to find the first that starts at another time."""
    from tests.simulate_real.compare import simulated_outcomes

    (simulated,) = simulated_outcomes(run, times=1)
    rows = {row.number: row for row in run.rows}
    for job in sorted(workload(run.workload).jobs, key=lambda job: (rows[job.number].start, job.number)):
        row, start = rows[job.number], int(simulated.start[job.number])
        size = f"{job.nodes} x {job.cpus} CPUs {job.gpus} GPUs {job.gpu_type}{' whole' * job.whole}"
        print(
            f"{job.number:4} {','.join(job.queues):10} {size:26} prio {row.priority:3} limit {job.limit:4} "
            f"soft {job.soft or '-':>4} ran {row.end - row.start:3}  came {row.eligible:4} started {row.start:4} "
            f"{row.by:8} simulated {start:4} {start - row.start:+4}  {row.nodes}"
        )
    return 0


def _plan(rows: list[Row], names: list[str], times: int) -> Iterator[tuple[Row, Workload, str]]:
    """The runs that are missing: each workload once on each row, then again."""
    for number in range(1, times + 1):
        for row in rows:
            for name in names:
                what = workload(name)
                file = f"{row.slurm}-{name}-{number}.csv"
                if tuple(map(int, row.slurm.split("."))) >= what.oldest and not (runs.DATA / file).exists():
                    yield row, what, file


def _many(rows: list[Row], names: list[str], times: int, at_once: int) -> int:
    """0 when every run ended well."""
    for row in rows:
        engine.image(row)
        engine.copy(row)
    made_by = commit()
    pool = ThreadPoolExecutor(at_once)
    try:
        tasks = [pool.submit(_contained, row, what, file, made_by) for row, what, file in _plan(rows, names, times)]
        return int(not all(task.result() for task in tasks))
    finally:
        pool.shutdown(cancel_futures=True)  # an interruption leaves the runs that have begun to end


def _contained(row: Row, what: Workload, file: str, made_by: str) -> bool:
    """One run in a container; its file is kept when it is whole."""
    began = time.monotonic()
    words = ["python3", "-m", "tests.simulate_real", "here", what.name, "--to", f"/adminkit/build/{file}"]
    made = engine.folder_of(row) / "build" / file
    made.parent.mkdir(exist_ok=True)
    made.unlink(missing_ok=True)
    code = engine.alone(row, [*words, "--commit", made_by], engine.folder_of(row).parent / f"{made.stem}.log")
    good = code == 0 and made.exists()
    if good:
        runs.DATA.mkdir(exist_ok=True)
        (runs.DATA / file).write_text(made.read_text())
    print(
        f"{file}: {'kept' if good else f'exit {code}'} ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True
    )
    return good


if __name__ == "__main__":
    sys.exit(main())
