"""The rows of needs as soft_limits.lua has them: a few long texts, in one of which soft.lua looks for a job.

A uid divided by the number of texts leaves the place of its text, and in there the quotient stands for the uid. A
text has several users, `..QUOTIENT-`, each with names, `.NAME`, each with queues, `_-QUEUE-600-1800-3600`, and two dots
at its end. In names each byte that is not a letter or digit is _ and two hexadecimal digits, so nothing a user types
begins a user, a name or a queue. As thousands of small tables or texts the same takes slurmctld three times as long to
load, and Lua's garbage collector more than a decision may.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

#: Queues of one text, on average.
_QUEUES: Final = 16
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9]")


def texts(users: Mapping[int, Mapping[str, Mapping[str, str]]]) -> list[str]:
    """The texts of `users[uid][name][queue]`, a row each."""
    count = -(-sum(len(rows) for names in users.values() for rows in names.values()) // _QUEUES)
    made: list[list[str]] = [[] for _ in range(count)]
    for uid, names in users.items():
        made[uid % count].append(f"..{uid // count}-" + "".join(_row(name, rows) for name, rows in names.items()))
    return ["".join(rows) + ".." for rows in made]


def _row(name: str, queues: Mapping[str, str]) -> str:
    return f".{plain(name)}" + "".join(f"_-{plain(queue)}-{row}" for queue, row in queues.items())


def plain(name: str) -> str:
    """A name in letters and digits of ASCII."""
    raw = name.encode("utf-8", "surrogateescape")
    return _UNSAFE.sub(lambda match: b"_%02x" % match[0][0], raw).decode("ascii")
