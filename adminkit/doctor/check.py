"""Check: what doctor says of one thing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from adminkit.errors import AdminkitError, cause

Status = Literal["ok", "warn", "missing"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the listing. `missing`: needed and not there. `warn`: it works, but less well."""

    name: str
    status: Status
    found: str
    hint: str = ""  # what to do; empty where nothing is


def guarded(name: str, look: Callable[[], Check], status: Status = "missing") -> Check:
    """What `look` returns; where it raises AdminkitError, or may not read something, that as a check of `status`."""
    try:
        return look()
    except (AdminkitError, OSError) as error:
        return _failed(name, status, error)


def guarded_all(name: str, checks: Iterable[Check], status: Status = "warn") -> Iterator[Check]:
    """`checks` up to the first AdminkitError or refusal of the kernel, then that as one more."""
    try:
        yield from checks
    except (AdminkitError, OSError) as error:
        yield _failed(name, status, error)


def _failed(name: str, status: Status, error: AdminkitError | OSError) -> Check:
    if isinstance(error, AdminkitError):
        return Check(name, status, error.message, error.hint)
    what = f"couldn't open {os.fsdecode(error.filename)}" if error.filename else "couldn't look"
    return Check(name, status, f"{what}: {cause(error)}", "run it as a user who may read that, or as root")
