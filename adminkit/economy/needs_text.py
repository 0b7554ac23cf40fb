"""The rows of needs as soft_limits.lua has them: a few long texts, in one of which soft.lua looks for a job.

A text has rows of several users, `.UID-NAME-QUEUE-600-1800-3600`, and one dot at its end. In names each byte that is no
letter or digit is _ and two hexadecimal digits, so nothing that a user types begins a row. As thousands of small tables
or texts the same takes slurmctld three times as long to load, and Lua's garbage collector more than a decision may.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

#: Rows of one text, on average.
_ROWS: Final = 16
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9]")


def texts(users: Mapping[int, Mapping[str, Mapping[str, str]]]) -> list[str]:
    """The texts of `users[uid][name][queue]`, a row each."""
    count = -(-sum(len(rows) for names in users.values() for rows in names.values()) // _ROWS)
    found: list[list[str]] = [[] for _ in range(count)]
    for uid, names in users.items():
        for name, rows in names.items():
            inside = plain(name)
            found[(uid + _sum(inside)) % count] += [
                f".{uid}-{inside}-{plain(queue)}-{row}" for queue, row in rows.items()
            ]
    return ["".join(rows) + "." for rows in found]


def plain(name: str) -> str:
    """A name in letters and digits of ASCII."""
    raw = name.encode("utf-8", "surrogateescape")
    return _UNSAFE.sub(lambda match: b"_%02x" % match[0][0], raw).decode("ascii")


def _sum(name: str) -> int:
    """A sum over a plain name, as soft.lua makes it."""
    total = len(name)
    for at in range(0, min(len(name), 64), 4):
        a, b, c, d = (name[at : at + 4].encode() + b"\0\0\0")[:4]
        total = (total * 31 + a + b * 37 + c * 1009 + d * 7919) % 1_048_573
    return total
