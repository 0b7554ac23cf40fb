"""Python values as the text of a Lua table. The one place where anything becomes Lua."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

#: The most bytes of one file that Slurm's Lua loads, program or table; data.lua says so too.
MOST_BYTES: Final = 16 * 1024 * 1024

_SAFE: Final = re.compile(rb"[A-Za-z0-9_.-]")
_INDENT: Final = "  "


def quoted(text: str | bytes) -> str:
    r"""A Lua string literal of these bytes (UTF-8 for str). Every byte outside [A-Za-z0-9_.-] is written \ddd.

    So no text can end the literal, begin an escape, or look like code, in Lua 5.1 and 5.4 alike.
    """
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return '"' + "".join(chr(b) if _SAFE.match(bytes((b,))) else f"\\{b:03d}" for b in raw) + '"'


def literal(value: Any, depth: int = 0) -> str:
    """One value as Lua: bool, int, float, str, and mappings, sequences and sets of them. A set is {[x] = true}.

    None inside a mapping is left out, as Lua knows no other way. TypeError for anything else, ValueError for a
    number Lua has no literal for.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"no Lua literal for {value}")
        return repr(value)
    if isinstance(value, (str, bytes)):
        return quoted(value)
    if isinstance(value, Mapping):
        return _braced((f"[{_key(k)}] = {literal(v, depth + 1)}" for k, v in value.items() if v is not None), depth)
    if isinstance(value, (set, frozenset)):
        return literal(dict.fromkeys(sorted(value), True), depth)
    if isinstance(value, Sequence):
        return _braced((literal(item, depth + 1) for item in value), depth)
    raise TypeError(f"{type(value).__name__} cannot be written as Lua")


def module(value: Mapping[str, Any], comment: str) -> str:
    """A file that returns this table. `comment` is one line of our own words."""
    return f"-- {' '.join(comment.split())}\nreturn {literal(value)}\n"


def _key(key: Any) -> str:
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise TypeError(f"{type(key).__name__} is not a key of a Lua table")
    return literal(key)


def _braced(items: Iterable[str] | Iterator[str], depth: int) -> str:
    inner = list(items)
    if not inner:
        return "{}"
    if depth >= 2:
        return "{ " + ", ".join(inner) + " }"
    pad = _INDENT * (depth + 1)
    return "{\n" + "".join(f"{pad}{item},\n" for item in inner) + _INDENT * depth + "}"
