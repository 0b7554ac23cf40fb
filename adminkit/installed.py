"""Where the parts of this installation are that Python does not import: its programs in C, and the data files."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from adminkit.errors import AdminkitError
from adminkit.owner import as_caller

HELPER = "adminkit-ingest"
SIMULATOR = "adminkit-simulate"
COLUMNS = "adminkit-columns.so"
CHECKOUT = Path(__file__).resolve().parent.parent


def helper_path() -> str:
    """The program that reads accounting text, of this installation."""
    return _program(HELPER)


def simulator_path() -> str:
    """The program that simulates a scheduler, of this installation."""
    return _program(SIMULATOR)


def columns_library() -> Path:
    """The library that SQLite calls for whole columns, of this installation and no other; it may be missing."""
    return Path(sysconfig.get_path("data"), "lib", "adminkit", COLUMNS)


def _folders() -> Iterator[Path]:
    """Where the programs of this installation may be."""
    yield Path(sysconfig.get_path("scripts"))
    with suppress(FileNotFoundError):  # the working folder may be gone
        yield Path(sys.argv[0]).resolve().parent
    yield Path(sys.executable).parent


@as_caller()
def _program(name: str) -> str:
    """A program of this installation: beside the running Python's scripts, else on PATH."""
    for folder in _folders():
        candidate = folder / name
        with suppress(PermissionError):  # a folder that this user may not enter
            if candidate.is_file():
                return str(candidate)
    path = shutil.which(name)
    if path is None:
        raise AdminkitError(
            f"{name} is not installed",
            "install adminkit with pip, which builds it (a C compiler and SQLite's headers are needed)",
        )
    return path


@as_caller()
def data_file(*parts: str) -> Path:
    """A data file that came with adminkit, such as ("etc", "adminkit.toml"): a checkout's own, else the installed one.

    Raises AdminkitError where neither is there.
    """
    own, shared = CHECKOUT.joinpath(*parts), Path(sysconfig.get_path("data"), "share", "adminkit", *parts)
    if (CHECKOUT / "pyproject.toml").is_file() and own.is_file():
        return own
    if not shared.is_file():
        raise AdminkitError(
            f"adminkit's own {'/'.join(parts)} is missing: there is no {shared}",
            "install adminkit again with pip: pip install --force-reinstall adminkit",
        )
    return shared
