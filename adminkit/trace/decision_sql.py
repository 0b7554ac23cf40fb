"""The record that adminkit's policy leaves in a job, as SQL: for what slurmctld says of the few jobs that are open.

adminkit-ingest reads the very same grammar from sacct's text (kind `admin_comment`); tests hold the two together.

docs/comment-words.md has the grammar: `ak1:lim=259200,src=e,rules=gq-max`, up to the first blank. sacct itself knows
only the final limit and cannot say whether anybody typed it, so without a whole record neither column is known.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

from adminkit.trace.comment_words import RECORD
from adminkit.trace.plugin_words import PROGRESS

#: SQL GLOB: a comment that begins with a record, whole or not.
RECORD_GLOB: Final = f"{RECORD.prefix}:*"

#: SQLite's largest integer.
_MOST: Final = 2**63 - 1
_WORD: Final = "substr({0}, 1, instr({0} || ' ', ' ') - 1)"
_BEFORE_LIMIT: Final = f"{RECORD.prefix}:lim="
_LIMIT_AT: Final = len(_BEFORE_LIMIT) + 1
_LIMIT: Final = f"substr({{0}}, {_LIMIT_AT}, instr({{0}}, ',src=') - {_LIMIT_AT})"
#: What may stand behind the source, each where it is there, in this order.
_MORE: Final = tuple(key.name for key in RECORD.keys if not key.needed)
_COUNT: Final = " + ".join(f"({{word}} GLOB '*,{key}=*')" for key in _MORE)
_PAIRS: Final = combinations(_MORE, 2)
_ORDER: Final = " AND ".join(f"{{word}} NOT GLOB '*,{after}=*,{key}=*'" for key, after in _PAIRS)
#: Its alphabet and no contradiction. There are as many = as keys, and one comma less: so nothing but keys follows the
#: source, each once, in its place, with one value. Trap: GLOB's * takes anything.
_WHOLE: Final = f"""{{0}} GLOB '{_BEFORE_LIMIT}?*,src=[de]*' AND {{word}} NOT GLOB '*[^A-Za-z0-9_.+,:=-]*'
AND ({{word}} GLOB '*,src=[de]' OR {{word}} GLOB '*,src=[de],*') AND {_ORDER}
AND length({{word}}) - length(replace({{word}}, ',', '')) = 1 + {_COUNT}
AND length(replace({{word}}, ',', '')) = length(replace({{word}}, '=', '')) + 1
AND {{word}} NOT GLOB '{RECORD_GLOB}:*' AND {{word}} NOT GLOB '*=,*' AND {{word}} NOT GLOB '*='
AND CASE {{limit}} WHEN 'none' THEN {{word}} GLOB '*,src=d*' WHEN 'inf' THEN {{word}} GLOB '*,src=e*'
ELSE {{limit}} NOT GLOB '*[^0-9]*' AND {{word}} GLOB '*,src=e*' END"""


def first_word(field: str) -> str:
    """SQL: the text of `field` before its first blank."""
    return _WORD.format(field)


def limit_original(field: str) -> str:
    """Seconds asked for; NULL where no number was, and without a record."""
    number = f"CASE WHEN {{limit}} NOT IN ('none', 'inf') THEN CAST({_LIMIT} AS INTEGER) END"
    return _where_whole(field, number)


def limit_source(field: str) -> str:
    """explicit or default; unknown without a record."""
    chosen = _where_whole(field, "CASE {limit} WHEN 'none' THEN 'default' ELSE 'explicit' END")
    return f"coalesce({chosen}, 'unknown')"


def paid_class(field: str) -> str:
    """The class that points were given for at submission; NULL for none, and without a record."""
    word = first_word("{0}")
    rest = f"substr({word}, instr({word}, ',cls=') + 5) || ','"
    return _where_whole(field, f"CASE WHEN {word} GLOB '*,cls=*' THEN substr({rest}, 1, instr({rest}, ',') - 1) END")


def soft_limit(field: str) -> str:
    """The soft limit that the policy gave, seconds, where `field` has a whole record; NULL for none."""
    return seconds_of(field, "soft")


def seconds_of(field: str, name: str) -> str:
    """The number of a key of the record, where `field` has a whole one; NULL for none.

    What SQLite and DuckDB both take. Trap: their GLOBs differ, so another column has to say that the record is whole.
    """
    key = f",{name}="
    rest, digits, value = _number_behind(field, key)
    ends = f"substr({rest} || ' ', length({digits}) + 1, 1) IN (',', ' ')"
    inside = f"instr({field}, '{key}') BETWEEN 1 AND instr({field} || ' ', ' ')"
    return f"CASE WHEN {inside} AND length({digits}) > 0 AND {ends} THEN {value} END"


def iterations(field: str) -> str:
    """What the first progress word of AdminComment says is done, SQLite's largest integer at most; NULL for none.

    What SQLite and DuckDB both take.
    """
    key = f" {PROGRESS.prefix}:it="
    rest, digits, value = _number_behind(f"(' ' || {field})", key)
    whole = f"instr(' ' || {field}, '{key}') > 0 AND length({digits}) BETWEEN 1 AND 20"
    return f"CASE WHEN {whole} AND substr({rest} || ' ', length({digits}) + 1, 1) = ' ' THEN {value} END"


def _number_behind(field: str, key: str) -> tuple[str, str, str]:
    """SQL: what follows the first `key`, the digits that it begins with, and their value."""
    rest = f"substr({field}, instr({field}, '{key}') + {len(key)})"
    digits = f"substr({rest}, 1, length({rest}) - length(ltrim({rest}, '0123456789')))"
    return rest, digits, f"CASE WHEN length({digits}) < 19 THEN CAST({digits} AS BIGINT) ELSE {_MOST} END"


def _where_whole(field: str, value: str) -> str:
    limit, word = _LIMIT.format(field), first_word(field)
    whole = " ".join(_WHOLE.split("\n")).format(field, word=word, limit=limit)
    return f"CASE WHEN {whole} THEN {value.format(field, limit=limit)} END"
