"""pyslurm, where the one that is installed goes with the Slurm that is here: one of 25.11 with Slurm 25.11, and so on.

Trap: beside another release it may load and lie. Whoever asks has scontrol as the other way.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from adminkit.errors import AdminkitError
from adminkit.slurm import release


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as pyslurm has it, limits in seconds. `default_limit` is None for none of its own, too."""

    name: str
    default_limit: int | None
    has_default: bool
    max_limit: int | None
    nodes: int
    is_default: bool


def found() -> tuple[Any, str]:
    """(the module, "") where it goes with this Slurm; else (None, why not), "" for why where there is none."""
    try:
        module = importlib.import_module("pyslurm")
    except ModuleNotFoundError as error:
        return None, "" if error.name in (None, "pyslurm") else f"does not load: {error}"
    except ImportError as error:
        return None, f"does not load: {error}"
    version = getattr(module, "__version__", None)
    if version is None:
        return None, "does not say its release"
    try:
        built_for, here = release.parse_release(version)[:2], release.release()[:2]
    except AdminkitError as error:
        return None, error.message
    if built_for != here:
        return None, f"is {version}, for Slurm {_pair(built_for)}; this is {_pair(here)}"
    return module, ""


def partitions(module: Any) -> list[Partition]:
    """The local cluster's. AdminkitError when slurmctld is away."""
    try:
        loaded = module.Partitions.load()
    except module.RPCError as error:
        raise AdminkitError(f"couldn't ask slurmctld: {error}", "look whether slurmctld runs: scontrol ping") from error
    return [
        Partition(
            part.name,
            _minutes(part.default_time),
            part.default_time is not None,
            _minutes(part.max_time),
            int(part.total_nodes),
            bool(part.is_default),
        )
        for part in loaded.values()
    ]


def _minutes(value: int | str | None) -> int | None:
    """Minutes, "UNLIMITED" or None."""
    return value * 60 if isinstance(value, int) else None


def _pair(found: tuple[int, ...]) -> str:
    return f"{found[0]}.{found[1]:02}"
