"""The slow, obvious reader of command lines, from docs/ingest-spec.md; of the C only the lists of options are taken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_SOURCE: Final = (Path(__file__).parents[2] / "adminkit/native/common/submitted.c").read_text()


def _list(name: str) -> frozenset[bytes]:
    (body,) = re.findall(rf"{name}\[\] = \{{(.*?)\}};", _SOURCE, re.DOTALL)
    return frozenset(word.encode() for word in re.findall(r'"([\w-]+)"', body))


#: Options without a value, with one; tool -> (short ones without, short ones with one right behind only, --wait alone).
FLAGS, VALUES = _list("flags"), _list("values")
TOOLS: Final = {
    name.encode(): (alone.encode(), maybe.encode(), waits == "true")
    for name, alone, maybe, waits in re.findall(r'\{"(\w+)", "(\w*)", "(\w*)", (true|false)\}', _SOURCE)
}
#: word -> (framework or container, name)
Known = Mapping[bytes, tuple[str, bytes]]


def submitted(text: bytes, known: Known) -> list[int | bytes | None]:
    """[by, ckpt, program, framework, container]"""
    words = [word for word in re.split(rb"[ \t\n\r\f\v]+", text) if word][:256]
    by = words[0].rpartition(b"/")[2] if words else b""
    if by not in TOOLS:
        return [None] * 5
    alone, maybe, waits = TOOLS[by]
    ckpt, program, lost, doubtful = 0, None, False, False
    looked: list[bytes] = []  # words that may be a program with a name
    rest = words[1:]

    def asks(option: bytes) -> bool:
        return option.startswith(b"ckpt-") and option != b"ckpt-off"

    while rest:
        word = rest.pop(0)
        was_doubtful, doubtful = doubtful, False
        if lost:
            looked.append(word)
            ckpt |= word.startswith(b"--") and asks(word[2:])
        elif word in (b"--", b"--wrap"):
            if rest:
                program = rest.pop(0)
            break
        elif word.startswith(b"--wrap="):
            if word != b"--wrap=":
                program = word[7:]
            break
        elif word.startswith(b"--"):
            looked.append(word)
            name, equals, value = word[2:].partition(b"=")
            ckpt |= asks(name)
            needs = (name in VALUES or name == b"wait") and not (name in FLAGS or (name == b"wait" and waits))
            if not equals and needs:
                value = rest.pop(0) if rest else b""
            elif not equals and name not in FLAGS and name != b"wait":
                lost = True
            if name == b"export" and value:
                ckpt |= b"ADMINKIT_CKPT=" in value
                doubtful = b"=" in value
        elif len(word) > 1 and word.startswith(b"-"):
            letters = word[1:].lstrip(alone)
            if len(letters) == 1 and letters not in maybe and rest:
                rest.pop(0)
        elif was_doubtful:
            lost = True
        elif word != b":":
            program = word
            break
    if program is not None:
        looked += [program, *rest]
    found: dict[str, bytes] = {}
    for word in looked:
        key = word.partition(b"=")[0] if word.startswith(b"-") else word.rpartition(b"/")[2]
        if key in known:
            found.setdefault(*known[key])
    return [by, int(ckpt), _name(program), found.get("f"), found.get("c")]


def _name(word: bytes | None) -> bytes | None:
    """The last part of its path, 64 bytes of whole characters."""
    if word is None or b"=" in word:
        return None
    name = word.rpartition(b"/")[2]
    if len(name) > 64:
        cut = 64
        while cut and name[cut] & 0xC0 == 0x80:
            cut -= 1
        name = name[:cut]
    return None if re.search(rb"[\x00-\x1f\x7f]", name) else name or None
