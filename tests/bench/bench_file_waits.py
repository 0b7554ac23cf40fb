"""What a look at the threads of a job costs the plugin adminkit_io, of the CPU time that it may take."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.bench.pairs import CORE, PAIRS, Ratio

SPANK = Path("spank")
PARTS = (
    "common/cgroup",
    "common/proc_parse",
    *(f"io/{name}" for name in ("calls", "proc_files", "proc_texts", "sums")),
)
THREADS = 200
#: Seconds: a look each five seconds, and 0.2 % of a core.
ALLOWED = 5 * 0.002


def run(rows: int, folder: Path) -> list[Ratio]:
    """With the processes of a step's cgroup, and where all of /proc has to be read."""
    program = folder / "bench_io"
    sources = ["tests/spank/bench_io.c", *(str(SPANK / f"{part}.c") for part in (*PARTS, "io/threads"))]
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-pthread", f"-I{SPANK}"]
    subprocess.run(["cc", *flags, "-o", str(program), *sources], check=True)
    argv = ["taskset", "-c", str(CORE), str(program), str(THREADS), str(PAIRS + 1)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    looks = [line.split() for line in done.stdout.splitlines()][1:]  # the first is to warm up
    ratios = []
    for side, how in enumerate(("by its cgroup", "by all of /proc")):
        ours = [float(look[side]) for look in looks]
        ratio = Ratio(f"look at {THREADS} threads, {how}", ours, [ALLOWED] * len(ours), 1, at_most=True)
        print(ratio.line(), flush=True)
        ratios.append(ratio)
    return ratios
