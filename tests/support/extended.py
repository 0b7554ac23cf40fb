"""Jobs that were given more time, and what the log of acts has of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from adminkit.job import Job
from adminkit.trace.actions import record_actions
from adminkit.trace.connect import writer
from tests.support.builders import HOUR, MONDAY, job, make_trace

#: A name with markup.
BOLD: Final = "$x$<b>|\x1b[31m`x`"
#: What the log of acts has of some_extended(): (at, what was done, and whose job waits).
ACTS: Final[Sequence[tuple[int, Mapping[str, Any]]]] = [
    (MONDAY + 4 * HOUR, {"did": "given", "job": 1, "why": "free", "held": None}),
    (MONDAY + 4 * HOUR, {"did": "given", "job": 1, "why": "free", "held": True}),
    (MONDAY + 5 * HOUR, {"did": "given", "job": 1, "why": "free", "held": True, "behind": 20,
                         "starts": MONDAY + 6 * HOUR}),
    (MONDAY + 4 * HOUR, {"did": "given", "job": 2, "why": "free", "held": False}),
    (MONDAY + 5 * HOUR, {"did": "taken back", "job": 2, "why": "planned", "held": True, "behind": 21,
                         "starts": MONDAY + 6 * HOUR}),
    (MONDAY + 4 * HOUR, {"did": "refused", "job": 3, "why": "most"}),
    (MONDAY + 3 * HOUR, {"did": "refused", "job": 7, "why": "planned", "behind": 21, "starts": MONDAY + 6 * HOUR}),
    (MONDAY + 4 * HOUR, {"did": "refused", "job": 7, "why": "waiting", "behind": 20}),
    (MONDAY + 4 * HOUR, {"did": "refused", "job": 99, "why": "most"}),
    (MONDAY + 90 * HOUR, {"did": "refused", "job": 3, "why": "budget"}),
    (MONDAY + 4 * HOUR, {"did": "refused", "job": "3", "why": "a string is not a job"}),
]  # fmt: skip


def some_extended() -> list[Job]:
    """Jobs that asked for four hours and were given two more, and what became of them; two that waited for some."""

    def one(number: int, elapsed: int | None, **changes: Any) -> Job:
        given = {"time_limit": 6 * HOUR, "ext_asked": 4 * HOUR, "ext_limit": 6 * HOUR, "ext_times": 2}
        return job(number, elapsed=elapsed, **{**given, **changes})

    return [
        one(1, 5 * HOUR + HOUR // 2),
        one(2, 5 * HOUR, user="bob", gpus=0, cpus=64),
        one(3, 6 * HOUR + 20, state="TIMEOUT"),
        one(4, 3 * HOUR, user="bob", queue="gq-short"),
        one(5, 5 * HOUR, ckpt_asked=1, user="eve"),
        one(6, 5 * HOUR, state="FAILED", user=BOLD),
        job(7, elapsed=4 * HOUR + 10, state="TIMEOUT", user="bob"),
        one(8, 5 * HOUR, ext_limit=4 * HOUR, time_limit=4 * HOUR, ext_times=0),
        job(20, start_time=MONDAY + 6 * HOUR + 900, elapsed=HOUR, nodes=4, user="wide"),
        job(21, start_time=MONDAY + 6 * HOUR - 60, elapsed=HOUR, nodes=4, user="wide"),
        one(30, None, state="RUNNING"),
    ]


def make_extended(path: Path, acts: Sequence[tuple[int, Mapping[str, Any]]] = ACTS) -> Path:
    """A trace of some_extended() with these acts."""
    made = make_trace(path, some_extended(), [("aaic", "gq", 0, HOUR, 72 * HOUR)])
    with writer(made) as db:
        record_actions(db, [{"at": at, "what": "extend", "host": "ctl", **act} for at, act in acts])
        db.commit()
    return made
