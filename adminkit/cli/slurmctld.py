"""Where the commands that run on slurmctld's host do their work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adminkit import config
from adminkit.config import chosen

if TYPE_CHECKING:
    from adminkit.slurm.controller import Controller


def site(folder: Path | None) -> tuple[Path, Controller]:
    """The folder of job_submit.lua, and the running configuration."""
    from adminkit.slurm.controller import controller, site_folder

    slurmctld = controller()
    return site_folder(slurmctld, chosen(folder, config.load().policy.folder)), slurmctld
