"""Fake programs: the program is replaced, not the function, so that what is run, and with what, is tested too."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data" / "slurm"


class Programs:
    """A folder that is all of PATH, so that nothing real is run by accident; `add` puts a shell script there."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir()
        monkeypatch.setenv("PATH", str(folder))

    def add(self, name: str, script: str) -> Path:
        """A program of that name that runs `script` with sh; "$*" are its arguments."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        path.chmod(0o755)
        return path

    def says(self, name: str, **answers: str) -> Path:
        """A program that prints a file of tests/data/slurm: `helpformat="sacct-helpformat-22.05"` for an argument."""
        found = {word.replace("_", " ").strip(): DATA / f"{answer}.txt" for word, answer in answers.items()}
        cases = "\n".join(f"*'{word}'*) cat {path} ;;" for word, path in found.items())
        return self.add(name, f'case "$*" in\n{cases}\n*) echo "{name}: error: not expected: $*" >&2; exit 1 ;;\nesac')
