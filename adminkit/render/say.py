"""A line for people, on stdout or stderr: whatever it quotes, it steers no terminal. Rows go through text.py."""

from __future__ import annotations

import sys

from adminkit.quote import clean

_quiet = False


def hush(quiet: bool) -> None:
    """Whether only rows and errors are wanted, from now on."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    return _quiet


def say(text: str) -> None:
    """Talk: a note, what was written, how far it is. To stderr, at once, unless only rows are wanted."""
    if not _quiet:
        complain(text)


def complain(text: str) -> None:
    """An error and its hint. To stderr, at once."""
    print(_harmless(text, sys.stderr.encoding), file=sys.stderr, flush=True)


def put(text: str, end: str = "\n") -> None:
    """Print an answer that is not a report to stdout."""
    print(_harmless(text, sys.stdout.encoding), end=end, flush=True)


def _harmless(text: str, encoding: str | None) -> str:
    """Each line clean. Trap: where the terminal is not UTF-8, a name must not end the command."""
    known = encoding or "utf-8"
    return "\n".join(map(clean, text.split("\n"))).encode(known, "backslashreplace").decode(known)
