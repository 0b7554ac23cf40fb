"""python -m tests.bench [PART …] [--rows N]: every ratio named in the issue of its part."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.bench.pairs import Ratio

FOLDER = Path("build/bench")
PARTS = ("parse", "import", "report", "memory", "sync", "decide", "replay", "submit", "letters", "snapshot")

#: Program or module -> how to get it.
SOURCES = {
    "cc": "apt-get install gcc libc6-dev",
    "duckdb": f"{sys.executable} -m pip install -e '.[dev]'",
    "sqlite3": "apt-get install sqlite3",
    "taskset": "apt-get install util-linux",
}
#: What a part cannot do without; one that needs Slurm or Lua says itself that it was not run.
NEEDS = {"parse": ("duckdb", "taskset"), "import": ("sqlite3", "taskset"), "report": ("sqlite3", "taskset")}
NEEDS |= {"snapshot": ("cc", "taskset")}


def missing(parts: Sequence[str]) -> list[str]:
    """What the parts need and is not there."""
    wanted = sorted({name for part in parts for name in NEEDS.get(part, ())})
    return [name for name in wanted if not (find_spec(name) if name == "duckdb" else shutil.which(name))]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("parts", nargs="*", default=[*PARTS])
    parser.add_argument("--rows", type=int, default=1_000_000)
    args = parser.parse_args(argv)
    if absent := missing(args.parts):
        print(f"error: no {', no '.join(absent)}", file=sys.stderr)
        print("\n".join(f"hint: {SOURCES[name]}" for name in absent), file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    results: list[Ratio] = []
    for part in args.parts:
        module = import_module(f"tests.bench.bench_{part}")
        results += module.run(args.rows, FOLDER)
    missed = sum(1 for r in results if not (r.interval[1] <= r.target if r.at_most else r.interval[0] >= r.target))
    print(f"{len(results)} ratios, {missed} missed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
