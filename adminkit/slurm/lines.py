"""In which line of a TOML or JSON text a key stands: for errors, since the parsers of Python do not say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

#: A place in a file: keys, and numbers of list items, which begin with 0.
Place = tuple[str | int, ...]


def line_of(place: Place, text: str, json_form: bool) -> int | None:
    """The line of a place, or of the nearest one around it; None for the file as a whole."""
    lines = dict(_json_lines(text)) if json_form else dict(_toml_lines(text))
    while place:
        if place in lines:
            return lines[place]
        place = place[:-1]
    return None


_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]|[^\s{}\[\],:"]+')


def _json_lines(text: str) -> Iterator[tuple[Place, int]]:
    """Where each key and each list item of a JSON text begins. The text is known to be JSON."""
    place: list[str | int] = []  # of a list its next item's number, of an object the key that was read last
    line, key = 1, None
    for token in _JSON_TOKEN.findall(text):
        if token == "\n":
            line += 1
        elif token == ":":
            place[-1] = str(key)
            yield tuple(place), line
        elif token == ",":
            if isinstance(place[-1], int):
                place[-1] += 1
        elif token in "]}":
            place.pop()
        else:
            if place and isinstance(place[-1], int):
                yield tuple(place), line
            if token in "[{":
                place.append(0 if token == "[" else "")
            elif token.startswith('"'):
                key = json.loads(token)


_TOML_HEADER: Final = re.compile(r"^\s*\[\[\s*(\w+)\s*\]\]")
_TOML_TABLE: Final = re.compile(r"^\s*\[\s*([\w-]+)\s*\]")
_TOML_KEY: Final = re.compile(r"""^\s*(?:"([^"]+)"|'([^']+)'|([\w-]+))\s*=""")


def _toml_lines(text: str) -> Iterator[tuple[Place, int]]:
    """Where each [table], each [[table]] and each of its keys begins. An inline table has the line of its key."""
    seen: dict[str, int] = {}
    inside: Place = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _TOML_HEADER.match(line):
            name = header.group(1)
            seen[name] = seen.get(name, -1) + 1
            inside = (name, seen[name])
            yield inside, number
        elif table := _TOML_TABLE.match(line):
            inside = (table.group(1),)
            yield inside, number
        elif key := _TOML_KEY.match(line):
            yield (*inside, next(filter(None, key.groups()))), number
