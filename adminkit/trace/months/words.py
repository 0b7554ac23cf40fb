"""Columns of texts as numbers: which words there are, and SQL for the place of a row's word among them.

DuckDB looks a word up once for each file that has it, where its words come as one list; a type of its own (ENUM) it
looks up for each row, and only a type is fast where there are many words.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from adminkit.trace.months.duck import quoted

#: Words of a column up to which they are given as a list, and up to which they become a type.
FEW: Final = 1_000
MANY: Final = 20_000


class Coded(NamedTuple):
    """A column of texts: SQL of the place of a row's word in `words` (0 or NULL: unknown), and its parameters. Where
    all rows have the same word, SQL is that number.
    """

    sql: str
    words: list[str | None]  # the first is None
    given: dict[str, list[str]]

    @property
    def is_constant(self) -> bool:
        return self.sql.isdigit()


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the columns of some files, each looked for once."""

    duck: Any
    source: str  # SQL: all rows of the files
    _few: dict[str, list[str | None] | None] = field(default_factory=dict)  # None: there are more than FEW
    _types: dict[str, list[str] | None] = field(default_factory=dict)  # None: there are more than MANY

    def coded(self, column: str, others: Collection[str | None], place: int) -> Coded | None:
        """A column of the view, which has these words in the rows that are registered as `others`; None where there are
        too many. `place` makes the name of its parameter.
        """
        if column not in self._few:
            some = self.duck.execute(f"SELECT DISTINCT {quoted(column)} FROM {self.source} LIMIT {FEW + 2}").fetchall()
            self._few[column] = [word for (word,) in some] if len(some) <= FEW + 1 else None
        known = self._few[column]
        if known is not None and len(every := {*known, *others}) <= FEW + 1:
            words = sorted(word for word in every if word is not None)
            if len(every) == 1:
                return Coded(str(len(words)), [None, *words], {})
            name = f"words_{place}"
            return Coded(f"list_position(${name}, {quoted(column)})", [None, *words], {name: words})
        its = self._typed(column, {*others} - {None})
        return None if its is None else Coded(code_of(quoted(column), column), [None, *its], {})

    def _typed(self, column: str, others: Collection[str | None]) -> list[str] | None:
        if column in self._types and (self._types[column] is None or {*others} <= {*(self._types[column] or ())}):
            return self._types[column]
        name = quoted(column)
        some = f"(SELECT {name} FROM {self.source} UNION ALL SELECT {name} FROM others)"
        (many,) = self.duck.execute(f"SELECT count(DISTINCT {name}) FROM {some}").fetchone()
        self._types[column] = self.make_type(column, some) if many <= MANY else None
        return self._types[column]

    def make_type(self, name: str, rows: str) -> list[str]:
        """Make the type e_name of the texts in that column of `rows`. Returns them in the order of their codes."""
        column = quoted(name)
        self.duck.execute(f"DROP TYPE IF EXISTS e_{name}")
        self.duck.execute(
            f"CREATE TYPE e_{name} AS ENUM (SELECT DISTINCT {column} FROM {rows} WHERE {column} IS NOT NULL)"
        )
        found: list[str] = self.duck.execute(f"SELECT enum_range(NULL::e_{name})").fetchone()[0]
        return found


def code_of(text: str, name: str) -> str:
    """SQL: the place of a text in the type of that name, from 1; 0 for NULL."""
    return f"coalesce(enum_code({text}::e_{name}) + 1, 0)::INTEGER"
