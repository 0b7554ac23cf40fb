"""What the rounds of `adminkit extend` keep: what users were given this month, acts under way, and refusals that were
recorded already.

It is written before an act: a round that is cut off has counted too much, never too little.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from adminkit.deploy.files import SUBFOLDER, put_file, read_text
from adminkit.errors import AdminkitError, cause
from adminkit.files import open_folder

#: Below the folder of job_submit.lua. An install does not put it there, so its checksums leave it out.
STATE: Final = f"{SUBFOLDER}/extend_state.json"
_MODE: Final = 0o600
#: Who is at work has it locked, a whole round long.
_LOCK: Final = ".extend.lock"
_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class State:
    """`at`: the last round, epoch seconds. `given`: seconds by uid in `month`, as in 2026-11. `whole`: whether that
    counts all that was given in the month; else nobody knows what is left. `under_way`: the acts of the last round as
    they are recorded, until they were read back. `refused`: by job the whys that were recorded.
    """

    at: int
    month: str
    given: Mapping[int, int] = field(default_factory=dict)
    whole: bool = True
    under_way: tuple[Mapping[str, Any], ...] = ()
    refused: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def left(self, uid: int, budget: int) -> int | None:
        """Seconds that this user may yet be given; None where that is not known."""
        return max(0, budget - self.given.get(uid, 0)) if self.whole else None


def month_of(now: int) -> str:
    """The calendar month, in the host's time zone."""
    return time.strftime("%Y-%m", time.localtime(now))


@contextmanager
def alone_here(folder: Path, lock: str = _LOCK) -> Iterator[None]:
    """One round at a time: two that look at the same moment would both give. AdminkitError where one is at work."""
    inner = folder / SUBFOLDER
    try:
        within = open_folder(inner)
        try:
            handle = os.open(lock, _OPEN, _MODE, dir_fd=within)
        finally:
            os.close(within)
    except OSError as error:
        raise AdminkitError(f"couldn't lock {inner}: {cause(error)}", "run it as root on slurmctld's host") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AdminkitError("another round is at work", "try again when it has ended") from None
        yield
    finally:
        os.close(handle)


def read_state(folder: Path, now: int, alone: bool, margin: int) -> State:
    """What was kept. Nothing is known of a month in which it was lost, or in which the rounds were on another host:
    slurmctld has one, and this one was not at work for longer than `margin` seconds, where it is not `alone`.
    """
    month = month_of(now)
    try:
        text = read_text(folder / STATE)
        kept = None if text is None else _parse(json.loads(text))
    except (AdminkitError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return State(now, month, whole=False)
    if kept is None:
        return State(now, month, whole=alone)
    if kept.month > month:  # the clock was set back; what was given counts on
        return kept
    if kept.month != month:
        return State(kept.at, month, {}, kept.at >= now - margin or alone, kept.under_way, kept.refused)
    if not alone and now - kept.at > margin:
        return State(kept.at, month, kept.given, False, kept.under_way, kept.refused)
    return kept


def _parse(value: Any) -> State:
    given = {int(uid): _whole(seconds) for uid, seconds in value["given"].items()}
    refused = {int(job): tuple(map(str, whys)) for job, whys in value["refused"].items()}
    under_way = tuple(dict(one) for one in value["under_way"])
    for one in under_way:
        for key in ("job", "uid", "was", "becomes"):
            _whole(one[key])
        str(one["why"])
    if type(value["month"]) is not str or type(value["whole"]) is not bool:
        raise ValueError("not a state")
    return State(_whole(value["at"]), value["month"], given, value["whole"], under_way, refused)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("not a whole number")
    return value


def write_state(folder: Path, state: State) -> None:
    """AdminkitError where it cannot be written."""
    value = {
        "at": state.at,
        "month": state.month,
        "given": {str(uid): seconds for uid, seconds in sorted(state.given.items())},
        "whole": state.whole,
        "under_way": list(state.under_way),
        "refused": {str(job): list(whys) for job, whys in sorted(state.refused.items())},
    }
    put_file(folder / STATE, json.dumps(value), mode=_MODE)
