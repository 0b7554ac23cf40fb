"""Licences of the running slurmctld, and whether backfill plans with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adminkit.slurm.keyvalue import number, records, settings
from adminkit.slurm.process import ask
from adminkit.slurm.show_config import show_config

PARAMETER = "bf_licenses"


@dataclass(frozen=True, slots=True)
class Licences:
    """`total`: of each local licence by name. `planned`: backfill keeps room for jobs that wait for one."""

    total: dict[str, int]
    planned: bool


def licences() -> Licences:
    """AdminkitError when slurmctld is away. Trap: what slurm.conf says and slurmctld has not read is not there."""
    total = parse(ask(["scontrol", "-o", "show", "licenses"]))
    parameters = re.split(r"[,\s]+", settings(show_config()).get("SchedulerParameters", ""))
    return Licences(total, PARAMETER in parameters)


def parse(text: str) -> dict[str, int]:
    """`scontrol -o show licenses`; those of a server elsewhere are not local."""
    return {
        one["LicenseName"]: number(one.get("Total")) or 0
        for one in records(text, "LicenseName")
        if one.get("Remote", "no") == "no"
    }
