"""JupyterHub on Slurm: profiles that can start, refusals in a second, jobs that are watched. `adminkit[jupyter]`."""

from __future__ import annotations

from typing import Any

__all__ = ["Spawner"]


def __getattr__(name: str) -> Any:
    """Trap: only asking for the spawner loads the hub's packages."""
    if name == "Spawner":
        from adminkit.jupyter.spawner import Spawner

        return Spawner
    raise AttributeError(name)
