"""The file of `adminkit tune`: levers, what is wanted of them, and what may not become worse. docs/tune.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from adminkit.errors import AdminkitError
from adminkit.files import read_named
from adminkit.simulate.calibrate import LEAST_JOBS
from adminkit.simulate.problems import Where, problem
from adminkit.slurm.lines import Place
from adminkit.toml import MOST_BYTES, table_of
from adminkit.tune.candidates import Value
from adminkit.tune.levers import Lever, lever_of

#: Levers of one file, and values of a lever.
MOST_LEVERS: Final = 32
MOST_VALUES: Final = 32
_HINT: Final = "docs/tune.md has every key"
_FORM: Final = ConfigDict(extra="forbid", frozen=True)

Objective = Literal["mean_wait", "p95_wait", "mean_slowdown", "lost_hours"]
Group = Literal["size", "queue", "users"]


def _share(value: Any) -> Fraction:
    """ "1/3", or a number."""
    if isinstance(value, bool) or not isinstance(value, (str, float)):
        raise ValueError('a share of the days belongs here, such as "1/3"')
    try:
        found = Fraction(str(value)[:20]).limit_denominator(1000)
    except (ValueError, ZeroDivisionError):
        raise ValueError('a share of the days belongs here, such as "1/3"') from None
    if not Fraction(1, 10) <= found <= Fraction(2, 3):
        raise ValueError("a tenth to two thirds of the days can be held out")
    return found


def _once(value: tuple[Group, ...]) -> tuple[Group, ...]:
    if len(set(value)) < len(value):
        raise ValueError("one word appears twice")
    return value


class Constraints(BaseModel):
    """What may not become worse."""

    model_config = _FORM

    groups: Annotated[tuple[Group, ...], AfterValidator(_once)] = ("size", "queue", "users")  # whose mean wait
    utilization: Annotated[bool, Field(strict=True)] = True
    promised: Annotated[bool, Field(strict=True)] = True  # starts that jobs were promised first
    lost_hours: Annotated[bool, Field(strict=True)] = True  # at limits
    jobs: Annotated[int, Field(ge=2, strict=True)] = LEAST_JOBS  # groups of fewer are not judged


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    version: Literal[1]
    objective: Objective = "mean_wait"
    held_out: Annotated[Fraction, BeforeValidator(_share)] = Fraction(1, 3)
    any_site: Annotated[bool, Field(strict=True)] = False
    constraints: Constraints = Constraints()
    levers: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tune:
    """What a file asks for. `where` names its places in errors.

    `any_site`: the file is meant for any site, so a lever that this one cannot have is left out, not refused.
    """

    levers: tuple[Lever, ...]
    objective: Objective
    held_out: Fraction
    constraints: Constraints
    where: Where
    any_site: bool = False

    def wrong(self, lever: str, message: str, hint: str) -> AdminkitError:
        """What is wrong with a lever of the file."""
        return self.where.wrong(("levers", lever), message, hint)


def load_tune(path: Path) -> Tune:
    """The levers and aims of this file. AdminkitError for the first thing that is wrong."""
    data = read_named(path, MOST_BYTES, "name a file of levers; etc/tune.toml is an example")
    return tune_of(table_of(data, str(path)), str(path), data.decode("utf-8"))


def tune_of(raw: Mapping[str, Any], file: str, text: str) -> Tune:
    """The same of what TOML made of `text`."""
    where = Where(file, text, raw, _HINT)
    if raw.get("version") != 1:
        raise where.wrong(("version",), "this release of adminkit knows version 1", "write version = 1")
    try:
        found = _File.model_validate(raw)
    except ValidationError as error:
        raise problem(where, (), _File, error.errors(include_url=False)) from None
    levers = [_lever(where, name, values) for name, values in _flat(found.levers)]
    if not levers:
        raise where.wrong(("levers",), "no lever", 'write one: "SchedulerParameters.bf_window" = ["1d", "4d"]')
    if len(levers) > MOST_LEVERS:
        raise where.wrong(("levers",), f"{len(levers)} levers; at most {MOST_LEVERS} are allowed")
    return Tune(tuple(levers), found.objective, found.held_out, found.constraints, where, found.any_site)


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Names with dots: a key without quotes makes tables within tables, and means the same."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _lever(where: Where, name: str, values: Any) -> Lever:
    place: Place = ("levers", name)
    several = values if isinstance(values, list) else [values]
    if not several:
        raise where.wrong(place, "an empty list", "give it at least one value to try besides today's")
    if len(several) > MOST_VALUES:
        raise where.wrong(place, f"{len(several)} values; at most {MOST_VALUES} are allowed")
    made: list[Value] = []
    for value in several:
        if not isinstance(value, (str, int, float)):
            raise where.wrong(place, "a number, a text, true or false belongs here")
        made.append(value)
    try:
        lever = lever_of(name, made)
    except AdminkitError as error:
        raise where.wrong(place, error.message, error.hint) from None
    except ValueError as error:
        message, _, hint = str(error).partition("; ")
        raise where.wrong(place, message, hint) from None
    if len(set(lever.meanings)) < len(lever.meanings):
        raise where.wrong(place, "one value appears twice")
    return lever
