"""One line on stderr (the journal, in a systemd unit) for each thing that was refused; the run continues.

A user can make any number of bad things, so each kind has MOST lines in a run; `close` counts the rest.
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

    `kind` is a fixed plural (records, tables, links, choices); all other arguments may be hostile.
    """
    _seen[kind] += 1
    if _seen[kind] <= MOST:
        owner = "nobody known" if whose is None else f"uid {whose}" if isinstance(whose, int) else quote(whose)
        _say(f"refused {kind}: {quote(str(what), _PLACE)} of {owner}: {quote(why, _PLACE)}")


def close() -> None:
    """Print, for each kind, how many things had no line of their own."""
    for kind, number in sorted(_seen.items()):
        if number > MOST:
            _say(f"refused {kind}: and {number - MOST:,} more like these")
    _seen.clear()


def _say(line: str) -> None:
    """Print it; a closed stderr is ignored."""
    with suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
