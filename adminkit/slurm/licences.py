"""Licences of the running slurmctld, and whether backfill plans with them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from adminkit.slurm.keyvalue import number, records, settings
from adminkit.slurm.process import ask
from adminkit.slurm.release import release
from adminkit.slurm.show_config import show_config

PARAMETER = "bf_licenses"
#: The mode of a resource of which a job takes what it names on each of its nodes.
EACH_NODE: Final = 3
#: resources.yaml has that mode since this release.
LAYERED: Final = (25, 11, 0)


@dataclass(frozen=True, slots=True)
class Licences:
    """`total`: of each local licence by name; of a resource of resources.yaml the greatest of its layers.

    `mode`: only such a resource has one, 1 to 3. `layered`: whether this Slurm has resources that count by node.
    `planned`: backfill keeps room for jobs that wait for one. `free`: without those that are reserved.
    """

    total: dict[str, int]
    planned: bool
    mode: dict[str, int] = field(default_factory=dict)
    layered: bool = False
    free: dict[str, int] = field(default_factory=dict)


def licences() -> Licences:
    """AdminkitError when slurmctld is away. Trap: what slurm.conf says and slurmctld has not read is not there."""
    total, mode, free = parse(ask(["scontrol", "-o", "show", "licenses"]))
    parameters = re.split(r"[,\s]+", settings(show_config()).get("SchedulerParameters", ""))
    return Licences(total, PARAMETER in parameters, mode, release() >= LAYERED, free)


def parse(text: str) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """`total`, `mode` and `free` of `scontrol -o show licenses`; those of a server elsewhere are not local.

    Free is what no job has and no reservation keeps; of a resource of resources.yaml it is one layer's, of no use.
    """
    total: dict[str, int] = {}
    mode: dict[str, int] = {}
    free: dict[str, int] = {}
    for one in records(text, "LicenseName"):
        if one.get("Remote", "no") != "no":
            continue
        name = one["LicenseName"]
        here, unused, used, kept = (number(one.get(key)) or 0 for key in ("Total", "Free", "Used", "Reserved"))
        total[name] = max(total.get(name, 0), here)
        free[name] = max(0, min(unused, here - used - kept))
        if (of_layer := number(one.get("Mode"))) is not None:
            mode[name] = of_layer
    return total, mode, free


def parse_asked(text: str) -> Counter[str] | None:
    """What a job asks for: name, name:2, between commas. None for what else Slurm takes: one of several, those of a
    server elsewhere."""
    found: Counter[str] = Counter()
    for part in text.split(","):
        match = re.fullmatch(r"([A-Za-z0-9_.+-]{1,100})(?::([0-9]{1,6}))?", part, re.ASCII)
        if match is None:
            return None
        found[match[1]] += int(match[2] or 1)
    return found
