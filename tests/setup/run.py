"""`make check`, `make test`, `make web` and `make soak`: their parts, several at a time, then one line on each.

A part that cannot run here is "not run" with the reason, never passed; with CI=true it counts as failed.
"""

from __future__ import annotations

import os
import pwd
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tests.setup import beside
from tests.setup.beside import Result
from tests.setup.parts import ROOT, TIERS, parts

#: Parts that run at a time. Long proofs print while they run; the Slurm part waits most of the time.
AT_ONCE: Final = {"soak": 1, "web": 1, "check": 2, "test": 3}


def how(tier: str, env: Mapping[str, str], root: Path = ROOT) -> str:
    """The user and the host that it runs on, to explain a failure."""
    who = pwd.getpwuid(os.geteuid()).pw_name
    closed = [folder for folder in (root, *root.parents) if not folder.stat().st_mode & 0o001]
    reach = "which every user can enter"
    if closed:
        reach = f"which other users cannot enter: {closed[-1]} has mode {closed[-1].stat().st_mode & 0o7777:04o}"
    ci = f", CI={env['CI']}" if env.get("CI") else ""
    return f"make {tier} as {who} in {root}, {reach}; {len(os.sched_getaffinity(0))} processors{ci}"


def exit_code(results: Iterable[Result], env: Mapping[str, str]) -> int:
    """0 when all passed; under CI=true a part that did not run counts as failed, unless it asks the network."""
    strict = env.get("CI", "").lower() in ("true", "1")
    missed = [result for result in results if result.state == "not run" and strict and not result.online]
    return int(bool(missed) or any(result.state == "failed" for result in results))


def main(argv: list[str]) -> int:
    if argv not in [[tier] for tier in TIERS]:
        print(f"usage: python -m tests.setup.run {'|'.join(TIERS)}", file=sys.stderr)
        return 2
    (tier,) = argv
    # Without bytecode every command that a test starts compiles adminkit again, and every process of pytest its tests.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    said, began = how(tier, os.environ), time.monotonic()
    print(said, flush=True)
    try:
        results = beside.run(parts(tier), AT_ONCE[tier])
    except KeyboardInterrupt:
        return 130
    code = exit_code(results, os.environ)
    lines = [f"== summary: {said}", *map(str, results), f"  {'in all':28} {time.monotonic() - began:.0f} s"]
    if code and not any(result.state == "failed" for result in results):
        lines.append("failed: CI is set and a part did not run")
    print("", *lines, sep="\n")
    # For a reader of the end of the output of several tiers: see .ci/run.
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / f"build/summary-{tier}").write_text("\n".join(lines) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
