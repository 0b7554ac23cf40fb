"""This checkout against an older revision: the same commands on the same input, in turn.

`python -m tests.bench --against REV [PART …]` builds REV in a worktree below build/bench, measures, and removes it.
Only whole commands are compared: names of modules and kinds of columns differ between revisions. Each side reads a
trace that it made itself, and the policy of its own etc/: an older revision refuses keys that came later.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.bench import bench_replay, pairs, sample
from tests.bench.tools import fresh

ROOT = Path(__file__).parents[2]
PARTS = ("start", "report", "replay", "import")

Verdict = Literal["faster", "slower", "no difference"]
#: Runs a command of one side and returns its seconds.
Run = Callable[[], float]


class Side:
    """A checkout with its virtual environment, and a folder for its traces."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.program = checkout / ".venv" / "bin" / "adminkit"
        self.policy = checkout / "etc" / "policy.toml"
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def timed(self, *words: object, cores: Sequence[int] = (pairs.CORE,)) -> float:
        """Seconds that `adminkit WORDS` takes."""
        return pairs.timed([str(self.program), *map(str, words)], cores=cores)

    def trace(self, name: str, source: Path) -> Path:
        """A trace of this text."""
        db = fresh(self.folder / f"{name}.db")
        self.timed("import", source, "--db", db)
        return db


def verdict(low: float, high: float) -> Verdict:
    """What an interval of old / new shows: a difference only where it does not contain 1."""
    return "faster" if low > 1 else "slower" if high < 1 else "no difference"


def line(ratio: pairs.Ratio) -> str:
    low, high = ratio.interval
    return f"{ratio.what:<58} {ratio.middle:6.3f} × [{low:.3f}, {high:.3f}]  {verdict(low, high)}"


def run(rev: str, parts: Sequence[str], rows: int, folder: Path, number: int = 11) -> list[pairs.Ratio]:
    """Measure `number` pairs of each command after one to warm up. The ratios are old / new: above 1 this is faster."""
    ratios = []
    with built(rev, folder) as checkout:
        new, old = Side(ROOT, folder / "new"), Side(checkout, folder / "old")
        for part in parts:
            for what, ours, theirs in COMMANDS[part](new, old, rows, folder):
                ours(), theirs()
                ratios.append(pairs.compare(f"{what}, against {rev}", ours, theirs, 1.0, pairs=number, shown=line))
    return ratios


@contextmanager
def built(rev: str, folder: Path) -> Iterator[Path]:
    """A worktree of the revision with its own .venv; removed at the end."""
    commit = _git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}").strip()
    checkout = (folder / f"against-{commit[:12]}").resolve()
    _git("worktree", "prune")
    _git("worktree", "add", "--force", "--detach", str(checkout), commit)
    try:
        print(f"building {commit[:12]} in {checkout}", flush=True)
        make = subprocess.run(["make", "-C", str(checkout), ".venv/.built"], capture_output=True, text=True)
        if make.returncode:
            raise SystemExit(f"error: {rev} does not build:\n{make.stderr}")
        yield checkout
    finally:
        _git("worktree", "remove", "--force", str(checkout))


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"error: git {' '.join(words)}: {done.stderr.strip() or 'no such revision'}")
    return done.stdout


Command = tuple[str, Run, Run]


def _start(new: Side, old: Side, rows: int, folder: Path) -> Iterator[Command]:
    yield "--version", lambda: new.timed("--version"), lambda: old.timed("--version")


def _report(new: Side, old: Side, rows: int, folder: Path) -> Iterator[Command]:
    source = sample.write(folder / f"sacct-{rows}.txt", rows)
    ours, theirs = new.trace("report", source), old.trace("report", source)
    for name in ("accuracy", "parallelism"):
        words = ("report", name, "--db")
        yield (
            f"report {name} over {rows} rows",
            lambda words=words: new.timed(*words, ours),  # type: ignore[misc]
            lambda words=words: old.timed(*words, theirs),  # type: ignore[misc]
        )


def _replay(new: Side, old: Side, rows: int, folder: Path) -> Iterator[Command]:
    source, jobs = bench_replay.text(rows, folder)
    ours, theirs = new.trace("replay", source), old.trace("replay", source)

    def replayed(side: Side, db: Path) -> float:
        return side.timed("policy", "replay", "--policy", side.policy, "--db", db)

    yield f"policy replay over {jobs} jobs", lambda: replayed(new, ours), lambda: replayed(old, theirs)


def _import(new: Side, old: Side, rows: int, folder: Path) -> Iterator[Command]:
    source = sample.write(folder / f"sacct-{rows}.txt", rows)

    def first(side: Side) -> float:
        return side.timed("import", source, "--db", fresh(side.folder / "import.db"), cores=pairs.CORES)

    def again(side: Side) -> float:
        return side.timed("import", source, "--db", side.folder / "import.db", cores=pairs.CORES)

    yield f"first import of {rows} rows", lambda: first(new), lambda: first(old)
    yield f"the same {rows} rows again", lambda: again(new), lambda: again(old)


COMMANDS: dict[str, Callable[[Side, Side, int, Path], Iterator[Command]]] = {
    "start": _start,
    "report": _report,
    "replay": _replay,
    "import": _import,
}
