"""Optuna, whose TPE proposes combinations; it gets a Python environment of its own, and speaks in lines of JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

VERSION = "4.5.0"

#: Each line that it reads is a value and the number of broken constraints; 0 of a lever is what it is today.
_RUN = """
import json, sys
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
sizes, seed, trials = json.loads(sys.argv[1])
sampler = optuna.samplers.TPESampler(seed=seed, constraints_func=lambda trial: (trial.user_attrs["broken"] - 0.5,))
study = optuna.create_study(sampler=sampler)
for _ in range(trials):
    trial = study.ask()
    places = [trial.suggest_int(f"lever{at}", 0, size) for at, size in enumerate(sizes)]
    print(json.dumps(places), flush=True)
    value, broken = json.loads(sys.stdin.readline())
    trial.set_user_attr("broken", broken)
    study.tell(trial, value)
"""


def install(folder: Path) -> Path | None:
    """The Python of the environment; None where it cannot be made, which is said."""
    python = folder / "bin" / "python"
    try:
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            for words in (
                [sys.executable, "-m", "venv", str(folder)],
                [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"optuna=={VERSION}"],
            ):
                subprocess.run(words, check=True, capture_output=True, text=True)
            (folder / "complete").touch()
    except (OSError, subprocess.CalledProcessError) as error:
        said = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
        print(f"Optuna: not run: {said.splitlines()[-1] if said else error}")
        return None
    return python


class Proposer:
    """Iterates over what TPE proposes: a place for each lever, 0 for today's. `tell` comes before the next one."""

    def __init__(self, python: Path, sizes: Sequence[int], seed: int, trials: int) -> None:
        words = [str(python), "-c", _RUN, json.dumps([list(sizes), seed, trials])]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Proposer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._process.kill()
        self._process.communicate()

    def __iter__(self) -> Iterator[list[int]]:
        assert self._process.stdout
        for line in self._process.stdout:
            yield json.loads(line)

    def tell(self, value: float, broken: int) -> None:
        """What came of the last one."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps([value, broken]) + "\n")
        self._process.stdin.flush()
