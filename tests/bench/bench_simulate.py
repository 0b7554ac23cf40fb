"""The models of the simulator, as multiples of glibc's qsort of the same jobs in the same rounds, and of AccaSim.

Both are processor time inside one process, without reading the jobs. The plain models have KTH-SP2 and RICC under
$ADMINKIT_TRACES; without them the same is measured on made jobs, and nothing is judged. The model slurm has the
look-alike. The median of seven rounds is shown with its interval, as everywhere; the least of seven rounds on either
side stands beside it.
"""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import numpy as np

from adminkit.installed import simulator_path
from adminkit.simulate import machine
from adminkit.simulate.core import Model, Request, simulate
from adminkit.simulate.subject import Wanted, subject
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.bench import pairs, rival
from tests.bench.tools import adminkit, fresh
from tests.support.swf import Columns, public, read_jobs

KTH, RICC = "KTH-SP2-1996-2.swf.gz", "RICC-2010-2.swf.gz"
#: qsort's time / the model's.
TARGETS: dict[str, tuple[tuple[Model, float], ...]] = {
    KTH: (("easy", 0.8), ("easy-sjbf", 0.3)),
    RICC: (("easy", 0.08), ("conservative", 0.008)),
}
SLURM_TARGET = 0.03
ELASTIC_TARGET = 0.008
#: RICC's nodes have eight processors. Its queue is thousands deep from the beginning; the whole takes many minutes.
RICC_NODE, RICC_JOBS = 8, 30_000
MEGABYTES = 300


def made_jobs(count: int, procs: int) -> Columns:
    """Jobs of few kinds whose limits are far above their runs, of about all processors; the same ones each time."""
    random = np.random.default_rng(1)
    limit = random.choice([3600, 14400, 86400, 259200], count)
    run = (limit * random.beta(0.5, 4, count)).astype(np.int64) + 1
    size = random.choice([1, 1, 4, 8, 16, 32], count).clip(1, procs)
    submit = random.integers(0, int((run * size).sum() / procs), count)
    return {"id": np.arange(count), "submit": np.sort(submit), "run": run, "limit": limit, "procs": size}


def sort_seconds(program: Path, jobs: Columns) -> float:
    numbers = np.column_stack([jobs["submit"], jobs["id"]]).astype("<i8").tobytes()
    return int(subprocess.run([program], input=numbers, stdout=subprocess.PIPE, check=True).stdout) / 1e6


def model_seconds(request: Request) -> float:
    return simulate(request).facts["cpu_micros"] / 1e6


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    sort = folder / "sort_jobs"
    subprocess.run(["cc", "-O2", "-o", sort, Path(__file__).with_name("sort_jobs.c")], check=True)
    results = []
    for name, models in TARGETS.items():
        path = public(name)
        procs, jobs = read_jobs(path) if path else (100, made_jobs(28_481, 100))
        what = name.split("-")[0] if path else f"made jobs (no {name} under $ADMINKIT_TRACES)"
        for model, target in models:
            ratio = pairs.compare(
                f"{what}: {model}, against qsort",
                partial(model_seconds, Request(model, jobs, {"procs": procs})),
                partial(sort_seconds, sort, jobs),
                target if path else 0,
            )
            _print_least(ratio, len(jobs["id"]))
            results += [ratio] if path else []
    results += [*_elastic(sort), _slurm(sort, folder), *rival.run(folder)]
    _print_deep_queue()
    _print_memory(rows, folder)
    return results


def _print_least(ratio: pairs.Ratio, jobs: int) -> None:
    print(
        f"  {jobs / min(ratio.ours) / 1e6:.3f} M jobs/s at best, qsort "
        f"{jobs / min(ratio.theirs) / 1e6:.3f} M: {min(ratio.theirs) / min(ratio.ours):.4f} ×"
    )


def _elastic(sort: Path) -> list[pairs.Ratio]:
    """The policy elastic on RICC's jobs as if each processor were a GPU, rounded down to 1, 2, 4 … 64 of them."""
    path = public(RICC)
    if path is None:
        print(f"elastic: not run: no {RICC} under $ADMINKIT_TRACES")
        return []
    procs, jobs = read_jobs(path)
    gpus = 1 << np.log2(jobs["procs"].clip(1, 64)).astype(np.int64)
    columns = {"submit": jobs["submit"], "run": jobs["run"], "gpus": gpus, "curve": np.zeros_like(gpus)}
    curve = {f"rate{1 << size}": round(1e6 * 1.7**size) for size in range(7)}
    curve |= {f"watts{1 << size}": round(3e5 * 1.9**size) for size in range(7)}
    settings = {"policy": 3, "restart": 120, "hold": 3600, "look": 60, "efficiency": 500, "idle_watts": 55_000}
    nodes = [{"count": procs // RICC_NODE, "gpus": RICC_NODE}]
    ratio = pairs.compare(
        "RICC: elastic, against qsort",
        partial(model_seconds, Request("elastic", columns, settings, [{}], nodes, curves=[curve])),
        partial(sort_seconds, sort, jobs),
        ELASTIC_TARGET,
    )
    _print_least(ratio, len(gpus))
    return [ratio]


def _slurm(sort: Path, folder: Path) -> pairs.Ratio:
    """The model slurm on the look-alike."""
    db = fresh(folder / "simulate.db")
    pairs.timed(adminkit("demo", "--no-plot", "--db", db))
    chosen = Filter(clusters=("aaic-demo",), states=(), min_elapsed=None, checkpoint_code=85)
    with reader(db, None) as trace:
        taken = subject(trace, chosen, Wanted())
    request = machine.request("slurm", taken.jobs, taken.machine)
    jobs = dict(request.jobs)
    ratio = pairs.compare(
        "look-alike: slurm, against qsort",
        partial(model_seconds, request),
        partial(sort_seconds, sort, {"submit": jobs["submit"], "id": np.arange(request.count)}),
        SLURM_TARGET,
    )
    _print_least(ratio, request.count)
    return ratio


def _print_deep_queue() -> None:
    """The model slurm where backfill always has as many jobs to test as it may."""
    path = public(RICC)
    if path is None:
        print(f"slurm on a deep queue: not run: no {RICC} under $ADMINKIT_TRACES")
        return
    procs, jobs = read_jobs(path)
    first = {name: column[:RICC_JOBS] for name, column in jobs.items() if name != "procs"}
    first |= {"cpus": jobs["procs"][:RICC_JOBS], "nodes": -(-jobs["procs"][:RICC_JOBS] // RICC_NODE)}
    nodes = ({"count": procs // RICC_NODE, "cpus": RICC_NODE},)
    facts = simulate(Request("slurm", first, queues=({},), nodes=nodes)).facts
    seconds = facts["cpu_micros"] / 1e6
    print(
        f"RICC, its first {RICC_JOBS} jobs: slurm, {RICC_JOBS / seconds:.0f} jobs/s and "
        f"{facts['job_tests'] / seconds / 1e6:.2f} M tests of jobs/s (the longest queue: {facts['most_waiting']})",
        flush=True,
    )


def _print_memory(rows: int, folder: Path) -> None:
    jobs = made_jobs(rows, 8192)
    models: tuple[Model, ...] = ("easy-sjbf", "conservative", "slurm")
    for model in models:
        procs = 8800 if model == "conservative" else 8192  # on 8192 its queue grows to the end, which would take hours
        request = Request(model, jobs, {"procs": procs})
        if model == "slurm":
            sizes = {"cpus": jobs["procs"], "nodes": -(-jobs["procs"] // RICC_NODE)}
            given = {name: column for name, column in jobs.items() if name != "procs"}
            roomy = {"count": 2 * 8192 // RICC_NODE, "cpus": RICC_NODE}  # a deep queue would take hours
            request = Request(model, {**given, **sizes}, {}, [{}], [roomy])
        source = folder / f"simulate-{rows}.in"
        with source.open("wb") as file:
            file.writelines(request.to_bytes())
        peak = pairs.peak_memory(["sh", "-c", '"$0" < "$1"', simulator_path(), str(source)]) / 2**20
        said = (
            f"target ≤ {MEGABYTES} MB {'met' if peak <= MEGABYTES else 'MISSED'}" if rows <= 1_000_000 else "no target"
        )
        print(f"peak memory of {model} with {rows} jobs: {peak:.0f} MB, {said}", flush=True)
