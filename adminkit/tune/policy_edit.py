"""Single lines of a TOML text that people wrote: one key of one [section] is set, and all comments stay.

The caller loads the result and compares it with what was meant: a text that is written in another way (inline tables,
dotted keys, values of several lines) is not understood here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_HEADER: Final = re.compile(r"^\s*\[")
#: A key's line: what is before the value, the value, and the comment behind it. The value is on this line.
_LINE: Final = re.compile(
    r"""^(\s*%s\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*'|\{[^{}#\n]*\}|\[[^\[\]#\n]*\]|[^#\s][^#\n]*?)(\s*(?:\#.*)?)$"""
)


def edited(text: str, section: str, key: str, value: Any) -> str:
    """The text with `key` of [section] set to `value`: its line is changed, or a line or the section is added."""
    lines = text.split("\n")
    header = re.compile(rf"^\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?$")
    start = next((at for at, line in enumerate(lines) if header.match(line)), None)
    new = f"{key} = {literal(value)}"
    if start is None:
        before = text if text.endswith("\n") or not text else f"{text}\n"
        return f"{before}\n[{section}]\n{new}\n"
    end = next((at for at in range(start + 1, len(lines)) if _HEADER.match(lines[at])), len(lines))
    of_key = re.compile(_LINE.pattern % re.escape(key))
    last = start
    for at in range(start + 1, end):
        if found := of_key.match(lines[at]):
            lines[at] = f"{found[1]}{literal(value)}{found[3]}"
            return "\n".join(lines)
        if lines[at].strip() and not lines[at].lstrip().startswith("#"):
            last = at
    lines.insert(last + 1, new)
    return "\n".join(lines)


def meant(table: Mapping[str, Any], sections: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What TOML should make of the text when all keys are set."""
    return {**table, **{name: {**table.get(name, {}), **keys} for name, keys in sections.items()}}


def literal(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {literal(one)}" for key, one in value.items()) + " }" if value else "{}"
    return json.dumps(value, ensure_ascii=False)
