"""The words by which the plugin adminkit_io says how often a run's tasks waited for files (docs/comment-words.md)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from adminkit.trace.plugin_words import FILE_WAITS

_NUMBER: Final = "([0-9]{1,15})"  # a longer number is nothing that was counted
_WORD: Final = re.compile(
    rf"(?:(?<= )|\A){FILE_WAITS.prefix}:at={_NUMBER},to={_NUMBER},node={_NUMBER},n={_NUMBER},wait={_NUMBER}"
    rf",only={_NUMBER},full={_NUMBER}(?:,fs=([a-z0-9._-]{{1,40}}))?(?= |\Z)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWaits:
    """What was seen of a run's tasks: samples, each of one task at one moment, of all nodes with a word."""

    samples: int
    waits: int  # of these, a thread waited for files
    only: int  # of these, none ran meanwhile
    full: int  # of `samples`, as many threads as the task has CPUs ran, or would have
    system: str | None  # the file system that most nodes waited for, as TYPE or TYPE-MOUNT; None: not known


@lru_cache(1)  # a comment is read as often as it is asked for a number
def file_waits_of(comment: str | None, start: int | None) -> FileWaits | None:
    """What a run's AdminComment, which its owner cannot write, says: the first word of each node, added up.

    `start`, epoch seconds, is the run's: words of an earlier run stay in the job. None: nothing was gathered.
    """
    if start is None or comment is None or FILE_WAITS.prefix not in comment:
        return None
    nodes: dict[int, tuple[int, int, int, int]] = {}
    systems: Counter[str] = Counter()
    for word in _WORD.finditer(comment):
        at, to, node, samples, waits, only, full = map(int, word.groups()[:7])
        if not start <= at <= to or not only <= waits <= samples or full > samples or not samples or node in nodes:
            continue
        nodes[node] = samples, waits, only, full
        if word[8]:
            systems[word[8]] += waits
    if not nodes:
        return None
    samples, waits, only, full = map(sum, zip(*nodes.values(), strict=True))
    most = min(systems, key=lambda name: (-systems[name], name)) if systems else None
    return FileWaits(samples=samples, waits=waits, only=only, full=full, system=most)


def samples(comment: str | None, start: int | None) -> int | None:
    """For SQL, as the next two."""
    found = file_waits_of(comment, start)
    return None if found is None else found.samples


def only_waits(comment: str | None, start: int | None) -> int | None:
    found = file_waits_of(comment, start)
    return None if found is None else found.only


def full(comment: str | None, start: int | None) -> int | None:
    found = file_waits_of(comment, start)
    return None if found is None else found.full
