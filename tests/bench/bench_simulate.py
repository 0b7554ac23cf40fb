"""The plain models of the simulator, as multiples of glibc's qsort of the same jobs in the same rounds, and of AccaSim.

Both are processor time inside one process, without reading the jobs. The traces are KTH-SP2 and RICC under
$ADMINKIT_TRACES; without them the same is measured on made jobs, and nothing is judged. The median of seven rounds is
shown with its interval, as everywhere; the least of seven rounds on either side stands beside it.
"""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import numpy as np

from adminkit.installed import simulator_path
from adminkit.simulate.core import Model, Request, simulate
from tests.bench import pairs, rival
from tests.support.swf import Columns, public, read_jobs

KTH, RICC = "KTH-SP2-1996-2.swf.gz", "RICC-2010-2.swf.gz"
#: qsort's time / the model's.
TARGETS: dict[str, tuple[tuple[Model, float], ...]] = {
    KTH: (("easy", 0.8), ("easy-sjbf", 0.3)),
    RICC: (("easy", 0.08), ("conservative", 0.008)),
}
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
            print(
                f"  {len(jobs['id']) / min(ratio.ours) / 1e6:.3f} M jobs/s at best, qsort "
                f"{len(jobs['id']) / min(ratio.theirs) / 1e6:.3f} M: {min(ratio.theirs) / min(ratio.ours):.4f} ×"
            )
            results += [ratio] if path else []
    results += rival.run(folder)
    _print_memory(rows, folder)
    return results


def _print_memory(rows: int, folder: Path) -> None:
    for model in ("easy-sjbf", "conservative"):
        request = Request(model, made_jobs(rows, 8192), {"procs": 8192})
        source = folder / f"simulate-{rows}.in"
        with source.open("wb") as file:
            file.writelines(request.to_bytes())
        peak = pairs.peak_memory(["sh", "-c", '"$0" < "$1"', simulator_path(), str(source)]) / 2**20
        said = (
            f"target ≤ {MEGABYTES} MB {'met' if peak <= MEGABYTES else 'MISSED'}" if rows <= 1_000_000 else "no target"
        )
        print(f"peak memory of {model} with {rows} jobs: {peak:.0f} MB, {said}", flush=True)
