"""The parts of `make check`, `make test`, `make web` and `make soak`, and the obstacles to running each here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.setup import audit, guard

ROOT: Final = Path(__file__).resolve().parents[2]
TIERS: Final = ("check", "test", "web", "soak")
#: The Slurm tests, by file, in processes with private clusters of their own: they wait for Slurm most of the time.
CLUSTERS: Final = ("-n", "6", "--dist", "loadfile", "--no-loadscope-reorder")
#: The unit tests, by file; those of SLOW first (tests/support/order.py), so that no process ends long after the others.
UNIT: Final = ("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")
#: The tests in a browser, by file: each has a browser, a hub and ports of its own.
BROWSERS: Final = ("-n", "4", "--dist", "loadfile", "--no-loadscope-reorder")
#: The files of tests/web that take minutes: they start first, and the others run beside them.
LONG_IN_BROWSERS: Final = tuple(
    f"tests/web/test_{name}.py" for name in ("jupyter_idle", "jupyter", "jupyter_busy", "page")
)
#: The tests of the C programs, which `make test` runs once, with a sanitizer's build.
UNDER_ASAN: Final = (
    "tests/native", *(f"tests/simulate/test_{name}.py" for name in ("core", "plain", "elastic_core")),
)  # fmt: skip
#: The files of tests that take more than some four seconds of a processor each, a line each: `make test` runs them.
SLOW: Final = "tests/setup/slow.txt"
LIMIT: Final = 1800.0  # seconds

Obstacle = Callable[[], guard.Verdict | None]


@dataclass(frozen=True)
class Part:
    """One command. `obstacle` says why it cannot run here (and how to get it); None when it can."""

    name: str
    command: tuple[str, ...]
    obstacle: Obstacle = lambda: None
    seconds: float | None = LIMIT  # a part that takes longer hangs, and is ended
    gentle: bool = True  # runs with a lower priority than the others
    online: bool = False  # asks a server that not every host can reach: CI does without it
    in_memory: bool = False  # has a /tmp in memory, where the host can give one


def parts(tier: str, root: Path = ROOT) -> list[Part]:
    """What `make TIER` runs; the longest first. Parts whose files do not exist are left out."""
    if tier == "soak":
        return _soak()
    if tier == "web":
        others = (path for path in _files(root, "tests/web/test_*.py") if path not in LONG_IN_BROWSERS)
        return [Part("the browser", (*_pytest("web"), *BROWSERS, *LONG_IN_BROWSERS, *others), browser)]
    # It takes about as long as all others: it starts first, and they run while it waits.
    slurm_part = Part("Slurm", (*_pytest("cluster and not soak"), *CLUSTERS, "tests/cluster"), slurm, gentle=False)
    command = (*_pytest("not cluster and not soak and not web"), *UNIT, "-o", "tmp_path_retention_policy=failed")
    unit = Part("unit tests", (*command, *(f"--ignore={path}" for path in elsewhere(tier, root))), in_memory=True)
    more = _sanitizers(root) if tier == "test" else []
    return [*([slurm_part] if tier == "test" else []), unit, *_check(root, tier), *more]


def elsewhere(tier: str, root: Path = ROOT) -> list[str]:
    """The files that the unit tests of `make TIER` leave out: those of SLOW for `check`, for `test` those of UNDER_ASAN
    but for the one that looks at the program as it is installed.
    """
    if tier == "check":
        return (root / SLOW).read_text().split() if (root / SLOW).exists() else []
    found = [path for name in UNDER_ASAN for path in (_files(root, f"{name}/test_*.py") or [name])]
    return [path for path in found if not path.endswith("test_program.py")]


def _check(root: Path, tier: str) -> list[Part]:
    found = [
        Part("mypy", _python("mypy")),
        Part("ruff check", _python("ruff", "check", ".")),
        Part("ruff format", _python("ruff", "format", "--check", ".")),
    ]
    sources = _files(root, "adminkit/native/*/*.[ch]", "tests/c/*.[ch]", "spank/*/*.[ch]", "tests/spank/*.[ch]")
    found.append(Part("known advisories", _python("tests.setup.audit"), audit.obstacle, online=True))
    command = ("clang-format", "--dry-run", "--Werror", *sources)
    found.append(Part("clang-format", command, needs("clang-format", "clang-format")))
    if _files(root, "job_submit/**/*.lua"):
        found.append(Part("luacheck", ("luacheck", "-q", "job_submit"), needs("luacheck", "lua-check")))
    if (root / "tests/c/Makefile").exists():
        found.append(Part("C tests", ("make", "-C", "tests/c", "check"), needs("cc", "gcc libc6-dev")))
    if (root / "tests/spank/Makefile").exists():
        # `test` has all of them with sanitizers; test_plugin does more without: a child of slurmstepd ends by exit().
        script = "make -s -C spank && make -s -C tests/spank check" + " ONLY='plugin unload'" * (tier == "test")
        found.append(Part("the plugin and its tests", ("sh", "-c", script), slurm_headers))
    return found


def _sanitizers(root: Path) -> list[Part]:
    found = []
    if (root / "tests/spank/Makefile").exists():
        asan = ("make", "-s", "-C", "tests/spank", "asan")
        found.append(Part("the plugin under ASan and UBSan", asan, slurm_headers))
    if (root / "tests/c/Makefile").exists():
        script = 'make -C tests/c asan && export ADMINKIT_INGEST="$PWD/build/c/adminkit-ingest"'
        script += ' && export ADMINKIT_SIMULATE="$PWD/build/c/adminkit-simulate"'
        script += f' && "$0" -m pytest -m "not soak" {" ".join(UNDER_ASAN)}'
        command = ("sh", "-c", script, sys.executable)
        found.append(Part("C under ASan and UBSan", command, needs("cc", "gcc")))
        found.append(_fuzzing("fuzzing", 15))
    if (root / "tests/spank/fuzz_proc_parse.c").exists():
        found.append(Part("fuzzing of /proc's texts", ("make", "-C", "tests/spank", "fuzz"), clang))
    return found


def _soak() -> list[Part]:
    memcheck = ("make", "-s", "-C", "tests/spank", "valgrind")
    obstacle = either(needs("valgrind", "valgrind"), slurm_headers)
    properties = _pytest("hypothesis and not cluster and not soak and not web")
    return [
        Part("the plugin under valgrind", memcheck, obstacle, None),
        Part(
            "properties, on new examples", (*properties, "-n", "auto", "--hypothesis-profile", "search"), seconds=None
        ),
        _fuzzing("ten minutes of fuzzing", 600, None),
        Part("soak", (*_pytest("soak"), "-s"), slurm, None),
    ]


def _fuzzing(name: str, seconds: int, bound: float | None = LIMIT) -> Part:
    """The fuzzers of the C programs, the parser's for this many seconds."""
    return Part(name, ("make", "-C", "tests/c", "fuzz", f"FUZZ_SECONDS={seconds}"), clang, bound)


def needs(tool: str, package: str) -> Obstacle:
    """An obstacle where `tool` is not on PATH."""

    def obstacle() -> guard.Verdict | None:
        if shutil.which(tool):
            return None
        return guard.Verdict(f"no {tool}", hint=f"apt-get install {package}")

    return obstacle


def either(*obstacles: Obstacle) -> Obstacle:
    """The first of several obstacles."""
    return lambda: next((found for obstacle in obstacles if (found := obstacle()) is not None), None)


def clang() -> guard.Verdict | None:
    """An obstacle where the fuzzers cannot be built."""
    return needs("clang", "clang libclang-rt-14-dev")()


def slurm_headers() -> guard.Verdict | None:
    """An obstacle where the plugin cannot be built; SLURM_PREFIX is the prefix of Slurm, as in its Makefile."""
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


def browser() -> guard.Verdict | None:
    """An obstacle where Chromium, its driver or selenium is missing."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if missing:
        return guard.Verdict(f"no {' and no '.join(missing)}", hint="apt-get install chromium chromium-driver")
    if importlib.util.find_spec("selenium") is None:
        return guard.Verdict("no selenium", hint=f"{sys.executable} -m pip install -e '.[web]'")
    return None


def _python(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *words)


def _pytest(marks: str) -> tuple[str, ...]:
    return _python("pytest", "-m", marks)


def _files(root: Path, *patterns: str) -> tuple[str, ...]:
    return tuple(sorted(str(path.relative_to(root)) for pattern in patterns for path in root.glob(pattern)))
