"""What happened to nodes, as slurmdbd has it: from when to when each was down or drained, why, and who did it.

Trap: sacctmgr escapes nothing and has no delimiter of one's own choice, and a reason may hold bars and newlines. So a
record is known by its times, behind each of which stands the seal (seal.py), and the reason comes last.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Final

from adminkit.slurm.keyvalue import number
from adminkit.slurm.process import ask
from adminkit.slurm.seal import SEALED_WIDTH, Marks, draw

_FIELDS: Final = (
    "Cluster", "NodeName", f"Start%{SEALED_WIDTH}", f"End%{SEALED_WIDTH}", "State", "User", "Reason",
)  # fmt: skip
_USER: Final = re.compile(r"(.*)\((\d+)\)")


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """One state of a node that could not be used. Times are epoch seconds; None for `end_time` while it lasts."""

    node: str
    start_time: int
    end_time: int | None
    state: str  # in Slurm's words: DOWN, DRAIN, DOWN*
    reason: str | None
    user: str | None  # who set it; SlurmUser for slurmctld itself
    uid: int | None


def node_events(cluster: str, since: int) -> list[NodeEvent]:
    """The events of a cluster's nodes that had not ended before `since` (epoch seconds)."""
    marks = draw()
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since))  # under TZ=UTC
    words = ["sacctmgr", "-n", "-P", "show", "event", "Event=Node", f"cluster={cluster}", f"start={start}"]
    return parse_events(ask([*words, f"format={','.join(_FIELDS)}"], seal=marks.seal), cluster, marks)


def parse_events(text: str, cluster: str, marks: Marks) -> list[NodeEvent]:
    """What stands between one sealed time and the next record's first cell is the reason, whatever it holds."""
    seal = re.escape(marks.seal)
    head = rf"^{re.escape(cluster)}\|([^|\n]+)\|(\d+){seal}\|(?:(\d+){seal}|\w*)\|([^|\n]*)\|([^|\n]*)\|"
    heads = list(re.finditer(head, text, re.MULTILINE | re.ASCII))
    ends = [*(head.start() for head in heads), len(text)][1:]
    return [_event(head, text[head.end() : end].removesuffix("\n")) for head, end in zip(heads, ends, strict=True)]


def _event(head: re.Match[str], reason: str) -> NodeEvent:
    node, start, end, state, who = head.groups()
    user = _USER.fullmatch(who)
    return NodeEvent(
        node,
        int(start),
        None if end is None else int(end),
        state,
        reason or None,
        (user[1] if user else who) or None,
        number(user[2]) if user else None,
    )
