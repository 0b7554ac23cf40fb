"""Names of samples: which ones a shard can have, how the index writes them, and which files are one sample."""

from __future__ import annotations

import re
from typing import Final

from adminkit.quote import clean

#: Bytes of a name in a USTAR header: behind the last / that is used as a border, and before it.
NAME: Final = 100
PREFIX: Final = 155
#: Bytes of one part of a path, as Linux has it.
PART: Final = 255
_ESCAPE: Final = re.compile(r"\\(\\|[tnr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})|\\")
_SHORT: Final = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}


def wrong(name: bytes) -> str | None:
    """Why a shard cannot have a file of this name, in words behind the name; None where it can."""
    try:
        name.decode()
    except UnicodeDecodeError:
        return "has a name that is not UTF-8"
    if b"\n" in name:
        return "has a newline in its name"
    if not fits(name):
        return f"has a name that is too long: USTAR has room for {NAME} bytes, and for {PREFIX} bytes of folders"
    return None


def fits(name: bytes) -> bool:
    """Whether USTAR has room for it: as one name, or divided at a / into folders and a name."""
    if len(name) <= NAME:
        return True
    if len(name) > PREFIX + 1 + NAME:
        return False
    border = name.find(b"/", len(name) - NAME - 1)
    return 0 < border <= PREFIX and border < len(name) - 1


def leads_out(name: str) -> bool:
    """Whether a name from an index is anything but a relative path without detours."""
    parts = name.split("/")
    return "\0" in name or any(part in ("", ".", "..") or len(part.encode()) > PART for part in parts)


def key_of(name: bytes) -> bytes:
    """The sample that a file belongs to, by webdataset's rule: its path up to the first dot of the last part.

    webdataset passes over a file without such a dot; by itself it is a sample here.
    """
    folder, slash, last = name.rpartition(b"/")
    stem, dot, _ = last.partition(b".")
    return folder + slash + stem if stem and dot else name


def ending_of(name: bytes) -> bytes:
    """The field of its sample that a file is for webdataset, which knows lower case only; empty where it has none."""
    return name[len(key_of(name)) + 1 :].lower()


def class_of(name: str) -> str:
    """The name of the folder that a file is in; empty for one that is in none."""
    return name.rpartition("/")[0].rpartition("/")[2]


def escaped(text: str) -> str:
    """`text` for one field of the index: without tabs, newlines and characters that steer a terminal."""
    if text.isprintable() and "\\" not in text:
        return text
    return "\\\\".join(clean(part) for part in text.split("\\"))


def unescaped(text: str) -> str:
    """The inverse of `escaped`. ValueError for a backslash that `escaped` does not write."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code is None:
        raise ValueError("a backslash that escapes nothing")
    if code in _SHORT:
        return _SHORT[code]
    number = int(code[1:], 16)
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise ValueError("an escape that is not a character")
    return chr(number)
