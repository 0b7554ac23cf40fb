"""Fake programs: the program is replaced, not the function, so that what is run, and with what, is tested too."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data" / "slurm"


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


class Pyslurm:
    """A pyslurm that is installed: a distribution on sys.path, with the collections that adminkit loads.

    Attributes and their kinds are those that the source of pyslurm 25.11.2 has. `fail` makes slurmctld unreachable.
    """

    CODE = """
class RPCError(Exception):
    pass

class _Collection:
    found = []
    away = False

    @classmethod
    def load(cls):
        if _Collection.away:
            raise RPCError("Unable to contact slurm controller")
        return {number: one for number, one in enumerate(cls.found)}

class Partitions(_Collection):
    pass

class Nodes(_Collection):
    pass

class Jobs(_Collection):
    pass
"""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, version: str, code: str = CODE) -> None:
        (folder / "pyslurm.py").write_text(f"__version__ = {version!r}\n{code}")
        about = folder / f"pyslurm-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pyslurm\nVersion: {version}\n")
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setitem(sys.modules, "pyslurm", None)  # so that it is as before at the end
        monkeypatch.delitem(sys.modules, "pyslurm")

    def holds(self, **collections: list[Any]) -> None:
        """What load() finds: Partitions=[…], Nodes=[…], Jobs=[…]."""
        import pyslurm

        for name, found in collections.items():
            getattr(pyslurm, name).found = found

    def fail(self) -> None:
        import pyslurm

        pyslurm.Partitions.__mro__[1].away = True

    @staticmethod
    def partition(name: str, **attributes: Any) -> Any:
        """A partition as slurmctld makes it when nothing is said; times in minutes."""
        plain = {
            "default_time": None,
            "max_time": "UNLIMITED",
            "min_nodes": 0,
            "max_nodes": "UNLIMITED",
            "total_nodes": 0,
        }
        flags = {"state": "UP", "is_default": False, "is_root_only": False, "requires_reservation": False}
        lists = ("allowed_accounts", "denied_accounts", "allowed_qos", "denied_qos", "allowed_groups")
        return SimpleNamespace(name=name, **(plain | flags | {one: ["ALL"] for one in lists} | attributes))
