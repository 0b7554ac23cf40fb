"""The last lines of a job's log, read as its owner: the file lies in a folder where they may put anything.

Programs that have become the user look at it and read it: no link is followed, no pipe is waited for, and what comes
back is bounded. They are coreutils', which every user may run; the hub's own Python may lie where users cannot read it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.jupyter.programs import run
from adminkit.quote import clean

#: Bytes that are read, lines and characters of a line that are shown.
BYTES: Final = 8192
LINES: Final = 12
WIDTH: Final = 300
#: A request in the log of a Jupyter server: [I … ServerApp] 200 GET /user/ada/api (ada@10.0.0.1) 1.2ms
_REQUEST: Final = re.compile(
    r"^\[\w [^]]*] (?:\d{3} )?(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \S*/|\bHTTP/1\.[01]\b"
)


async def last_lines(path: str, before: Sequence[str], *, timeout: float = 2.0) -> list[str]:
    """The last lines of the file, without control characters; none where it cannot be read in time.

    `before` are the words that change to the user.
    """
    try:
        about = await run(["stat", "--printf=%s %F", "--", path], before=before, timeout=timeout)
        found = re.fullmatch(r"(\d+) regular file", about.said) if about.code == 0 else None
        if found is None:
            return []
        skipped = max(0, int(found[1]) - BYTES)
        # Trap: it may have become a link or a pipe since.
        flags = "nofollow,nonblock,skip_bytes,count_bytes,fullblock"
        words = ["dd", f"if={path}", f"iflag={flags}", f"skip={skipped}", f"count={BYTES}", "status=none"]
        answer = await run(words, before=before, timeout=timeout)
    except AdminkitError:
        return []
    return tail(answer.said) if answer.code == 0 else []


def tail(text: str) -> list[str]:
    """The last lines that say something, each cut and cleaned. What browsers asked a server for says nothing."""
    lines = [clean(line.rstrip())[:WIDTH] for line in text.replace("\r", "\n").split("\n")]
    return [line for line in lines if line and not _REQUEST.search(line)][-LINES:]
