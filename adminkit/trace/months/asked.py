"""What of the archive a statement may read: which tables, and runs of which time.

A statement is not understood, it is recognised: one table, one condition. What is not recognised may read everything.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Names that read runs and steps, names that read runs, and names that read steps.
_BOTH: Final = frozenset({"run", "all_run", "archived_run"})
_RUNS: Final = _BOTH | {"job", "trace", "all_job", "all_trace", "whole_job", "archived_job"}
_STEPS: Final = _BOTH | {"step", "all_step", "whole_step", "archived_step"}
_WORD: Final = re.compile(r"\w+")
#: What SQLite has, without the archive.
_OF_MAIN: Final = re.compile(r"\bmain\.\w+", re.IGNORECASE)
#: Texts, names in quotes, and comments, in the order in which they begin.
_TOKEN: Final = re.compile(
    r"'(?:[^']|'')*'|\"(?P<a>[^\"]*)\"|\[(?P<b>[^\]]*)\]|`(?P<c>[^`]*)`|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL
)
_INNER: Final = re.compile(r"\([^()]*\)|\bCASE\b(?:(?!\b(?:CASE|END)\b).)*\bEND\b", re.IGNORECASE | re.DOTALL)
#: A statement that reads no rows.
_DESCRIBES: Final = re.compile(r"\s*(PRAGMA|EXPLAIN)\b", re.IGNORECASE)
_SELECT: Final = re.compile(r"\s*SELECT\b", re.IGNORECASE)
_ONE_TABLE: Final = re.compile(
    r"\s*SELECT\b(?P<head>.*?)\bFROM\s+(?:temp\.)?(?P<table>\w+)(?:\s+AS\s+\w+)?\s+WHERE\s+(?P<where>.*)",
    re.IGNORECASE | re.DOTALL,
)
_AFTER: Final = re.compile(r"\b(GROUP\s+BY|ORDER\s+BY|LIMIT|HAVING|WINDOW)\b", re.IGNORECASE)
#: What would make it another statement than one SELECT, or its condition another one than several that all hold.
_OTHERWISE: Final = re.compile(r"\b(UNION|EXCEPT|INTERSECT|JOIN|WITH|FROM|VALUES)\b|;\s*\S", re.IGNORECASE)
_NOT_ALL: Final = re.compile(r"\b(OR|CASE|BETWEEN)\b", re.IGNORECASE)
#: No archived run is without an end.
_OPEN: Final = re.compile(r"\s*(?:\w+\.)?end_time\s+IS\s+NULL\s*", re.IGNORECASE)
#: A run that ended, began or was submitted then; archived ones were submitted before they began, and began before they
#: ended.
_BOUND: Final = re.compile(
    r"\s*\+?(?:\w+\.)?(?P<column>end_time|start_time|submit_time)\s*(?P<how>>=|>|<=|<)\s*(?P<value>[:@$]\w+|\d+)\s*",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(r"\s*(?:\w+\.)?job_id_raw\s*=\s*(?P<value>[:@$]\w+|\d+)\s*", re.IGNORECASE)
_BEFORE_THE_END: Final = ("submit_time", "start_time", "end_time")
EVER: Final = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True)
class Asked:
    """Whether a statement may read runs and steps of the archive: of runs that ended from `since` on, before `until`,
    epoch seconds. Steps are those of these runs. `number`: only of runs with this JobIDRaw; None: of any.
    """

    runs: bool
    steps: bool
    since: int = EVER[0]
    until: int = EVER[1]
    number: int | None = None


def asked(sql: str, given: Mapping[str, Any] | Sequence[Any]) -> Asked | None:
    """What `sql` with these parameters may read of the archive; None for nothing."""
    plain = _OF_MAIN.sub(" sqlites ", _plain(sql))
    words = _read_by(plain)
    if not words or _DESCRIBES.match(plain):
        return None
    names = [word[0].lower() for word in words]
    selects = [_terms(_select_of(plain, word.start())) for word in words]
    windows = [_window(one, given, _BEFORE_THE_END) for one in selects]
    since, until = min(one[0] for one in windows), max(one[1] for one in windows)
    numbers = {_number(terms, given) for _, terms in selects}
    number = numbers.pop() if len(numbers) == 1 else None
    return Asked(not _RUNS.isdisjoint(names), not _STEPS.isdisjoint(names), since, until, number)


def ends(rest: str, given: Mapping[str, Any] | Sequence[Any], *, archived: bool) -> tuple[int, int]:
    """[since, until) of the ends of the runs that "SELECT …" with `rest` (FROM and what follows) may read. `archived`:
    of archived ones, whose submission and start are before their end.
    """
    plain = _OF_MAIN.sub(" sqlites ", _plain(f"SELECT 1 {rest}"))
    return _window(_terms(plain), given, _BEFORE_THE_END if archived else ("end_time",))


def _select_of(plain: str, at: int) -> str:
    """The innermost SELECT around a place: its rows depend on no other rows of the table that it reads."""
    depth, begin = 0, at
    while begin > 0:
        begin -= 1
        depth += {")": 1, "(": -1}.get(plain[begin], 0)
        if depth < 0:
            if _SELECT.match(plain, begin + 1):
                return plain[begin + 1 : _end(plain, begin + 1)]
            depth = 0
    return plain


def _end(plain: str, begin: int) -> int:
    """Where the parenthesis closes that was opened before `begin`."""
    depth = 1
    for place in range(begin, len(plain)):
        depth += {"(": 1, ")": -1}.get(plain[place], 0)
        if depth == 0:
            return place
    return len(plain)


def _plain(sql: str) -> str:
    """Without texts, comments and quotes."""
    return _TOKEN.sub(lambda token: f" {token['a'] or token['b'] or token['c'] or ''} ", sql)


def _read_by(plain: str) -> list[re.Match[str]]:
    return [word for word in _WORD.finditer(plain) if _is_read(word, plain)]


def _terms(plain: str) -> tuple[str, list[str]]:
    """The only table that one SELECT reads, and its conditions, which must all hold; none where it is not so simple."""
    while (outer := _INNER.sub(" ", plain)) != plain:
        plain = outer
    found = _ONE_TABLE.fullmatch(plain)
    if found is None or len(_read_by(plain)) != 1:
        return "", []
    where = _AFTER.split(found["where"], maxsplit=1)[0]
    if _OTHERWISE.search(found["head"]) or _OTHERWISE.search(found["where"]) or _NOT_ALL.search(where):
        return "", []
    return found["table"].lower(), re.split(r"\bAND\b", where, flags=re.IGNORECASE)


def _window(
    select: tuple[str, list[str]], given: Mapping[str, Any] | Sequence[Any], columns: Container[str]
) -> tuple[int, int]:
    """[since, until) of the ends of runs that one SELECT may read, by its conditions on these columns."""
    table, terms = select
    if table not in _RUNS:
        return EVER
    since, until = EVER
    for term in terms:
        if _OPEN.fullmatch(term):
            return EVER[1], EVER[1]
        bound = _BOUND.fullmatch(term)
        value = _value(bound["value"], given) if bound else None
        if bound is None or value is None or bound["column"].lower() not in columns:
            continue
        if bound["how"][0] == ">":
            since = max(since, value)
        elif bound["column"].lower() == "end_time":
            until = min(until, value + (bound["how"] == "<="))
    return since, until


def _number(terms: Sequence[str], given: Mapping[str, Any] | Sequence[Any]) -> int | None:
    """The JobIDRaw that these conditions name. SQLite takes a text of digits for the number that it is."""
    for term in terms:
        if (found := _NUMBERED.fullmatch(term)) is None:
            continue
        value = given.get(found["value"][1:]) if isinstance(given, Mapping) else None
        text = str(value) if isinstance(value, str) and value.isascii() and value.isdigit() else found["value"]
        number = int(text) if text.isdigit() else _value(text, given)
        return None if number is None or number >= EVER[1] else number
    return None


def _is_read(word: re.Match[str], sql: str) -> bool:
    """Whether a word may name a table that is read, and not the table of a column, or a column."""
    if word[0].lower() not in _RUNS | _STEPS or sql[word.end() : word.end() + 1] == ".":
        return False
    return sql[word.start() - 1 : word.start()] != "." or sql[: word.start()].lower().endswith("temp.")


def _value(text: str, given: Mapping[str, Any] | Sequence[Any]) -> int | None:
    if text.isdigit():
        return int(text)
    value = given.get(text[1:]) if isinstance(given, Mapping) else None
    return int(value) if isinstance(value, (int, float)) and value == value and abs(value) < EVER[1] else None
