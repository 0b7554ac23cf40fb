"""What of the archive a statement may read: which tables, and runs of which time.

A statement is not understood, it is recognised: one table, one condition. What is not recognised may read everything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Names that read runs, and names that read steps.
_RUNS: Final = frozenset({"job", "run", "trace", "all_job", "all_run", "all_trace", "whole_job", "archived_job"})
_STEPS: Final = frozenset({"step", "all_step", "whole_step", "archived_step"})
#: Names that read steps beside runs.
_BOTH: Final = frozenset({"run", "all_run", "archived_run"})
_WORD: Final = re.compile(r"\w+")
#: What SQLite has, without the archive.
_OF_MAIN: Final = re.compile(r"\bmain\.\w+", re.IGNORECASE)
_TEXT: Final = re.compile(r"'(?:[^']|'')*'")
_QUOTED: Final = re.compile(r'"([^"]*)"')
_INNER: Final = re.compile(r"\([^()]*\)")
_ONE_TABLE: Final = re.compile(
    r"\s*SELECT\b(?P<head>.*?)\bFROM\s+(?:(?:main|temp)\.)?(?P<table>\w+)(?:\s+AS\s+\w+)?\s+WHERE\s+(?P<where>.*)",
    re.IGNORECASE | re.DOTALL,
)
_AFTER: Final = re.compile(r"\b(GROUP\s+BY|ORDER\s+BY|LIMIT|HAVING|WINDOW)\b", re.IGNORECASE)
#: What would make a condition something else than one of several that all hold.
_OTHERWISE: Final = re.compile(
    r"--|/\*|\[|`|\b(OR|CASE|BETWEEN|UNION|EXCEPT|INTERSECT|JOIN|WITH|FROM|VALUES)\b", re.IGNORECASE
)
#: A run that ended, began or was submitted then; archived ones were submitted before they began, and began before they
#: ended.
_BOUND: Final = re.compile(
    r"\s*\+?(?:\w+\.)?(?P<column>end_time|start_time|submit_time)\s*(?P<how>>=|>|<=|<)\s*(?P<value>[:@$]\w+|\d+)\s*",
    re.IGNORECASE,
)
EVER: Final = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True)
class Asked:
    """Whether a statement may read runs and steps of the archive: of runs that ended from `since` on, before `until`,
    epoch seconds. Steps are those of these runs.
    """

    runs: bool
    steps: bool
    since: int = EVER[0]
    until: int = EVER[1]


def asked(sql: str, given: Mapping[str, Any] | Sequence[Any]) -> Asked | None:
    """What `sql` with these parameters may read of the archive; None for nothing."""
    words = [word.lower() for word in _WORD.findall(_OF_MAIN.sub(" ", sql))]
    runs, steps = not _RUNS.isdisjoint(words), not _STEPS.isdisjoint(words)
    both = not _BOTH.isdisjoint(words)
    if not (runs or steps or both):
        return None
    since, until = _window(sql, given) if runs and not steps else EVER
    return Asked(runs or both, steps or both, since, until)


def _window(sql: str, given: Mapping[str, Any] | Sequence[Any]) -> tuple[int, int]:
    plain = _QUOTED.sub(r" \1 ", _TEXT.sub("''", sql))
    if "'" in plain.replace("''", "") or sum(_is_read(one, plain) for one in _WORD.finditer(plain)) != 1:
        return EVER
    while (outer := _INNER.sub(" ", plain)) != plain:
        plain = outer
    found = _ONE_TABLE.fullmatch(plain)
    if found is None or found["table"].lower() not in _RUNS:
        return EVER
    where = _AFTER.split(found["where"], maxsplit=1)[0]
    if _OTHERWISE.search(found["head"]) or _OTHERWISE.search(found["where"]):
        return EVER
    since, until = EVER
    for term in re.split(r"\bAND\b", where, flags=re.IGNORECASE):
        bound = _BOUND.fullmatch(term)
        value = _value(bound["value"], given) if bound else None
        if bound is None or value is None:
            continue
        if bound["how"][0] == ">":
            since = max(since, value)
        elif bound["column"].lower() == "end_time":
            until = min(until, value + 1)
    return since, until


def _is_read(word: re.Match[str], sql: str) -> bool:
    """Whether a word names a table that is read, and not the table of a column."""
    return word[0].lower() in _RUNS | _STEPS and sql[word.end() : word.end() + 1] != "."


def _value(text: str, given: Mapping[str, Any] | Sequence[Any]) -> int | None:
    if text.isdigit():
        return int(text)
    value = given.get(text[1:]) if isinstance(given, Mapping) else None
    return int(value) if isinstance(value, (int, float)) and value == value and abs(value) < EVER[1] else None
