"""The SQL of measures for two engines: what DuckDB answers as SQLite does, and in its spelling.

Measures are written for SQLite. Most of it DuckDB takes and answers alike; what it would answer otherwise is not given
to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

#: What DuckDB would answer otherwise, or cannot: the greatest of several values, casts (it rounds: CAST(round(…) AS
#: BIGINT) is for both), patterns, and what is not in the view run.
_OTHERWISE: Final = re.compile(
    r"\b(max|min)\s*\((?=[^()]*(\([^()]*\)[^()]*)*,)"
    r"|\b(GLOB(?!\s+'[^'\[]*')|LIKE|JOIN|INDEXED|WITH|rowid|strftime|instr|left_out|substr|printf|date|total"
    r"|group_concat|random|AS\s+(?:INTEGER|REAL|TEXT))\b|\bFROM\s+(?!run\b)|\bFROM\s+run\s*(,|AS\b)|->",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(
    r"(?P<text>'(?:[^']|'')*')|\"(?P<quoted>[^\"]*)\"|(?P<real>(?<![\w.])\d+\.\d+(?![\w.]))"
    r"|(?P<plus>(?<![^\s(])\+(?=[A-Za-z_\"(]))"
    r"|\bIS\s+(?P<same>NOT\s+)?(?=:)|(?<!:):(?P<name>[A-Za-z_]\w*)|(?P<word>\b[A-Za-z_]\w*\b)"
)
_FROM: Final = re.compile(r"\s*FROM\s+run\b")


def is_for_both(expressions: Iterable[str], rest: str) -> bool:
    """Whether both engines answer "SELECT expressions rest" alike: rows of the view run, and nothing else."""
    return bool(_FROM.match(rest)) and not any(_OTHERWISE.search(one) for one in (*expressions, rest))


def for_duckdb(sql: str) -> str:
    """The same in DuckDB's spelling: its parameters, numbers with a point as doubles, IS of two values."""

    def spelt(found: re.Match[str]) -> str:
        if found["name"]:
            return f"${found['name']}"
        if found["real"]:
            return f"{found['real']}e0"
        if found["plus"]:  # it keeps SQLite from an index
            return ""
        if found[0][:2].upper() == "IS" and not found["word"]:
            return "IS DISTINCT FROM " if found["same"] else "IS NOT DISTINCT FROM "
        return found[0]

    return _TOKEN.sub(spelt, sql)


def words_of(sql: Iterable[str]) -> set[str]:
    """Every name in these texts of SQL, columns among them."""
    return {found["word"] or found["quoted"] for one in sql for found in _TOKEN.finditer(one)} - {None}


def parameters_of(sql: Iterable[str]) -> set[str]:
    """The names of the parameters in these texts of SQL."""
    return {found["name"] for one in sql for found in _TOKEN.finditer(one) if found["name"]}
