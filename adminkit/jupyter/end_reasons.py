"""How a server's job ended, in plain words, and which lines of its log are worth showing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from adminkit.messages import Message, message

#: Slurm's state of a job that ended -> its words; of another one the state itself is shown.
_STATES: Final = {
    "COMPLETED": message("it ended by itself"),
    "TIMEOUT": message("it reached its time limit"),
    "OUT_OF_MEMORY": message("it used more memory than it had"),
    "CANCELLED": message("its job was cancelled"),
    "NODE_FAIL": message("its node failed"),
    "BOOT_FAIL": message("its node failed"),
    "PREEMPTED": message("it had to give way to another job"),
    "FAILED": message("it ended with an error"),
}
#: The line that extension.py writes when it ends an idle server.
_IDLE: Final = re.compile(r"adminkit: no kernel or terminal ran anything for (.{1,20}?): this server ends")


def in_words(state: str) -> Message:
    """CANCELLED by 1000 -> its job was cancelled."""
    known = _STATES.get(state.partition(" ")[0].rstrip("+"))
    return message("Slurm says {state}", state=state) if known is None else known


def last_server(state: str, lines: Sequence[str]) -> tuple[Message, list[str]]:
    """The sentence of a form about the last server, and the lines of its log below it."""
    idle = next((found[1] for line in reversed(lines) if (found := _IDLE.search(line))), None)
    if idle is not None and state == "COMPLETED":
        ended = message(
            "Your last server was ended after no kernel or terminal had run anything for {idle}, so that others can "
            "use what it reserved.",
            idle=idle,
        )
        return ended, []
    return message("Your last server is gone: {how}.", how=in_words(state)), list(lines)


def ended_early(state: str, lines: Sequence[str]) -> Message:
    """Say why a job ended before its server answered."""
    how = in_words(state)
    if lines:
        return message("The job ended before the server responded: {how}. The last lines of its log:", how=how)
    return message("The job ended before the server responded: {how}. It left no log that could be read.", how=how)
