"""Check: what doctor says of one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from adminkit.errors import AdminkitError

Status = Literal["ok", "warn", "missing"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the listing. `missing`: needed and not there. `warn`: it works, but less well."""

    name: str
    status: Status
    found: str
    hint: str = ""  # what to do; empty where nothing is


def guarded(name: str, look: Callable[[], Check], status: Status = "missing") -> Check:
    """What `look` returns; where it raises AdminkitError, that error as a check of `status`."""
    try:
        return look()
    except AdminkitError as error:
        return Check(name, status, error.message, error.hint)


def guarded_all(name: str, checks: Iterable[Check], status: Status = "warn") -> Iterator[Check]:
    """`checks` up to the first AdminkitError, then that error as one more."""
    try:
        yield from checks
    except AdminkitError as error:
        yield Check(name, status, error.message, error.hint)
