"""The words of AdminComment by which an elastic job is known, ordered and put back (docs/comment-words.md).

All that is remembered of a change stands in the job itself, so a run that was cut off is carried on by the next one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adminkit.trace.comment_words import ORDER, RECORD
from adminkit.trace.plugin_words import NOTE
from adminkit.trace.word_parts import COMMENT_MAX

#: Seconds behind `until` after which no node acts by the order any more, whatever its clock and its network do.
MARGIN: Final = 300
#: GPUs of one node that a job may opt in to; as in ckpt.lua and resize.h.
MOST: Final = 1024

#: Keys that stand before `el` are read over, those of a later release too; the rules end a record.
_RECORD: Final = re.compile(
    rf"{RECORD.prefix}:lim=\w+,src=[ed](?:,(?!el=|rules=)[a-z]+=[A-Za-z0-9_.+-]+)*"
    r",el=(\d{1,4})-(\d{1,4})(?=[, ]|\Z)"
)
_ORDER: Final = re.compile(rf"(?:(?<= )|\A){ORDER.prefix}:gpus=(\d{{1,4}}),until=(\d{{1,12}})(?= |\Z)")
_NOTE: Final = re.compile(
    rf"(?:(?<= )|\A){NOTE.prefix}:at=(\d{{1,19}}),heard=\d{{1,10}},rq=\d{{1,10}}(?:,end=(\w+))?(?= |\Z)"
)
#: What the plugin notes of a run that it puts back.
_PUT_BACK: Final = ("more", "limit")


@dataclass(frozen=True, slots=True)
class Order:
    """`until`: epoch seconds, when it becomes void."""

    gpus: int
    until: int

    def __str__(self) -> str:
        return f"{ORDER.prefix}:gpus={self.gpus},until={self.until}"


def range_of(comment: str) -> tuple[int, int] | None:
    """The GPUs that the job opted in to, by the policy's record, which its user cannot write; None where it did not."""
    found = _RECORD.match(comment)
    if found is None:
        return None
    least, most = int(found[1]), int(found[2])
    return (least, most) if 1 <= least <= most <= MOST else None


def order_of(comment: str) -> Order | None:
    """The order that the job has."""
    found = _ORDER.search(comment)
    return None if found is None else Order(int(found[1]), int(found[2]))


def was_put_back(comment: str, since: int) -> bool:
    """Whether the checkpoint plugin put the job back after a signal of `since` or later, epoch seconds."""
    found = _NOTE.search(comment)
    return found is not None and found[2] in _PUT_BACK and int(found[1]) >= since


def with_order(comment: str, order: Order | None) -> str | None:
    """The comment with this order in the place of its own, None for none; all other words stay to the byte.

    None: there is no room for it.
    """
    found = _ORDER.search(comment)
    if order is None:
        if found is None:
            return comment
        before, after = comment[: found.start()], comment[found.end() :]
        return before.removesuffix(" ") if not after else before + after.removeprefix(" ")
    if found is not None:
        text = f"{comment[: found.start()]}{order}{comment[found.end() :]}"
    else:
        text = f"{comment} {order}" if comment else str(order)
    return text if len(text.encode("utf-8", "replace")) <= COMMENT_MAX else None
