"""`scontrol show config`, which several parts of one command want: asked once, and again when the answer is old.

Whoever waits for a change, or guards against one, calls `forget` before each look.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.process import ask, find

#: Seconds for which an answer counts. No command that shows something once takes longer over its parts.
KEPT_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class _Answer:
    """What slurmctld said, or why it did not, to which question and when (seconds of the monotonic clock)."""

    asked: tuple[str | None, str | None]
    at: float
    said: str | AdminkitError


_ONE_AT_A_TIME: Final = threading.Lock()
_answers: Final[list[_Answer]] = []


def show_config() -> str:
    """The running configuration, for keyvalue.settings(). AdminkitError when slurmctld is away.

    That slurmctld is away counts for as long: scontrol takes half a minute to say so.
    """
    with _ONE_AT_A_TIME:
        asked = (find("scontrol"), os.environ.get("SLURM_CONF"))
        kept = [one for one in _answers if one.asked == asked and time.monotonic() < one.at + KEPT_SECONDS]
        said = kept[0].said if kept else _ask()
        if not kept:
            _answers[:] = [_Answer(asked, time.monotonic(), said)]
    if isinstance(said, AdminkitError):
        raise said
    return said


def forget() -> None:
    """Ask slurmctld at the next call, whatever it said before."""
    with _ONE_AT_A_TIME:
        _answers.clear()


def _ask() -> str | AdminkitError:
    try:
        return ask(["scontrol", "show", "config"])
    except AdminkitError as error:
        return error
