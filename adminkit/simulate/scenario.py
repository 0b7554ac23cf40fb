"""Scenarios from a TOML file: each problem names file, line and key, and the nearest right word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from adminkit.errors import unknown_word
from adminkit.files import read_named
from adminkit.quote import quote
from adminkit.simulate.case import Case
from adminkit.simulate.change import Change, Given, Kind, Sources
from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.luck import Luck
from adminkit.simulate.problems import Where, problem
from adminkit.slurm.lines import Place
from adminkit.toml import MOST_BYTES, table_of
from adminkit.units import show_duration

_HINT: Final = "docs/simulate-scenarios.md has every key"
#: Scenarios of one run, counted with every value of the keys that have several.
MOST: Final = 50


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a scenario. `value` is that of the swept key."""

    kind: Kind
    keys: Change
    value: Any = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Changes, one after the other."""

    name: str
    steps: tuple[Step, ...]

    @property
    def of_users(self) -> bool:
        """Whether the last change is of some users' jobs."""
        return self.steps[-1].kind.of_users

    def apply(self, case: Case, given: Sequence[Given], luck: Luck) -> Case:
        """The scenario's case; `given` as prepare() has it."""
        for step, known in zip(self.steps, given, strict=True):
            case = step.kind.apply(case, step.keys, step.value, known, luck)
        return case


def prepare(scenarios: Sequence[Scenario], sources: Sources) -> list[list[Given]]:
    """What the changes of each scenario have to know; the same keys are asked once, whatever their scenario's name.

    AdminkitError for what does not go with the site or the trace.
    """
    return [[_prepared(step, sources) for step in scenario.steps] for scenario in scenarios]


def _prepared(step: Step, sources: Sources) -> Given:
    asked = ("prepare", step.kind.name, step.keys.model_dump_json(exclude={"name", "on"}))
    if asked not in sources.known:
        sources.known[asked] = step.kind.prepare(step.keys, sources)
    found: Given = sources.known[asked]
    return found


def load_scenarios(path: Path) -> list[Scenario]:
    """The scenarios of this file. AdminkitError for the first thing that is wrong."""
    data = read_named(path, MOST_BYTES, "name a file of scenarios; etc/scenarios.toml is an example")
    return scenarios_of(table_of(data, str(path)), str(path), data.decode("utf-8"))


def scenarios_of(raw: Mapping[str, Any], file: str, text: str) -> list[Scenario]:
    """The scenarios of what TOML made of `text`."""
    where = Where(file, text, raw, _HINT)
    for key in raw:
        if key not in ("version", "scenarios"):
            raise where.wrong((key,), "no such key", unknown_word("key", key, ("version", "scenarios")).hint)
    if raw.get("version") != 1:
        raise where.wrong(("version",), "this release of adminkit knows version 1", "write version = 1")
    tables = raw.get("scenarios")
    if not isinstance(tables, list) or not tables or not all(isinstance(one, dict) for one in tables):
        raise where.wrong(("scenarios",), "no scenario", "write [[scenarios]] and below it name and kind; " + _HINT)
    changes = [_change(where, number, table) for number, table in enumerate(tables)]
    return _ordered(where, changes)


def _change(where: Where, number: int, table: Mapping[str, Any]) -> Change:
    """One [[scenarios]], checked. Its kind first: the keys depend on it."""
    place: Place = ("scenarios", number)
    kind = table.get("kind")
    if kind is None:
        raise where.wrong(place, "no kind", f'give it one: kind = "…"; known: {", ".join(sorted(KINDS))}')
    if not isinstance(kind, str) or kind not in KINDS:
        near = unknown_word("kind", str(kind), KINDS)
        raise where.wrong((*place, "kind"), near.message, near.hint)
    model = KINDS[kind].keys
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        raise problem(where, place, model, error.errors(include_url=False)) from None


def _ordered(where: Where, changes: Sequence[Change]) -> list[Scenario]:
    """A scenario for each value of each change, behind those of the one that it is `on`."""
    made: dict[str, list[Scenario]] = {}
    for number, keys in enumerate(changes):
        place: Place = ("scenarios", number)
        if keys.name in made:
            raise where.wrong(
                (*place, "name"),
                "two scenarios have the same name",
                "give each its own name: the results refer to scenarios by name",
            )
        before: tuple[Step, ...] = ()
        if keys.on is not None:
            if keys.on not in made:
                near = unknown_word("scenario above this one", keys.on, made)
                raise where.wrong((*place, "on"), near.message, near.hint if made else "write the other one above it")
            if len(made[keys.on]) > 1:
                raise where.wrong(
                    (*place, "on"), f"{quote(keys.on)} has several values", "give that one a single value"
                )
            before = made[keys.on][0].steps
        made[keys.name] = list(_values(keys, before))
    scenarios = [one for several in made.values() for one in several]
    if len(scenarios) > MOST:
        raise where.wrong(
            ("scenarios",), f"{len(scenarios)} scenarios, counted with every value; at most {MOST} are allowed"
        )
    return scenarios


def _values(keys: Change, before: tuple[Step, ...]) -> Iterator[Scenario]:
    kind = KINDS[keys.kind]
    values = getattr(keys, keys.swept) if keys.swept else (None,)
    for value in values:
        name = keys.name if len(values) == 1 else f"{keys.name} {_shown(keys.swept, value)}"
        yield Scenario(name, (*before, Step(kind, keys, value)))


def _shown(key: str, value: Any) -> str:
    if key.endswith("limit"):
        return show_duration(value)
    return f"{100 * value:g} %" if key in ("uptake", "share") else f"{value:g}"
