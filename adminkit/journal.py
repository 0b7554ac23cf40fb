"""One line on stderr, which is the journal of a unit, for each thing that was refused; the run goes on.

A user can make as many bad things as they like, so each kind has MOST lines in a run; `close` counts the rest.
"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from typing import Final

from adminkit.quote import quote

#: Lines of one kind in one run.
MOST: Final = 10
#: Characters of a place, which may be a path, and of a reason.
_PLACE: Final = 200

_seen: Counter[str] = Counter()


def refused(kind: str, what: object, whose: int | str | None, why: str) -> None:
    """Say that `what` of `whose` (a uid, a name, None for unknown) was refused and `why`.

    `kind` is a fixed plural of ours (records, tables, links, choices); everything else may be hostile.
    """
    _seen[kind] += 1
    if _seen[kind] <= MOST:
        owner = "nobody known" if whose is None else f"uid {whose}" if isinstance(whose, int) else quote(whose)
        _say(f"refused {kind}: {quote(str(what), _PLACE)} of {owner}: {quote(why, _PLACE)}")


def close() -> None:
    """The run ends: say how many were not named, kind by kind."""
    for kind, number in sorted(_seen.items()):
        if number > MOST:
            _say(f"refused {kind}: and {number - MOST:,} more like these")
    _seen.clear()


def _say(line: str) -> None:
    """Nobody who listens is no reason to stop."""
    with suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
