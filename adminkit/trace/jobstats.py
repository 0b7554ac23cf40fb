"""What Jobstats, which some sites run, says of the GPUs of a run in its AdminComment."""

from __future__ import annotations

import binascii
import json
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

#: How Jobstats begins its part of AdminComment.
_JOBSTATS: Final = "JS1:"
#: Bytes of a summary, unpacked: what comes from outside is not let grow without end.
_MOST: Final = 1 << 20
#: Bytes of one GPU's memory: a larger number is not believed.
_MOST_MEMORY: Final = 1 << 50


def jobstats_gpu(admin_comment: str | None) -> float | None:
    """The mean use of all GPUs in the summary that Jobstats left; None where there is none that can be read."""
    shares = [one / 100 for one in _values(_summary(admin_comment), "gpu_utilization")]
    if not shares or not all(0 <= one <= 1 for one in shares):
        return None
    return sum(shares) / len(shares)


def jobstats_gpu_memory(admin_comment: str | None) -> tuple[float, float] | None:
    """The memory of all GPUs in the same summary, used and there, bytes; None where it does not say."""
    nodes = _summary(admin_comment)
    used, there = _values(nodes, "gpu_used_memory"), _values(nodes, "gpu_total_memory")
    if not there or len(used) != len(there):
        return None
    if not all(0 <= one <= most < _MOST_MEMORY for one, most in zip(used, there, strict=True)):
        return None
    return (sum(used), sum(there)) if sum(there) else None


@lru_cache(1)  # a comment is read as often as it is asked for something
def _summary(admin_comment: str | None) -> list[dict[str, Any]]:
    """What Jobstats says of each node. Whatever cannot be read is nothing: anybody may have written it."""
    place = (admin_comment or "").find(_JOBSTATS)
    if place < 0:
        return []
    word = (admin_comment or "")[place + len(_JOBSTATS) :].split(" ", 1)[0]
    try:
        packed = binascii.a2b_base64(word, strict_mode=True)
        inflate = zlib.decompressobj(wbits=31)
        text = inflate.decompress(packed, _MOST)
        nodes = json.loads(text)["nodes"] if not inflate.unconsumed_tail else {}
        return [node for node in nodes.values() if isinstance(node, dict)]
    except (ValueError, zlib.error, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _values(nodes: Sequence[dict[str, Any]], key: str) -> list[float]:
    """The numbers under `key` of every GPU of every node, by node and GPU; none where one is not a number."""
    try:
        return [float(one) for node in nodes for _, one in sorted(node.get(key, {}).items())]
    except (ValueError, TypeError, AttributeError, OverflowError):
        return []
