"""The words by which the plugin adminkit_data says what was copied to a run's nodes (docs/comment-words.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from adminkit.trace.plugin_words import STAGING

_NUMBER: Final = "([0-9]{1,18})"  # a longer number is nothing that was copied
_WORD: Final = re.compile(
    rf"(?:(?<= )|\A){STAGING.prefix}:at={_NUMBER},node={_NUMBER},bytes={_NUMBER},hit={_NUMBER},s={_NUMBER}"
    r",mode=(first|behind)(?= |\Z)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCopy:
    """What was copied to one node. `at`: epoch seconds when the copy began."""

    at: int
    node: int  # its place in the step's list of nodes
    read: int  # bytes that came from the shared folder
    hit: int  # bytes that were there already
    seconds: int
    mode: Literal["first", "behind"]


def copies_of(comment: str | None, start: int | None) -> list[NodeCopy]:
    """What a run's AdminComment, which its owner cannot write, says of each node: the first word of each.

    `start`, epoch seconds, is the run's: words of an earlier run stay in the job. Empty: nothing was copied.
    """
    if start is None or comment is None or STAGING.prefix not in comment:
        return []
    found: dict[int, NodeCopy] = {}
    for word in _WORD.finditer(comment):
        at, node, read, hit, seconds = map(int, word.groups()[:5])
        if at < start or not read + hit:
            continue
        mode: Literal["first", "behind"] = "first" if word[6] == "first" else "behind"
        found.setdefault(node, NodeCopy(at=at, node=node, read=read, hit=hit, seconds=seconds, mode=mode))
    return list(found.values())


def waited(comment: str | None, start: int | None) -> int | None:
    """Seconds that the run's tasks waited for their data on the slowest node; None: they did not wait for any."""
    return max((one.seconds for one in copies_of(comment, start) if one.mode == "first"), default=None)
