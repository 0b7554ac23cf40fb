"""The words by which the plugin adminkit_gpu_use says how busy a run's GPUs are (docs/comment-words.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adminkit.trace.plugin_words import GPU_USE

_NUMBER: Final = "([0-9]{1,15})"  # a longer number is nothing that was measured
_WORD: Final = re.compile(
    rf"(?:(?<= )|\A){GPU_USE.prefix}:at={_NUMBER},to={_NUMBER},node={_NUMBER},gpus={_NUMBER},s={_NUMBER},busy={_NUMBER}"
    rf",used={_NUMBER}(?:,last={_NUMBER})?(?:,mem={_NUMBER},of={_NUMBER})?(?= |\Z)"
)
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUse:
    """What was measured on one node. Times are epoch seconds, sums GPU-seconds, memory bytes over its GPUs."""

    at: int
    to: int
    node: int  # its place in the job's list of nodes
    gpus: int  # that were measured
    seconds: int
    busy: int
    used: int  # GPUs in use during the last ten minutes before `to`
    last: int | None  # when one was seen in use last; None: never
    memory: int | None  # the most of each GPU, added up
    memory_there: int | None


def gpu_use_of(comment: str | None, start: int | None) -> list[NodeUse]:
    """What a run's AdminComment, which its owner cannot write, says of each node: the first word of each.

    `start`, epoch seconds, is the run's: words of an earlier run stay in the job. Empty: nothing was measured.
    """
    if start is None or comment is None or GPU_USE.prefix not in comment:
        return []
    found: dict[int, NodeUse] = {}
    for word in _WORD.finditer(comment):
        at, to, node, gpus, seconds, busy, used, last, memory, there = (
            None if one is None else int(one) for one in word.groups()
        )
        assert at is not None and to is not None and node is not None and gpus is not None
        assert seconds is not None and busy is not None and used is not None
        if not start <= at <= to or not seconds or busy > seconds or used > gpus:
            continue
        found.setdefault(
            node,
            NodeUse(
                at=at,
                to=to,
                node=node,
                gpus=gpus,
                seconds=seconds,
                busy=busy,
                used=used,
                last=last,
                memory=_bytes(memory),
                memory_there=_bytes(there),
            ),
        )
    return list(found.values())


def _bytes(mib: int | None) -> int | None:
    return None if mib is None else mib * _MIB
