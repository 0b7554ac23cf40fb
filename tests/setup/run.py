"""`make check`, `make test` and `make soak`: every part in turn, then one line on each.

A part that cannot run here is "not run" with the reason, never passed; with CI=true it counts as failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.setup import guard

ROOT = Path(__file__).resolve().parents[2]
TIERS = ("check", "test", "soak")
NOTHING_COLLECTED = 5  # pytest's exit code


@dataclass(frozen=True)
class Part:
    """One command. `obstacle` says why it cannot run here (and how to get it); None when it can."""

    name: str
    command: tuple[str, ...]
    obstacle: Callable[[], guard.Verdict | None] = lambda: None


@dataclass(frozen=True)
class Result:
    name: str
    state: str  # passed, failed, not run
    seconds: float = 0.0
    reason: str = ""

    def __str__(self) -> str:
        said = f"{self.state}: {self.reason}" if self.reason else self.state
        return f"  {self.name:28} {said}" + (f"  ({self.seconds:.0f} s)" if self.state != "not run" else "")


def needs(tool: str, package: str) -> Callable[[], guard.Verdict | None]:
    """An obstacle where `tool` is not on PATH."""

    def obstacle() -> guard.Verdict | None:
        if shutil.which(tool):
            return None
        return guard.Verdict(f"no {tool}", hint=f"apt-get install {package}")

    return obstacle


def either(*obstacles: Callable[[], guard.Verdict | None]) -> Callable[[], guard.Verdict | None]:
    """The first obstacle of several that there is."""
    return lambda: next((found for obstacle in obstacles if (found := obstacle()) is not None), None)


def slurm_headers() -> guard.Verdict | None:
    """An obstacle where the plugin cannot be built; SLURM_PREFIX says where Slurm lies, as in its Makefile."""
    if not shutil.which("cc"):
        return guard.Verdict("no cc", hint="apt-get install gcc libc6-dev")
    prefix = os.environ.get("SLURM_PREFIX", "/usr")
    probe = ("cc", "-E", "-isystem", f"{prefix}/include", "-include", "slurm/spank.h", "-x", "c", "/dev/null")
    if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        return None
    return guard.Verdict("no slurm/spank.h", hint="apt-get install libslurm-dev")


def slurm() -> guard.Verdict | None:
    verdict = guard.check()
    return None if verdict.allowed else verdict


def _python(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *words)


def _files(root: Path, *patterns: str) -> tuple[str, ...]:
    return tuple(sorted(str(path.relative_to(root)) for pattern in patterns for path in root.glob(pattern)))


def parts(tier: str, root: Path = ROOT) -> list[Part]:
    """What `make TIER` runs, in order. Parts whose files do not exist yet are left out."""
    if tier == "soak":
        memcheck = ("make", "-s", "-C", "tests/spank", "valgrind")
        found = [Part("the plugin under valgrind", memcheck, either(needs("valgrind", "valgrind"), slurm_headers))]
        return [*found, Part("soak", _python("pytest", "-s", "-m", "soak"), slurm)]
    found = [
        Part("ruff check", _python("ruff", "check", ".")),
        Part("ruff format", _python("ruff", "format", "--check", ".")),
        Part("mypy", _python("mypy")),
    ]
    sources = _files(root, "adminkit/native/*.[ch]", "tests/c/*.[ch]", "spank/*.[ch]", "tests/spank/*.[ch]")
    command = ("clang-format", "--dry-run", "--Werror", *sources)
    found.append(Part("clang-format", command, needs("clang-format", "clang-format")))
    if _files(root, "job_submit/**/*.lua"):
        found.append(Part("luacheck", ("luacheck", "-q", "job_submit"), needs("luacheck", "lua-check")))
    found.append(
        Part("unit tests", _python("pytest", "-n", "auto", "--dist", "loadfile", "-m", "not cluster and not soak"))
    )
    in_c = (root / "tests/c/Makefile").exists()
    if in_c:
        found.append(Part("C tests", ("make", "-C", "tests/c", "check"), needs("cc", "gcc libc6-dev")))
    in_spank = (root / "tests/spank/Makefile").exists()
    if in_spank:
        script = "make -s -C spank && make -s -C tests/spank check"
        found.append(Part("the plugin and its tests", ("sh", "-c", script), slurm_headers))
    if tier == "test":
        if in_spank:
            asan = ("make", "-s", "-C", "tests/spank", "asan")
            found.append(Part("the plugin under ASan and UBSan", asan, slurm_headers))
        if in_c:
            script = 'make -C tests/c asan && export ADMINKIT_INGEST="$PWD/build/c/adminkit-ingest"'
            script += ' && "$0" -m pytest -m "not soak" tests/native'
            found.append(Part("C under ASan and UBSan", ("sh", "-c", script, sys.executable), needs("cc", "gcc")))
            fuzz = ("make", "-C", "tests/c", "fuzz", "FUZZ_SECONDS=60")
            found.append(Part("a minute of fuzzing", fuzz, needs("clang", "clang libclang-rt-14-dev")))
        if (root / "tests/spank/fuzz_procfs.c").exists():
            fuzz = ("make", "-C", "tests/spank", "fuzz")
            found.append(Part("fuzzing of /proc's texts", fuzz, needs("clang", "clang libclang-rt-14-dev")))
        found.append(Part("Slurm", _python("pytest", "-m", "cluster and not soak"), slurm))
    return found


def run(part: Part) -> Result:
    """Run one part, its output going straight through."""
    print(f"\n== {part.name}", flush=True)
    verdict = part.obstacle()
    if verdict is not None:
        print(f"{part.name} part not run: {verdict.reason}")
        print("\n".join(line for line in (verdict.detail, verdict.hint) if line), flush=True)
        return Result(part.name, "not run", reason=verdict.reason)
    began = time.monotonic()
    code = subprocess.run(part.command, cwd=ROOT, check=False).returncode
    if code == NOTHING_COLLECTED and "pytest" in part.command:
        return Result(part.name, "not run", reason="there is no such test")
    reason = "" if code == 0 else f"exit {code}"
    return Result(part.name, "failed" if code else "passed", time.monotonic() - began, reason)


def exit_code(results: Iterable[Result], env: Mapping[str, str]) -> int:
    """0 when all passed; a part that did not run counts as failed only under CI=true."""
    strict = env.get("CI", "").lower() in ("true", "1")
    return int(any(result.state == "failed" or (strict and result.state == "not run") for result in results))


def main(argv: list[str]) -> int:
    if argv not in [[tier] for tier in TIERS]:
        print(f"usage: python -m tests.setup.run {'|'.join(TIERS)}", file=sys.stderr)
        return 2
    results = [run(part) for part in parts(argv[0])]
    code = exit_code(results, os.environ)
    print("\n== summary")
    print("\n".join(map(str, results)))
    if code and not any(result.state == "failed" for result in results):
        print("failed: CI is set and a part did not run")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
