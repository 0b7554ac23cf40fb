"""What is known of a site, and which levers it has: a lever that it or the model lacks is refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.deploy.planning import is_fit
from adminkit.errors import unknown_word
from adminkit.quote import quote
from adminkit.simulate.change import Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.groups import unit_of
from adminkit.slurm.release import Release, show_release
from adminkit.tune.levers import CLASSES, Lever, setting_of

#: Above every third number of a release: a site keeps only the first two.
_NEWEST: Final = 99
#: Each queue's longest and default limit, seconds.
Limits = Mapping[str, tuple[int | None, int | None]]


@dataclass(frozen=True, slots=True)
class Here:
    """What is known of a site. `refused`: why soft limits cannot be put in place, if anybody asked slurmctld.

    `limits` and `unit` as Space has them; `settings` without Slurm's defaults; `priority`: jobs have the trace's own.
    """

    model: str = "slurm"
    settings: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    classes: Sequence[str] = CLASSES
    priority: bool = False
    release: Release | None = None  # without its third number it is the newest of its series
    unit: str = "GPU"
    refused: Sequence[str] = ()

    @property
    def nothing_known(self) -> bool:
        """Whether neither slurmctld nor the file of --site has said how jobs are ranked."""
        return "release" not in self.settings and not any(name.startswith("priority_") for name in self.settings)


def here_of(sources: Sources, release: Release | None = None, refused: Sequence[str] = ()) -> Here:
    """What is known of the site of today's case."""
    import numpy as np

    case = sources.case
    queues = case.request.queues
    limits = {name: (_known(queues, place, "max_limit"), _known(queues, place, "default_limit"))
              for place, name in enumerate(case.names["queues"])}  # fmt: skip
    there = {int(code) for code in np.unique(case.facts["class"]).tolist()}
    return Here(
        model=case.request.model,
        settings=case.request.settings,
        limits=limits,
        classes=tuple(name for place, name in enumerate(case.names["classes"]) if place in there),
        priority=bool((case.column("priority") >= 0).any()),
        release=release,
        unit=unit_of(case),
        refused=refused,
    )


def _known(queues: Sequence[Mapping[str, int]], place: int, key: str) -> int | None:
    found = queues[place].get(key, NONE) if place < len(queues) else NONE
    return None if found == NONE else found


def lacking(lever: Lever, here: Here) -> tuple[str, str] | None:
    """Why it cannot be simulated here, and what to do."""
    if here.model != "slurm" and lever.family in ("slurm", "points", "extend"):
        return f"the {here.model} model does not have it", "use --model slurm"
    if lever.family == "queue" and lever.place[0] not in here.limits:
        queue = lever.place[0]
        return f"the site has no queue {quote(queue)}", unknown_word("queue", queue, here.limits).hint
    own = lever.family == "points" or lever.name.startswith("Priority")
    if own and here.priority:
        return "jobs have the trace's own priorities, which it does not change", "use --priority computed"
    if lever.family != "points":
        return None
    if not here.settings.get("priority_weight_age") and not here.nothing_known:
        return (
            "age weighs nothing on this site (priority/basic, or PriorityWeightAge = 0), so an hour of age is worth no "
            "points",
            "set PriorityWeightAge in slurm.conf, or priority_weight_age in the file of --site",
        )
    what, name = lever.place
    return (f"no job is of the class {name}", "leave it out") if what == "class" and name not in here.classes else None


def not_here(lever: Lever, here: Here) -> tuple[str, str] | None:
    """Why it could be simulated, but not put in place, and what to do."""
    if lever.family != "soft_limits":
        return None
    if here.release is not None and not is_fit(here.release if here.release[2] else (*here.release[:2], _NEWEST)):
        return (
            f"soft limits are refused on Slurm {show_release(here.release)}: before 25.05.6 and 25.11.1 a job "
            "without a limit can hang slurmctld",
            "update Slurm, or leave the soft_limits levers out",
        )
    if here.refused:
        return f"soft limits are refused here: {here.refused[0]}", "see docs/soft-limits.md, or leave the levers out"
    return None


def changing(lever: Lever, settings: Mapping[str, int], limits: Limits) -> Lever:
    """Without the value that the lever has today."""
    if lever.family == "slurm":
        return lever.only(lambda meaning: meaning != settings.get(setting_of(lever.place[0]).core))
    if lever.family == "points":
        return lever.only(lambda meaning: meaning != 0)
    if lever.family == "queue":
        queue, key = lever.place
        return lever.only(lambda meaning: meaning != limits[queue][0 if key == "max_limit" else 1])
    return lever
