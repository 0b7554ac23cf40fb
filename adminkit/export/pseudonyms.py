"""Names replaced by keyed hashes (HMAC-SHA-256, RFC 2104): the same key gives the same pseudonym, without it nobody can
compute one or try names out. docs/export.md says what can still be told from such an export.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.files import read_plain
from adminkit.programs import CONTAINERS, FRAMEWORKS
from adminkit.slurm.hostlist import hosts
from adminkit.trace.exchange import TABLES

#: Bytes of a key, and hexadecimal digits of a pseudonym: 64 bits, so that ten million names stay different.
KEY_BYTES: Final = 32
DIGITS: Final = 16
#: Column -> what a pseudonym of it begins with; columns with the same letter share their names.
_PREFIX: Final = {
    "user": "u", "group": "g", "account": "a", "job_name": "j", "step_name": "s", "program": "p", "framework": "f",
    "container": "c", "node": "n",
}  # fmt: skip
#: Free text, and numbers that point into slurmdbd: left out.
_GONE: Final = ("admin_comment", "db_index")
#: Words that are no names: what adminkit makes of a command line, Slurm's own steps.
_WORDS: Final = {
    "framework": frozenset(FRAMEWORKS.values()),
    "container": frozenset(CONTAINERS.values()),
    "step_name": frozenset({"batch", "extern", "interactive"}),
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


def read_key(path: Path | None) -> bytes:
    """The key in that file, which is made with mode 0600 where it is missing; without a file one that is kept nowhere.

    AdminkitError for a file that others may read, or that is no key.
    """
    if path is None:
        return secrets.token_bytes(KEY_BYTES)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _old_key(path)
    except OSError as error:
        raise AdminkitError(
            f"no key can be made at {path}: {(error.strerror or '').lower()}", "name another file with --key"
        ) from error
    key = secrets.token_bytes(KEY_BYTES)
    with os.fdopen(handle, "w") as file:
        file.write(key.hex() + "\n")
        file.flush()
        os.fsync(handle)
    return key


def _old_key(path: Path) -> bytes:
    try:
        facts = path.stat()
        text = read_plain(path, 4096).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AdminkitError(f"{path} cannot be read as a key", "name another file with --key") from error
    if facts.st_mode & 0o077:
        raise AdminkitError(f"others may read the key {path}", f"chmod 600 {path}; if they did, take a new key")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise AdminkitError(
            f"{path} is no key: {2 * KEY_BYTES} hexadecimal digits", "name a file that is not there, to get a new key"
        )
    return key
