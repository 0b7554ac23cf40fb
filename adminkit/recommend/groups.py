"""Which runs are alike: a run belongs to several groups of its user's, from the narrowest to all of them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: Numbers in a job's name do not make it another job: train_1 and train_2 are alike.
_NUMBERS: Final = re.compile(r"\d+")

#: The groups, the narrowest first.
LEVELS: Final = (
    "name, queue, size and limit",
    "size and limit",
    "name, queue and size",
    "name and queue",
    "name",
    "limit",
    "user",
)
#: A group is asked from so many runs on.
NEEDED: Final = (3, 3, 3, 4, 5, 5, 8)

Size = tuple[int, int, int | None]


class Features(NamedTuple):
    """What is known of a job when it is submitted; None for unknown."""

    user: str
    job_name: str | None = None
    queue: str | None = None
    size: Size | None = None
    request: int | None = None  # seconds: the limit that it asks for


def size_of(nodes: int | None, gpus: int | None, cpus: int | None) -> Size | None:
    """One word for how large a job is: nodes and GPUs; CPUs count only for a job without GPUs."""
    if gpus:
        return max(nodes or 1, 1), gpus, None
    if cpus is None and gpus is None and nodes is None:
        return None
    return max(nodes or 1, 1), 0, cpus


def bare_name(name: str) -> str:
    """A job's name with # for each number in it."""
    return _NUMBERS.sub("#", name)


def keys(of: Features) -> tuple[tuple[object, ...] | None, ...]:
    """One key for each of LEVELS; None where a part of it is unknown."""
    user, name, queue, size, request = of
    alike = None if name is None else bare_name(name)
    sized = size is not None
    return (
        (0, user, name, queue, size, request) if name is not None and sized and request else None,
        (1, user, size, request) if sized and request else None,
        (2, user, name, queue, size) if name is not None and queue is not None and sized else None,
        (3, user, name, queue) if name is not None and queue is not None else None,
        (4, user, alike) if alike is not None else None,
        (5, user, request) if request else None,
        (6, user),
    )
