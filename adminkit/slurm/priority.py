"""How the cluster ranks jobs: what an hour of ageing is worth, who else sets the site factor, the spread right now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.keyvalue import settings
from adminkit.slurm.process import ask
from adminkit.slurm.show_config import show_config
from adminkit.units import parse_duration

MULTIFACTOR: Final = "priority/multifactor"
#: What slurmctld shows where no plugin sets the site factor.
_NO_PLUGIN: Final = ("", "(null)", "none", "site_factor/none")


@dataclass(frozen=True, slots=True)
class Ranking:
    """PriorityType and what an incentive depends on. `max_age` is in seconds."""

    kind: str
    weight_age: int
    max_age: int
    site_plugin: str | None  # None: nobody overwrites a site factor

    @property
    def points_per_hour(self) -> float:
        """What a job gains by waiting for one hour, until max_age; 0 where age does not count."""
        return self.weight_age * 3600 / self.max_age if self.max_age else 0.0


@dataclass(frozen=True, slots=True)
class Spread:
    """Priorities of the jobs that wait; a job in several queues counts in each."""

    jobs: int
    low: int
    high: int

    @property
    def width(self) -> int:
        return self.high - self.low


def ranking() -> Ranking:
    """The settings that slurmctld has now. AdminkitError where it does not answer."""
    return parse_ranking(show_config())


def parse_ranking(text: str) -> Ranking:
    """`scontrol show config`."""
    words = settings(text)
    kind = words.get("PriorityType")
    if not kind:
        raise AdminkitError("`scontrol show config` shows no PriorityType", "give --points-per-hour")
    plugin = words.get("PrioritySiteFactorPlugin", "")
    weight, age = words.get("PriorityWeightAge", ""), words.get("PriorityMaxAge", "")
    return Ranking(
        kind,
        int(weight) if weight.isdigit() else 0,
        parse_duration(age) if age[:1].isdigit() else 0,
        None if plugin in _NO_PLUGIN else plugin,
    )


def refuse_ranking(ranking: Ranking, accept_foreign: bool) -> None:
    """AdminkitError where a site factor would have no effect, or a plugin would overwrite it."""
    if ranking.kind != MULTIFACTOR:
        raise AdminkitError(
            f"PriorityType is {ranking.kind}, which ignores the site factor",
            f"set PriorityType={MULTIFACTOR} in slurm.conf, or do without incentives",
        )
    if ranking.site_plugin is not None and not accept_foreign:
        raise AdminkitError(
            f"PrioritySiteFactorPlugin is {ranking.site_plugin}, which may overwrite every bonus",
            "take it out of slurm.conf, or set incentives.accept_foreign_site_factor = true",
        )


def spread() -> Spread | None:
    """The priorities sprio shows; None where no job waits. AdminkitError where sprio fails."""
    return parse_spread(ask(["sprio", "-h", "-o", "%Y"]))


def parse_spread(text: str) -> Spread | None:
    """One priority in each line; other lines are ignored."""
    priorities = [int(line) for line in map(str.strip, text.splitlines()) if re.fullmatch(r"[0-9]+", line)]
    return Spread(len(priorities), min(priorities), max(priorities)) if priorities else None
