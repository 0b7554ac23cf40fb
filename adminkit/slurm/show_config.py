"""`scontrol show config`, which several parts of one command read: asked once, and again when the answer is old.

A caller that waits for a change, or checks for one, calls `forget` before each look.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.keyvalue import settings
from adminkit.slurm.process import ask, find

#: Seconds for which an answer counts. No command that shows something once takes longer over its parts.
KEPT_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class _Answer:
    """slurmctld's answer or error, the question, and the time of the answer (seconds of the monotonic clock)."""

    question: tuple[str | None, str | None]  # the program, $SLURM_CONF
    at: float
    outcome: str | AdminkitError


_ONE_AT_A_TIME: Final = threading.Lock()
_answers: Final[list[_Answer]] = []


def show_config() -> str:
    """The running configuration, for keyvalue.settings(). AdminkitError when slurmctld is away.

    An error is kept as long as an answer: scontrol tries for half a minute when slurmctld is away.
    """
    with _ONE_AT_A_TIME:
        question = (find("scontrol"), os.environ.get("SLURM_CONF"))
        kept = [one for one in _answers if one.question == question and time.monotonic() < one.at + KEPT_SECONDS]
        outcome = kept[0].outcome if kept else _ask()
        if not kept:
            _answers[:] = [_Answer(question, time.monotonic(), outcome)]
    if isinstance(outcome, AdminkitError):
        raise outcome
    return outcome


def forget() -> None:
    """Drop the answer, so that the next call asks slurmctld."""
    with _ONE_AT_A_TIME:
        _answers.clear()


def _ask() -> str | AdminkitError:
    try:
        answer = ask(["scontrol", "show", "config"])
    except AdminkitError as error:
        return error
    if settings(answer):
        return answer
    return AdminkitError(
        "`scontrol show config` printed no settings", "run it by hand: it should print lines such as ClusterName = NAME"
    )
