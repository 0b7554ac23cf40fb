"""The file of a search: what is wanted, what may not become worse, and the levers with their values. docs/tune.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from adminkit.errors import AdminkitError
from adminkit.files import read_named
from adminkit.simulate.problems import Where, problem
from adminkit.toml import MOST_BYTES, table_of
from adminkit.tune.levers import Lever, lever_of

_HINT: Final = "docs/tune.md has every key; etc/tune.toml is an example"
#: Levers, and values of one, at most: more cannot be searched in any time.
MOST_LEVERS: Final = 32
MOST_VALUES: Final = 64

Objective = Literal["mean_wait", "p95_wait", "mean_slowdown", "lost_hours"]


def _share(value: Any) -> Fraction:
    try:
        share = Fraction(value) if isinstance(value, (int, str)) else Fraction(str(value))
    except (ValueError, ZeroDivisionError, TypeError):
        raise ValueError('a share of the days belongs here, such as "1/3"') from None
    if not Fraction(1, 20) <= share <= Fraction(1, 2):
        raise ValueError("hold out a twentieth to a half of the days")
    return share


class Constraints(BaseModel):
    """What may not become worse beyond its interval."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: tuple[Literal["size", "queue", "users"], ...] = ("size", "queue", "users")  # nobody in them waits longer
    utilization: bool = True  # not lower
    promised: bool = True  # first promised starts of jobs are kept
    lost_hours: bool = True  # not more work lost at limits


class Asked(BaseModel):
    """The keys of the file but for the levers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    objective: Objective = "mean_wait"
    held_out: Annotated[Fraction, BeforeValidator(_share)] = Fraction(1, 3)
    constraints: Constraints = Constraints()
    levers: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tune:
    """A file that was checked."""

    objective: Objective
    held_out: Fraction
    constraints: Constraints
    levers: tuple[Lever, ...]


def load_tune(path: Path) -> Tune:
    """The search of this file. AdminkitError names file, line and key of the first thing that is wrong."""
    data = read_named(path, MOST_BYTES, "name a file of levers; etc/tune.toml is an example")
    return tune_of(table_of(data, str(path)), str(path), data.decode("utf-8"))


def tune_of(raw: Mapping[str, Any], file: str, text: str) -> Tune:
    """The search of what TOML made of `text`."""
    where = Where(file, text, raw, _HINT)
    if raw.get("version") != 1:
        raise where.wrong(("version",), "this release of adminkit knows version 1", "write version = 1")
    try:
        asked = Asked.model_validate(dict(raw))
    except ValidationError as error:
        raise problem(where, (), Asked, error.errors(include_url=False)) from None
    if not asked.levers:
        raise where.wrong(("levers",), "no lever", "write [levers] and below it a name and its values")
    if (many := len(list(_flat(asked.levers)))) > MOST_LEVERS:
        raise where.wrong(("levers",), f"{many} levers; at most {MOST_LEVERS} can be searched")
    levers = tuple(_lever(where, place, values) for place, values in _flat(asked.levers))
    return Tune(asked.objective, asked.held_out, asked.constraints, levers)


def _flat(table: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each lever's place below [levers] and its values: a name with dots may be in quotes, or not."""
    for name, values in table.items():
        if isinstance(values, dict):
            yield from _flat(values, (*before, name))
        else:
            yield (*before, name), values


def _lever(where: Where, parts: tuple[str, ...], values: Any) -> Lever:
    place, name = ("levers", *parts), ".".join(parts)
    if not isinstance(values, list) or not values:
        raise where.wrong(place, "a list of values belongs here", f'write {name} = ["1d", "2d"]')
    if len(values) > MOST_VALUES:
        raise where.wrong(place, f"{len(values)} values; at most {MOST_VALUES} can be searched")
    if len({repr(one) for one in values}) < len(values):
        raise where.wrong(place, "one value appears twice", "leave one of them out")
    try:
        return lever_of(name, values)
    except AdminkitError as error:
        raise where.wrong(place, error.message, error.hint or "") from None
    except ValidationError as error:
        raise where.wrong(place, str(error.errors()[0]["msg"]).removeprefix("Value error, ")) from None
    except ValueError as error:
        raise where.wrong(place, str(error)) from None
