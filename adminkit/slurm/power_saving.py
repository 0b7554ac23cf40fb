"""What a node's state says: whether jobs may have it, and how long one that sleeps takes until it is up.

slurmctld gives a job a node that is powered down as one that is idle, then wakes it: the job is CONFIGURING until the
node is up, and put back where it is not up within ResumeTimeout. A node on its way down is given to nobody for
SuspendTimeout, and Slurm's own test refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from adminkit.slurm.keyvalue import number
from adminkit.slurm.scontrol_show import Partition

#: asleep: powered down; falling: on the way down; waking: on the way up. "": none of them.
Power = Literal["", "asleep", "falling", "waking"]

#: The marks behind a state, as sinfo and older releases write its flags.
_MARKS: Final = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWER_DOWN", "%": "POWERING_DOWN",
    "$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED",
}  # fmt: skip
_DRAINED: Final = frozenset("DRAIN DRAINED DRAINING FAIL FAILING".split())
_DOWN: Final = frozenset("DOWN ERROR INVAL INVALID_REG UNKNOWN FUTURE REBOOT REBOOT_ISSUED BLOCKED PERFCTRS".split())
_SILENT: Final = frozenset("NOT_RESPONDING NO_RESPOND".split())
_BUSY: Final = frozenset("ALLOCATED MIXED COMPLETING".split())


@dataclass(frozen=True, slots=True)
class State:
    """`away`: why no new job may have it, drained or down; "" where one may."""

    away: str
    power: Power


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; None: not known, or without end."""

    resume: int | None = None
    suspend: int | None = None


def parse_state(text: str) -> State:
    """IDLE+CLOUD+POWERED_DOWN, IDLE~, MIXED+NOT_RESPONDING+POWERING_UP.

    Traps: a node that sleeps or wakes does not respond, and is not down. One that is to be powered down or to reboot
    while jobs run on it is given to more jobs until the last has ended.
    """
    words = frozenset(_words(text))
    if words & _DRAINED:
        return State("drained", "")
    if words & _DOWN or ("REBOOT_REQUESTED" in words and not words & _BUSY):
        return State("down", "")
    if "POWERING_DOWN" in words or ("POWER_DOWN" in words and not words & _BUSY):
        return State("", "falling")
    if words & {"POWERING_UP", "POWER_UP"}:
        return State("", "waking")
    if "POWERED_DOWN" in words:
        return State("", "asleep")
    return State("down" if words & _SILENT else "", "")


def _words(text: str) -> Iterator[str]:
    for part in text.upper().split("+"):
        found = re.fullmatch(r"([A-Z_]*)([*~#!%$@^-]*)", part)
        if found is None:
            yield "UNKNOWN"
            continue
        yield found[1]
        yield from (_MARKS[mark] for mark in found[2])


def parse_timeouts(partitions: Iterable[Partition], config: Mapping[str, str]) -> tuple[Timeouts, dict[str, Timeouts]]:
    """slurm.conf's own, and those of each queue that has its own."""
    whole = Timeouts(_seconds(config.get("ResumeTimeout")), _seconds(config.get("SuspendTimeout")))
    return whole, {one.name: Timeouts(_own(one.resume_timeout), _own(one.suspend_timeout)) for one in partitions}


def _own(text: str) -> int | None:
    return _NONE if text == "GLOBAL" else _seconds(text)


#: Seconds of a queue that has no timeout of its own.
_NONE: Final = -1


def timeouts_of(queues: frozenset[str], whole: Timeouts, own: Mapping[str, Timeouts]) -> Timeouts:
    """A node's: the longest that one of its queues has, slurm.conf's where none has any."""
    mine = [own[name] for name in queues if name in own]
    return Timeouts(
        _longest([one.resume for one in mine], whole.resume), _longest([one.suspend for one in mine], whole.suspend)
    )


def _longest(own: list[int | None], whole: int | None) -> int | None:
    if None in own:
        return None
    given = [one for one in own if one is not None and one != _NONE]
    return max(given) if given else whole


def _seconds(text: str | None) -> int | None:
    """60 sec, 60 -> 60; INFINITE, and what is not a number -> None."""
    return number((text or "").partition(" ")[0])
