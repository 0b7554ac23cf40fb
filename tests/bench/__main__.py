"""Ratios of speed and memory, with intervals.

python -m tests.bench [PART …] [--rows N]                  against other tools, with targets
python -m tests.bench --against REV [PART …] [--rows N]    against an older revision (against.py)
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.bench import against
from tests.bench.pairs import Ratio

FOLDER = Path("build/bench")
PARTS = (
    "parse",
    "import",
    "report",
    "reports",
    "months",
    "scale",
    "memory",
    "sync",
    "slurmdbd",
    "decide",
    "replay",
    "submit",
    "letters",
    "snapshot",
    "file_waits",
    "my",
    "simulate",
    "extend",
    "tune",
    "data",
    "staging",
)

#: Program or module -> how to get it.
SOURCES = {
    "cc": "apt-get install gcc libc6-dev",
    "duckdb": f"{sys.executable} -m pip install -e '.[dev]'",
    "git": "apt-get install git",
    "make": "apt-get install make",
    "sqlite3": "apt-get install sqlite3",
    "taskset": "apt-get install util-linux",
}
#: The programs that a part needs; a part that needs Slurm or Lua checks for it itself.
NEEDS = {"parse": ("duckdb", "taskset"), "import": ("sqlite3", "taskset"), "report": ("sqlite3", "taskset")}
NEEDS |= {"reports": ("duckdb", "sqlite3"), "months": ("duckdb",), "scale": ("duckdb",)}
NEEDS |= {
    "snapshot": ("cc", "taskset"),
    "file_waits": ("cc", "taskset"),
    "simulate": ("cc",),
    "against": ("git", "make", "taskset"),
}


def missing(parts: Sequence[str]) -> list[str]:
    """The programs and modules that the parts need and that are missing."""
    wanted = sorted({name for part in parts for name in NEEDS.get(part, ())})
    return [name for name in wanted if not (find_spec(name) if name == "duckdb" else shutil.which(name))]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--against", metavar="REV", help=f"an older revision; the parts are then {', '.join(against.PARTS)}"
    )
    args = parser.parse_args(argv)
    known = against.PARTS if args.against else PARTS
    parts = args.parts or [*known]
    if unknown := sorted({*parts} - {*known}):
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(known)}")
    if absent := missing(["against"] if args.against else parts):
        print(f"error: no {', no '.join(absent)}", file=sys.stderr)
        print("\n".join(f"hint: {SOURCES[name]}" for name in absent), file=sys.stderr)
        return 1
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or an older revision compiles its modules at each start
    os.environ["ADMINKIT_MONTHS_KEEP"] = "false"  # parts that are about months have them written
    FOLDER.mkdir(parents=True, exist_ok=True)
    if args.against:
        ratios = against.run(args.against, parts, args.rows, FOLDER)
        slower = sum(1 for ratio in ratios if against.verdict(*ratio.interval) == "slower")
        print(f"{len(ratios)} ratios, {slower} slower")
        return 0
    results: list[Ratio] = []
    for part in parts:
        module = import_module(f"tests.bench.bench_{part}")
        results += module.run(args.rows, FOLDER)
    missed = sum(1 for r in results if not (r.interval[1] <= r.target if r.at_most else r.interval[0] >= r.target))
    print(f"{len(results)} ratios, {missed} missed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
