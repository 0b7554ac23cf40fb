"""Licences of the running slurmctld, and whether backfill plans with them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from adminkit.slurm.keyvalue import number, records, settings
from adminkit.slurm.process import ask
from adminkit.slurm.show_config import show_config

PARAMETER = "bf_licenses"


@dataclass(frozen=True, slots=True)
class Licences:
    """`total`, `free`: of each local licence by name, without those that are reserved. `planned`: backfill keeps room
    for jobs that wait for one."""

    total: dict[str, int]
    planned: bool
    free: dict[str, int] = field(default_factory=dict)


def licences() -> Licences:
    """AdminkitError when slurmctld is away. Trap: what slurm.conf says and slurmctld has not read is not there."""
    text = ask(["scontrol", "-o", "show", "licenses"])
    parameters = re.split(r"[,\s]+", settings(show_config()).get("SchedulerParameters", ""))
    return Licences(parse(text), PARAMETER in parameters, parse_free(text))


def parse(text: str) -> dict[str, int]:
    """`scontrol -o show licenses`; those of a server elsewhere are not local."""
    return {
        one["LicenseName"]: number(one.get("Total")) or 0
        for one in records(text, "LicenseName")
        if one.get("Remote", "no") == "no"
    }


def parse_free(text: str) -> dict[str, int]:
    """Of the same: what no job has and no reservation keeps."""
    total, free = parse(text), {}
    for one in records(text, "LicenseName"):
        used, kept = number(one.get("Used")) or 0, number(one.get("Reserved")) or 0
        if one["LicenseName"] in total:
            free[one["LicenseName"]] = max(
                0, min(number(one.get("Free")) or 0, total[one["LicenseName"]] - used - kept)
            )
    return free


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
