"""The errors a person may see: one sentence of what went wrong, one of what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from adminkit.quote import MOST, quote


class AdminkitError(Exception):
    """A failure with a cause outside adminkit. Printed as ``error: …`` and ``hint: …``, exit code 1."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def cause(error: OSError) -> str:
    """The system's message, in lower case for the middle of a sentence."""
    return (error.strerror or str(error)).lower()


class UsageError(AdminkitError):
    """A mistake in what was typed. Exit code 2."""

    exit_code = 2


class TooManyRejected(AdminkitError):
    """More rows were rejected than ``--max-rejected`` allows; the good ones are kept. Exit code 3."""

    exit_code = 3


def unknown_word(kind: str, word: str, known: Iterable[str]) -> UsageError:
    """The error for a word that is not in `known`; it names the nearest one."""
    words = sorted(set(known))
    near = difflib.get_close_matches(word[:MOST], words, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean {near[0]}?"
    elif words:
        shown = ", ".join(words[:12])
        hint = f"known: {shown}{', …' if len(words) > 12 else ''}"
    else:
        hint = f"the trace has no {kind} yet"
    return UsageError(f"no such {kind}: {quote(word)}", hint)
