"""The Key=Value text that Slurm's programs print, read in one place.

Traps: Slurm escapes nothing, and what people write (Reason, Comment, Extra) stands behind Slurm's own words: nothing
behind it is read, as a health check may quote a job's name there. A later part of `scontrol show config` repeats names,
so of a word that is there twice the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from adminkit.errors import AdminkitError

#: What Slurm prints where there is no value.
NOTHING: Final = ("", "(null)", "N/A")
#: Words whose value is what people wrote.
_TEXTS: Final = ("Comment", "Extra", "Reason")

_SETTING: Final = re.compile(r"^[ \t]*([A-Za-z]\w*(?:\[\d+\])?)[ \t]*=[ \t]*(.*?)[ \t\r]*$", re.MULTILINE | re.ASCII)


def records(text: str, key: str) -> Iterator[dict[str, str]]:
    """The words of each line of `scontrol -o show …` that begins with `key`: PartitionName, NodeName.

    Any other line is a sentence (`No partitions in the system`), or the rest of an operator's text with a newline.
    """
    for line in text.split("\n"):  # Trap: splitlines() would also break at other characters, which a Comment may hold.
        if not line.startswith(f"{key}="):
            continue
        words: dict[str, str] = {}
        for word in line.split(" "):
            name, equals, value = word.partition("=")
            if equals:
                words.setdefault(name, value)
            if name in _TEXTS:
                break
        yield words


def all_records(text: str, key: str) -> list[dict[str, str]]:
    """Like records(), where none is a reason to act: AdminkitError where no line is one and Slurm does not say so.

    `No reservations in the system` is how it says so.
    """
    found = list(records(text, key))
    if not found and not text.lstrip().startswith("No "):
        raise AdminkitError(
            f"couldn't read what scontrol shows by {key}: no line begins with it", "check what scontrol prints"
        )
    return found


def settings(text: str) -> dict[str, str]:
    """`scontrol show config` and `sacctmgr show configuration`: a setting in each line, its value as printed."""
    words: dict[str, str] = {}
    for name, value in _SETTING.findall(text):
        words.setdefault(name, value)
    return words


def options(text: str | None) -> dict[str, str]:
    """SchedulerParameters, AuthInfo: name=value between commas, "" for a bare name. Slurm takes the first of a name."""
    found: dict[str, str] = {}
    for word in (text or "").split(","):
        name, _, value = word.partition("=")
        found.setdefault(name.strip(), value.strip())
    return found


def given(text: str | None) -> str | None:
    """A value; None where Slurm prints one of NOTHING."""
    return None if text is None or text in NOTHING else text


def names(text: str | None) -> frozenset[str] | None:
    """A set of names from a list between commas; None where there is no list, and for ALL."""
    return None if text == "ALL" or (listed := given(text)) is None else frozenset(filter(None, listed.split(",")))


def number(text: str | None) -> int | None:
    """A count; None for UNLIMITED, and for whatever else is not a number."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None
