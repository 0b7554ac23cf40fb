"""What the guard of soft limits keeps from one round to the next: the jobs whose start it has looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.deploy.files import SUBFOLDER, put_file, read_text
from adminkit.errors import AdminkitError

#: Below the folder of job_submit.lua. An install does not put it there, so its checksums leave it out.
STATE: Final = f"{SUBFOLDER}/soft_state.json"
_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class State:
    """`at`: when the last round was, epoch seconds. `started`: the restarts of each job when it was seen to run.

    A requeued job keeps its number: only with its restarts is it known which of its starts was seen.
    """

    at: int
    started: Mapping[int, int]


def read_state(folder: Path) -> State | None:
    """None where nothing was kept, or it cannot be read."""
    try:
        value = json.loads(read_text(folder / STATE) or "")
        started = {int(job): restarts for job, restarts in value["started"].items()}
        if type(value["at"]) is int and all(type(restarts) is int for restarts in started.values()):
            return State(value["at"], started)
    except (AdminkitError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return None


def write_state(folder: Path, state: State) -> None:
    """AdminkitError where it cannot be written."""
    started = {str(job): restarts for job, restarts in sorted(state.started.items())}
    put_file(folder / STATE, json.dumps({"at": state.at, "started": started}), mode=_MODE)
