"""How a server's job ended, in plain words, and which lines of its log are worth showing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from adminkit.jupyter.texts import say

#: Slurm's state of a job that ended -> the key of its words; of another one the state itself is shown.
_STATES: Final = {
    "COMPLETED": "end_completed",
    "TIMEOUT": "end_timeout",
    "OUT_OF_MEMORY": "end_memory",
    "CANCELLED": "end_cancelled",
    "NODE_FAIL": "end_node",
    "BOOT_FAIL": "end_node",
    "PREEMPTED": "end_preempted",
    "FAILED": "end_failed",
}
#: The line that extension.py writes when it ends an idle server.
_IDLE: Final = re.compile(r"adminkit: no kernel or terminal ran anything for (.{1,20}?): this server ends")


def in_words(state: str, language: str) -> str:
    """CANCELLED by 1000 -> it was cancelled."""
    key = _STATES.get(state.partition(" ")[0].rstrip("+"))
    return say("end_other", language, state=state) if key is None else say(key, language)


def last_server(state: str, lines: Sequence[str], language: str) -> tuple[str, list[str]]:
    """The sentence of a form about the last server, and the lines of its log below it."""
    idle = next((found[1] for line in reversed(lines) if (found := _IDLE.search(line))), None)
    if idle is not None and state == "COMPLETED":
        return say("last_idle", language, idle=idle), []
    return say("last_ended", language, how=in_words(state, language)), list(lines)
