"""Names replaced by keyed hashes (HMAC-SHA-256, RFC 2104): the same key gives the same pseudonym, without it nobody can
compute one or try names out. docs/export.md says what can still be told from such an export.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Final

from adminkit.programs import CONTAINERS, FRAMEWORKS
from adminkit.slurm.hostlist import hosts
from adminkit.trace.exchange import TABLES
from adminkit.trace.forgotten import OWN_STEPS

#: Hexadecimal digits of a pseudonym: 64 bits, so that ten million names stay different.
DIGITS: Final = 16
#: Column -> what a pseudonym of it begins with; columns with the same letter share their names.
_PREFIX: Final = {
    "user": "u", "group": "g", "account": "a", "job_name": "j", "step_name": "s", "program": "p", "framework": "f",
    "container": "c", "node": "n",
}  # fmt: skip
#: Free text, and numbers that point into slurmdbd: left out.
_GONE: Final = ("admin_comment", "db_index")
#: Words that are not names: what adminkit makes of a command line, Slurm's own steps.
_WORDS: Final = {
    "framework": frozenset(FRAMEWORKS.values()),
    "container": frozenset(CONTAINERS.values()),
    "step_name": frozenset(OWN_STEPS),
}
Change = Callable[[object], object]


class Pseudonyms:
    """What each value of an export becomes under one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[tuple[str, str], str] = {}

    def name(self, column: str, text: str) -> str:
        """The pseudonym of a name in that column."""
        prefix = _PREFIX[column]
        known = self._known.get((prefix, text))
        if known is None:
            known = prefix + self._digest(prefix, text).hex()[:DIGITS]
            self._known[prefix, text] = known
        return known

    def row(self, table: str) -> Callable[[Sequence[object]], tuple[object, ...]]:
        """A function from a row of that table to the row without names."""
        changes = [self._change(table, column) for column in TABLES[table].columns]
        return lambda row: tuple(
            value if change is None or value is None else change(value)
            for change, value in zip(changes, row, strict=True)
        )

    def _change(self, table: str, column: str) -> Change | None:
        if column in _GONE or (table == "node_event" and column in ("reason", "user", "uid")):
            return lambda value: None
        if column in ("uid", "cancelled_by"):
            return self._uid
        if column == "node_list":
            return lambda value: ",".join(self.name("node", host) for host in hosts(str(value))) or None
        if column in _PREFIX:
            words = _WORDS.get(column, frozenset())
            return lambda value: value if value in words else self.name(column, str(value))
        return None

    def _uid(self, value: object) -> int:
        """A number above every real uid's; root stays 0, so that it can be told who cancelled a job."""
        return 0 if value == 0 else 1 << 32 | int.from_bytes(self._digest("uid", str(value))[:4], "big")

    def _digest(self, kind: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{kind}\0{text}".encode("utf-8", "surrogatepass"), hashlib.sha256)
