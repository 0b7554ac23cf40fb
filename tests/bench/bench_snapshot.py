"""The look at a step of ten thousand processes, beside a loop that only reads the same files of /proc."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from pathlib import Path

from tests.bench.pairs import CORE, PAIRS, Ratio

SPANK = Path("spank")
PARTS = (
    *("common/cgroup", "common/proc_parse"),
    *("ckpt/known_programs", "ckpt/proc_read", "ckpt/snapshot", "ckpt/targets"),
)
PROCESSES = 10_000
#: How the program ends where it could not start them.
TOO_FEW = 3


def run(rows: int, folder: Path) -> list[Ratio]:
    """Half of the processes catch the signal. Where no cgroup can be made (that needs root) its part is not run."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if allowed != resource.RLIM_INFINITY and allowed < PROCESSES + 1000:
        print(f"tree of a step: not run: {PROCESSES} processes, and ulimit -u says {allowed}")
        return []
    program = folder / "bench_snapshot"
    sources = ["tests/spank/bench_snapshot.c", *(str(SPANK / f"{part}.c") for part in PARTS)]
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", f"-I{SPANK}", "-o", str(program), *sources], check=True)
    ratios = _measure(program, "tree of a step from /proc", "")
    if not ratios:
        return []
    cgroup = Path("/sys/fs/cgroup/freezer")
    cgroup = (cgroup if cgroup.exists() else cgroup.parent) / f"adminkit_bench_{os.getpid()}"
    if not os.access(cgroup.parent, os.W_OK):
        print("tree of a step through its cgroup: not run: no cgroup can be made here")
        return ratios
    ratios += _measure(program, "tree of a step through its cgroup", str(cgroup))
    until = time.monotonic() + 30
    while (cgroup / "cgroup.procs").read_text() and time.monotonic() < until:
        time.sleep(0.1)
    cgroup.rmdir()
    return ratios


def _measure(program: Path, what: str, cgroup: str) -> list[Ratio]:
    """Nothing where so many processes cannot be started: a cgroup's pids.max is no limit of getrlimit."""
    argv = ["taskset", "-c", str(CORE), str(program), str(PROCESSES), str(PAIRS + 1), cgroup]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode == TOO_FEW:
        print(f"{what}: not run: {done.stderr.strip()}")
        return []
    if done.returncode:
        raise SystemExit(f"error: {what}: {done.stderr.strip() or f'exit {done.returncode}'}")
    pairs = [line.split() for line in done.stdout.splitlines()][1:]  # the first is to warm up
    ours, theirs = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    ratio = Ratio(f"{what}, {PROCESSES} processes", ours, theirs, 1.5, at_most=True)
    print(ratio.line(), flush=True)
    return [ratio]
