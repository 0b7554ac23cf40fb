"""The levers of one site together: what a combination changes, and which combinations contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from pydantic import ValidationError

from adminkit.errors import AdminkitError
from adminkit.policy.load import examine_table
from adminkit.simulate.change import Sources
from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.scenario import Scenario, Step
from adminkit.slurm.release import Release
from adminkit.tune.candidates import Choice, Value
from adminkit.tune.here import Here, changing, here_of, lacking, not_here
from adminkit.tune.levers import PRIORITY, SCHEDULER, Lever, Meaning, setting_of, shown
from adminkit.tune.settings import Tune
from adminkit.units import show_duration

#: What every scenario of a search is called.
NAME: Final = "tried"
#: The key of a section without which its other keys have no effect.
_NEEDS: Final = {"soft_limits": "quantile", "extend": "most"}
#: Options of SchedulerParameters that Slurm refuses above bf_max_job_test.
_OF_TESTS: Final = ("bf_max_job_user", "bf_max_job_part")
_HOUR: Final = 3600
#: Age is all that counts, up to a year of it, and an hour is worth 60 points.
ASSUMED: Final[Mapping[str, int]] = {"priority_weight_age": 365 * 24 * 60, "priority_max_age": 365 * 86_400}

#: Each lever that differs from today, with its value and what the value means.
Moved = Mapping[str, tuple[Lever, Value, Meaning]]


@dataclass(frozen=True, slots=True)
class Space:
    """The levers that this site has. `settings` are today's, as the core has them, with Slurm's defaults.

    `limits`: the longest and the default limit of each queue. `unit`: what points of a size count. `notes`: levers that
    were left out or forced, and why. `assumed`: what the site is set to where points are tried and nothing is known of
    its priorities.
    """

    levers: tuple[Lever, ...]
    settings: Mapping[str, int]
    limits: Mapping[str, tuple[int | None, int | None]]
    unit: str = "GPU"
    notes: tuple[str, ...] = ()
    assumed: Mapping[str, int] = field(default_factory=dict)

    def scenario(self, choice: Choice) -> Scenario:
        """What the choice changes, as a scenario. The choice must differ from today and fit."""
        steps = tuple(self._steps(self.moved(choice)))
        if not steps:
            raise ValueError("the choice that is as today is not a scenario")
        return Scenario(NAME, steps)

    def fits(self, choice: Choice) -> str:
        """Why the combination contradicts itself; "" where it does not."""
        return next(self._clashes(self.moved(choice)), "")

    def words(self, choice: Choice) -> list[str]:
        """A sentence for each lever that differs from today."""
        return [self._sentence(lever, value) for lever, value, _ in self.moved(choice).values()]

    def moved(self, choice: Choice) -> Moved:
        """Each lever that differs from today, with its value and what that means."""
        pairs = zip(self.levers, choice, strict=True)
        return {lever.name: (lever, value, lever.meaning(value)) for lever, value in pairs if value is not None}

    def _steps(self, moved: Moved) -> Iterator[Step]:
        """In an order in which each sees what it depends on: soft limits, which plan with all the rest, last."""
        found = {lever.place: meaning for lever, _, meaning in moved.values()}
        family = {lever.place: lever.family for lever, _, _ in moved.values()}

        def of(name: str) -> dict[tuple[str, ...], Meaning]:
            return {place: meaning for place, meaning in found.items() if family[place] == name}

        points = of("points")
        settings = {setting_of(name).core: int(meaning) for (name,), meaning in of("slurm").items()}
        if settings := {**(self.assumed if points else {}), **settings}:
            yield _step("scheduler", set=settings)
        queues: dict[str, dict[str, Meaning]] = {}
        for (queue, key), meaning in of("queue").items():
            queues.setdefault(queue, {})[key] = meaning
        for queue, keys in queues.items():
            yield _step("queue", queue=queue, **{key: show_duration(int(limit)) for key, limit in keys.items()})
        if points:
            sizes = {name: hours for (what, name), hours in points.items() if what == "size"}
            classes = {name: hours for (what, name), hours in points.items() if what == "class"}
            worth = {"points_per_hour": _worth(settings)} if self.assumed else {}
            yield _step("points", sizes=sizes, classes=classes, **worth)
        if extend := of("extend"):  # no user does anything for it: who gets more time is who reaches the limit today
            yield _step("extend", uptake=0.0, **{key: _plain(key, meaning) for (key,), meaning in extend.items()})
        if soft := of("soft_limits"):
            yield _step("soft-limits", **{key: _plain(key, meaning) for (key,), meaning in soft.items()})

    def _clashes(self, moved: Moved) -> Iterator[str]:
        for lever, _, _ in moved.values():
            needs = _NEEDS.get(lever.family)
            first = f"{lever.family}.{needs}"
            if needs and first not in moved and any(one.name == first for one in self.levers):
                yield f"{lever.name} has no effect without {first}"
        try:
            list(self._steps(moved))
        except ValidationError as error:
            yield error.errors()[0]["msg"].removeprefix("Value error, ")
        for section in _NEEDS:
            keys = {lever.place[0]: value for lever, value, _ in moved.values() if lever.family == section}
            if keys:
                yield from _of_section(section, tuple(sorted(keys.items())))
        yield from self._of_tests(moved)
        yield from self._of_points(moved)
        yield from self._of_queues(moved)

    def _of_tests(self, moved: Moved) -> Iterator[str]:
        most = self.setting(moved, "bf_max_job_test")
        for name in _OF_TESTS:
            if self.setting(moved, name) > most:
                yield f"{name} is above bf_max_job_test = {most}"

    def _of_points(self, moved: Moved) -> Iterator[str]:
        points = [lever for lever, _, _ in moved.values() if lever.family == "points"]
        if points and not self.setting(moved, "priority_weight_age", self.assumed):
            yield f"{points[0].name} is in hours of age, and with PriorityWeightAge = 0 age weighs nothing"
        sizes = sorted(
            (int(lever.place[1]), float(moved[lever.name][2])) for lever in points if lever.place[0] == "size"
        )
        for (small, less), (large, more) in pairwise(sizes):
            if more <= less:
                yield f"points.size_{large} gives no more than points.size_{small}, which such jobs have already"

    def _of_queues(self, moved: Moved) -> Iterator[str]:
        for queue, (longest, usual) in self.limits.items():
            most, default = (
                int(moved[name][2]) if (name := f"queue.{queue}.{key}") in moved else today
                for key, today in (("max_limit", longest), ("default_limit", usual))
            )
            if (most, default) != (longest, usual) and most is not None and (default or 0) > most:
                yield f"the default limit of {queue} is above its longest: {show_duration(default or 0)}"

    def setting(self, moved: Moved, core: str, assumed: Mapping[str, int] | None = None) -> int:
        """What the core is set to; as it is `assumed` where the site does not tell."""
        for lever, _, meaning in moved.values():
            if lever.family == "slurm" and setting_of(lever.place[0]).core == core:
                return int(meaning)
        return (assumed or {}).get(core) or self.settings.get(core, 0)

    def _sentence(self, lever: Lever, value: Value) -> str:
        text = shown(lever, value)
        if lever.family == "points":
            what, name = lever.place
            whose = f"{name} {self.unit}s or more" if what == "size" else f"the class {name}"
            return f"jobs of {whose} are ranked as if they were {text} older"
        if lever.family == "queue":
            queue, key = lever.place
            today = self.limits[queue][0 if key == "max_limit" else 1]
            which = "longest" if key == "max_limit" else "default"
            before = "none" if today is None else show_duration(today)
            return f"the {which} limit of the queue {queue} is {text} instead of {before}"
        if lever.family == "slurm":
            setting = setting_of(lever.place[0])
            before = setting.shown(self.settings.get(setting.core, setting.usual))
            return f"{lever.name} is {text} instead of {before}"
        return f"{lever.name} in policy.toml is {text}"


def _step(kind: str, **keys: Any) -> Step:
    model = KINDS[kind].keys.model_validate({"name": NAME, "kind": kind, **keys})
    return Step(KINDS[kind], model, getattr(model, model.swept)[0] if model.swept else None)


def _worth(settings: Mapping[str, int]) -> float:
    """Points of an hour of age."""
    return settings["priority_weight_age"] * _HOUR / settings["priority_max_age"]


@lru_cache(maxsize=4096)
def _of_section(section: str, keys: tuple[tuple[str, Value], ...]) -> tuple[str, ...]:
    """What policy.toml forbids in a section with these keys."""
    _, problems = examine_table({"version": 1, section: {"enabled": True, **dict(keys)}})
    return tuple(str(one) for one in problems if not one.note)


def _plain(key: str, meaning: Meaning) -> Any:
    """A key of a section as its scenario takes it: durations as text."""
    return f"{meaning}s" if key in ("least", "gap", "longest", "lead") else meaning


def space_of(
    tune: Tune, sources: Sources, release: Release | None = None, force: bool = False, refused: Sequence[str] = ()
) -> Space:
    """The levers of the file on this site. AdminkitError for the first that the model, the site or the release lacks,
    unless the file is for any site.

    `refused`: why soft limits cannot be put in place here (deploy.planning.reasons). `force`: note what cannot be put
    in place here instead of refusing it.
    """
    return space_on(tune, here_of(sources, release, refused), force)


def space_on(tune: Tune, here: Here, force: bool = False) -> Space:
    """The same of what is known of the site."""
    usual = {one.core: one.usual for one in (*SCHEDULER.values(), *PRIORITY.values()) if one.usual is not None}
    empty = Space((), {**usual, **here.settings}, here.limits, here.unit)
    levers, notes = [], []
    assumed = ASSUMED if any(lever.family == "points" for lever in tune.levers) and here.nothing_known else {}
    if assumed:
        notes.append("the site does not say how it ranks jobs: points are tried as if age were all that counts")
    for lever in tune.levers:
        if left := _left_out(lever, tune, here, force):
            notes.append(f"{lever.name} is left out: {left}")
            continue
        if unfit := not_here(lever, here):
            notes.append(f"{lever.name} is forced: {unfit[0]}")
        new = changing(lever, empty.settings, empty.limits)
        if len(new.values) < len(lever.values):
            none = "" if new.values else "; the lever is left out, as no other value is given"
            notes.append(f"{lever.name}: one of its values is what it is today{none}")
        if new.values:
            levers.append(new)
    _refuse_lonely(tune, levers)
    if not levers:
        why = "; ".join(notes)
        raise AdminkitError(f"no lever of the file can be tried here: {why}", "write other levers, or other values")
    return replace(empty, levers=tuple(levers), notes=tuple(notes), assumed=assumed)


def _left_out(lever: Lever, tune: Tune, here: Here, force: bool) -> str:
    """Why the lever is left out of a search on any site; "" where it stays. AdminkitError where it is refused.

    A queue is always of one site: a name that this site does not have is a wrong word.
    """
    lack, unfit = lacking(lever, here), None if force else not_here(lever, here)
    why = lack or unfit
    if why is None:
        return ""
    if tune.any_site and lever.family != "queue":
        return why[0]
    hint = why[1] if lack else f"{why[1]}; --force searches all the same, and marks the answer"
    raise tune.wrong(lever.name, why[0], hint)


def _refuse_lonely(tune: Tune, levers: Sequence[Lever]) -> None:
    """A key of a section that nothing turns on would never be tried."""
    names = {lever.name for lever in levers}
    for lever in levers:
        needs = _NEEDS.get(lever.family)
        if needs and f"{lever.family}.{needs}" not in names:
            raise tune.wrong(
                lever.name,
                f"it has no effect without {lever.family}.{needs}",
                f'write that lever, too: "{lever.family}.{needs}" = [{"90" if needs == "quantile" else "2.0"}]',
            )
