"""The levers of a file on one site: which of them this site and this model have, and what a combination changes.

    space = space_of(asked, sources, release)
    space.fits(choice)         # "" or why it contradicts itself
    space.scenario(choice)     # what the simulator is asked
    space.words(choice)        # the same in words

A combination becomes one scenario of the kinds that there are (simulate/kinds): queues first, then what jobs are
planned with, who gets points, the scheduler, and more time for running jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from adminkit.deploy.planning import is_fit
from adminkit.errors import AdminkitError, unknown_word
from adminkit.simulate.change import Change, Sources
from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.kinds.points import points_per_hour
from adminkit.simulate.scenario import Scenario, Step
from adminkit.simulate.settings import SETTINGS
from adminkit.slurm.release import Release
from adminkit.tune.candidates import Choice
from adminkit.tune.levers import PRIORITY, SCHEDULER, Lever, shown
from adminkit.tune.settings import Tune

#: The key of each section without which the others say nothing.
FIRST: Final = {"soft_limits": "quantile", "extend": "most"}
_NAME: Final = "combination"


@dataclass(frozen=True, slots=True)
class Space:
    """The levers of one search. `notes`: what was forced, a sentence each."""

    levers: tuple[Lever, ...]
    notes: tuple[str, ...] = ()

    def scenario(self, choice: Choice) -> Scenario:
        """What a combination changes. Not for that of today, which changes nothing."""
        steps = tuple(_steps(self._set(choice)))
        if not steps:
            raise ValueError("today's combination is no scenario")
        return Scenario(_NAME, steps)

    def fits(self, choice: Choice) -> str:
        """Why the combination contradicts itself; "" where it does not."""
        chosen = self._set(choice)
        there = {lever.name for lever, _ in chosen}
        for section, first in FIRST.items():
            others = sorted(name for name in there if name.startswith(f"{section}.") and name != f"{section}.{first}")
            if others and f"{section}.{first}" not in there:
                return f"{others[0]} says nothing without {section}.{first}"
        try:
            list(_steps(chosen))
        except ValidationError as error:
            return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        return ""

    def words(self, choice: Choice) -> list[str]:
        """A line for each lever that differs from today."""
        return [f"{lever.name} = {shown(lever, value)}" for lever, value in self._set(choice)]

    def _set(self, choice: Choice) -> list[tuple[Lever, Any]]:
        return [(lever, value) for lever, value in zip(self.levers, choice, strict=True) if value is not None]


def space_of(asked: Tune, sources: Sources, release: Release | None = None, force: bool = False) -> Space:
    """The levers as this site has them. Values that are today's anyway are left out.

    AdminkitError for a lever that the model or the site does not have, or that this release of Slurm does not take
    (None: unknown). `force` marks what would be refused for the release.
    """
    levers, notes = [], []
    for lever in asked.levers:
        _refuse(lever, sources)
        if doubt := _of_release(lever, release):
            if not force:
                raise AdminkitError(f"{lever.name}: {doubt}", "leave the lever out, or --force to see what it would do")
            notes.append(f"forced: {lever.name}: {doubt}")
        kept = lever.only(lambda meaning, lever=lever: meaning != _today(lever, sources))  # type: ignore[misc]
        if kept.values:
            levers.append(kept)
        else:
            notes.append(f"{lever.name} is left out: its only value is today's")
    if not levers:
        raise AdminkitError("no lever has a value that is not today's", "give the levers other values")
    return Space(tuple(levers), tuple(notes))


def _steps(chosen: Sequence[tuple[Lever, Any]]) -> Iterator[Step]:
    """ValidationError of the kind's keys where values contradict each other."""
    settings: dict[str, int] = {}
    queues: dict[str, dict[str, Any]] = {}
    sections: dict[str, dict[str, Any]] = {"soft_limits": {}, "extend": {}}
    points: dict[str, dict[str, Any]] = {"sizes": {}, "classes": {}}
    for lever, value in chosen:
        meaning = lever.meaning(value)
        if lever.family == "slurm":
            settings[_setting(lever)] = int(meaning)
        elif lever.family == "queue":
            queues.setdefault(lever.place[0], {})[lever.place[1]] = meaning
        elif lever.family == "points":
            points["sizes" if lever.place[0] == "size" else "classes"][lever.place[1]] = meaning
        else:
            sections[lever.family][lever.place[0]] = value
    for name, keys in queues.items():
        yield _step("queue", queue=name, **keys)
    if sections["soft_limits"]:
        yield _step("soft-limits", 1.0, **sections["soft_limits"])
    if points["sizes"] or points["classes"]:
        yield _step("points", **points)
    if settings:
        yield _step("scheduler", set=settings)
    if sections["extend"]:
        yield _step("extend", 0.0, uptake=0.0, **sections["extend"])


def _step(kind: str, value: Any = None, **keys: Any) -> Step:
    made: Change = KINDS[kind].keys.model_validate({"name": _NAME, "kind": kind, **keys})
    return Step(KINDS[kind], made, value)


def _setting(lever: Lever) -> str:
    """The core's name."""
    word = lever.place[0].removeprefix("SchedulerParameters.")
    return (PRIORITY.get(word) or SCHEDULER[word]).core


def _today(lever: Lever, sources: Sources) -> Any:
    """What the lever is set to today, in the words of its meanings; None where that is not known."""
    request = sources.case.request
    if lever.family == "slurm":
        return request.settings.get(_setting(lever))
    if lever.family == "points":
        return 0.0
    if lever.family == "queue" and request.queues:
        return request.queues[sources.case.queue(lever.place[0])].get(lever.place[1])
    return None


def _refuse(lever: Lever, sources: Sources) -> None:
    """AdminkitError for what this model or this site does not have."""
    case, model = sources.case, sources.case.request.model
    if lever.family == "slurm":
        if _setting(lever) not in SETTINGS:
            raise AdminkitError(
                f"{lever.name}: the simulator does not have it", "docs/simulate-spec.md lists what it has"
            )
        if model != "slurm":
            raise AdminkitError(f"{lever.name}: the {model} model does not have it", "use --model slurm")
    elif lever.family in ("points", "extend") and model != "slurm":
        raise AdminkitError(f"{lever.name}: the {model} model has no nodes and no priorities", "use --model slurm")
    elif lever.family == "queue" and lever.place[0] not in (names := list(case.names["queues"])):
        raise unknown_word("queue", lever.place[0], names)
    if lever.family == "points" and not points_per_hour(case):
        raise AdminkitError(
            f"{lever.name}: age weighs nothing on this site, so an hour of age is worth no points",
            "set PriorityWeightAge, which multifactor priorities need",
        )


def _of_release(lever: Lever, release: Release | None) -> str:
    """Why this release does not take the lever; "" where it does, or where the release is not known."""
    if lever.family == "soft_limits" and release is not None and not is_fit(release):
        return "soft limits are not safe on this release of Slurm (docs/soft-limits.md)"
    return ""
