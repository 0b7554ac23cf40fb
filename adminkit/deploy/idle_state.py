"""What the rounds of `adminkit idle` keep of jobs that run: since when they are warned, and what was begun how often.

It is written before an act: a round that is cut off has counted too much, never too little. Where it is lost, jobs are
warned again before anything is done to them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from adminkit.deploy.files import SUBFOLDER, put_file, read_text
from adminkit.deploy.idle_points import Taken
from adminkit.errors import AdminkitError
from adminkit.usage.ladder import Past

#: Below the folder of job_submit.lua. An install does not put it there, so its checksums leave it out.
STATE: Final = f"{SUBFOLDER}/idle_state.json"
LOCK: Final = ".idle.lock"
_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class State:
    """`at`: the last round, epoch seconds. `past`: by job id. `orders`: until when each order to requeue holds.
    `taken`: the points of waiting jobs that are held.
    """

    at: int
    past: Mapping[int, Past] = field(default_factory=dict)
    orders: Mapping[int, int] = field(default_factory=dict)
    taken: Mapping[int, Taken] = field(default_factory=dict)


def read_state(folder: Path, now: int) -> State:
    """What was kept; nothing where it cannot be read."""
    try:
        text = read_text(folder / STATE)
        return State(now) if text is None else _parse(json.loads(text))
    except (AdminkitError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return State(now)


def write_state(folder: Path, state: State) -> None:
    """AdminkitError where it cannot be written."""
    value = {
        "at": state.at,
        "past": {
            str(job): {"start": one.start, "warned": one.warned, "acted": one.acted, "tried": dict(one.tried)}
            for job, one in sorted(state.past.items())
        },
        "orders": {str(job): until for job, until in sorted(state.orders.items())},
        "taken": {str(job): [one.uid, one.points] for job, one in sorted(state.taken.items())},
    }
    put_file(folder / STATE, json.dumps(value), mode=_MODE)


def _parse(value: Any) -> State:
    past = {
        int(job): Past(
            _whole(one["start"]), _some(one["warned"]), _some(one["acted"]),
            {str(rung): _whole(many) for rung, many in one["tried"].items()},
        )
        for job, one in value["past"].items()
    }  # fmt: skip
    orders = {int(job): _whole(until) for job, until in value["orders"].items()}
    taken = {int(job): Taken(*map(_whole, one)) for job, one in value.get("taken", {}).items()}
    return State(_whole(value["at"]), past, orders, taken)


def _some(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("not a whole number")
    return value
