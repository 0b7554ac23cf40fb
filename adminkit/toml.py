"""TOML that somebody else may have written: parsed only once it is known to be small and flat.

Trap: tomllib takes quadratic time for a key of many parts, recurses into brackets, and int() refuses long numbers.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.files import read_named

#: Bytes of a file.
MOST_BYTES: Final = 4 << 20
#: Parts of a key between dots, and brackets within brackets.
MOST_PARTS: Final = 16
DEEPEST: Final = 32
#: Characters of a word that is not in quotes.
MOST_WORD: Final = 1024

#: Strings and comments. One that is not closed ends with the text; no part is read twice, so that it takes linear time.
_TEXTS: Final = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
_LONG: Final = re.compile(rf"(?<![\w-])[\w-]{{{MOST_WORD + 1}}}")
_PARTS: Final = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{MOST_PARTS}}}")
_BRACKET: Final = re.compile(r"[\[\]{}]")
_HINT: Final = 'text goes in quotes, lists in brackets: key = ["a", "b"]'


class NoToml(AdminkitError):
    """A text that is not TOML, or too large for a file of adminkit's. The place of its file is not in the message."""


def read_toml(path: Path, hint: str, most: int = MOST_BYTES) -> dict[str, Any]:
    """The table in a TOML file. AdminkitError names the file and the line; `hint` is for a file that cannot be read."""
    return table_of(read_named(path, most, hint), str(path))


def table_of(data: bytes, name: str) -> dict[str, Any]:
    """The table in the content of a file of this name. AdminkitError names the file and the line."""
    try:
        return parse_toml(data.decode("utf-8"))
    except (NoToml, UnicodeDecodeError) as error:
        raise AdminkitError(f"{name} is not TOML: {error}", _HINT) from error


def parse_toml(text: str) -> dict[str, Any]:
    """The table in a text. NoToml says what is wrong, and in which line where that is known."""
    if excess := _excess(text):
        raise NoToml(excess, _HINT)
    try:
        return tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and int() for a number that is too long
        why = str(error).replace("at end of document", f"at line {len(text.splitlines())}, where the file ends")
        raise NoToml(why, _HINT) from error


def _excess(text: str) -> str:
    """Say what the text has more of than a file of adminkit's may; "" where it has no excess."""
    bare = _TEXTS.sub("s", text)
    if found := _LONG.search(bare):
        return f"a word has more than {MOST_WORD} characters: {found[0][:20]}…"
    if found := _PARTS.search(bare):
        return f"a key has more than {MOST_PARTS} parts: {found[0][:20]}…"
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        if depth > DEEPEST:
            return f"brackets are nested more than {DEEPEST} deep"
    return ""
