"""What every kind of scenario has in common: its keys, the values it may be tried with, what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from adminkit.policy.durations import seconds
from adminkit.recommend.menu import Offer
from adminkit.simulate.case import Case, Column
from adminkit.simulate.luck import Luck
from adminkit.slurm.site import Site
from adminkit.sqlite import sqlite3

#: Characters of a scenario's name: it is a word of the answer, and of a picture.
MOST_NAME: Final = 40


def _several(value: Any) -> Any:
    """One value is a list of one. Trap: True is a number for Python."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError("an empty list is not a scenario; give it at least one value")
    if any(isinstance(one, bool) for one in values):
        raise ValueError("a number belongs here")
    if len(set(map(str, values))) < len(values):
        raise ValueError("one value appears twice")
    return tuple(values)


def _limit(value: Any) -> int:
    limit = seconds(value)
    if limit <= 0 or limit % 60:
        raise ValueError("a limit is one minute or more, in whole minutes, as Slurm keeps it")
    return limit


def _name(value: str) -> str:
    if not value.strip() or len(value) > MOST_NAME or not value.isprintable():
        raise ValueError(f"a name is 1 to {MOST_NAME} characters that can be printed")
    return value


Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Shares = Annotated[tuple[Share, ...], BeforeValidator(_several)]
Factors = Annotated[tuple[Annotated[float, Field(gt=0, le=100, strict=True)], ...], BeforeValidator(_several)]
Limit = Annotated[int, BeforeValidator(_limit)]
Limits = Annotated[tuple[int, ...], BeforeValidator(lambda value: tuple(_limit(one) for one in _several(value)))]
Seconds = Annotated[int, BeforeValidator(seconds)]
Name = Annotated[str, AfterValidator(_name)]
Count = Annotated[int, Field(ge=0, strict=True)]


class Change(BaseModel):
    """The keys of one [[scenarios]]. `swept` is the key that may have several values, each a scenario of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    swept: ClassVar[str] = ""

    name: Name
    kind: str
    on: str | None = None  # the scenario that comes first


@dataclass(frozen=True, slots=True)
class Sources:
    """What a kind may look at before the first run. `case` is today's, not shaken; `folder` that of the scenarios."""

    case: Case
    folder: Path
    offer: Offer
    db: sqlite3.Connection | None = None
    cluster: str = ""
    site: Site | None = None  # None: what the trace knows of its queues
    checkpoint_code: int = 0
    keys: Mapping[str, Column] | None = None  # job_id_raw and submit_time of today's jobs, as the trace has them
    #: What kinds found out once and ask for again, by kind and question: a search asks for hundreds of scenarios.
    known: dict[tuple[Any, ...], Any] = field(default_factory=dict, compare=False, repr=False)


#: What a kind found out before the first run, of today's jobs: never changed, shared by all replicates.
Given = Mapping[str, Any]
Prepare = Callable[[Any, Sources], Given]
#: (case, keys, value of the swept key, given, luck) -> the case of the scenario. Pure.
Apply = Callable[[Case, Any, Any, Given, Luck], Case]


def nothing(keys: Change, sources: Sources) -> Given:
    """The `prepare` of a kind that needs to know nothing in advance."""
    return {}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of scenario: a file of kinds/ and a page of docs/simulate/."""

    name: str
    keys: type[Change]
    apply: Apply
    prepare: Prepare = nothing
    of_users: bool = False  # whether `follows` says whose jobs change
