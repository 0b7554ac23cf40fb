"""python -m tests.bench [PART …] [--rows N]: every ratio named in the issue of its part."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from tests.bench.pairs import Ratio

FOLDER = Path("build/bench")
PARTS = ("parse", "import", "report", "memory", "sync", "decide", "replay", "submit", "letters", "tree")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("parts", nargs="*", default=[*PARTS])
    parser.add_argument("--rows", type=int, default=1_000_000)
    args = parser.parse_args()
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
