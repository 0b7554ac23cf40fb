"""A rollup with keys of its own: the statements that make, fill and read its two tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: The rows of job that rollups are made of.
ENDED_ROWS: Final = "(SELECT * FROM job WHERE end_time IS NOT NULL)"


@dataclass(frozen=True, slots=True)
class RollupTable:
    """`table` has a row for each time and key, `key_table` what keys are made of."""

    table: str
    key_table: str
    at: str  # the column of its time
    keys: Mapping[str, str]  # part of a key -> its type in SQL
    sums: Sequence[str]
    gone: str  # SQL: a row from which every run is gone
    image: Callable[[str], str]  # SQL: what each of some rows of job adds, in one row or several: time, key, sums

    @property
    def create(self) -> tuple[str, ...]:
        """The statements that make the tables."""
        keys = ", ".join(f"{name} {kind}" for name, kind in self.keys.items())
        sums = ", ".join(f"{name} INTEGER NOT NULL" for name in self.sums)
        return (
            f"CREATE TABLE {self.key_table} (id INTEGER PRIMARY KEY, {keys}) STRICT",
            f"CREATE UNIQUE INDEX {self.key_table}_all ON {self.key_table} ({', '.join(map(self._value, self.keys))})",
            f"CREATE TABLE {self.table} ({self.at} INTEGER NOT NULL, key INTEGER NOT NULL, {sums},"
            f" PRIMARY KEY ({self.at}, key)) STRICT, WITHOUT ROWID",
            f"CREATE INDEX {self.table}_gone ON {self.table} ({self.at}) WHERE {self.gone}",
        )

    def _value(self, name: str, value: str = "") -> str:
        """SQL: a part as the unique index has it, where NULL is a value like others."""
        return value or name if "NOT NULL" in self.keys[name] else f"ifnull({value or name}, x'')"

    def key_of(self, value: Mapping[str, str]) -> str:
        """SQL: a SELECT of the id of a key with these parts."""
        same = (f"{self._value(name, f'k.{name}')} = {self._value(name, value[name])}" for name in self.keys)
        return f"SELECT id FROM {self.key_table} AS k WHERE {' AND '.join(same)}"

    def add_key(self, value: Mapping[str, str], rows: str = "") -> str:
        """SQL: put in the keys that are not there; `value`: SQL of a part, over `rows`."""
        # Trap: before ON CONFLICT a SELECT needs a WHERE.
        parts = ", ".join(value[name] for name in self.keys)
        into = f"INSERT INTO {self.key_table} ({', '.join(self.keys)})"
        return f"{into} SELECT {parts} {rows} WHERE TRUE ON CONFLICT DO NOTHING"

    def add(self, rows: str) -> str:
        """SQL: add `rows` of time, key and sums."""
        added = ", ".join(f"{name} = {name} + excluded.{name}" for name in self.sums)
        names = ", ".join((self.at, "key", *self.sums))
        return f"INSERT INTO {self.table} ({names}) {rows} ON CONFLICT ({self.at}, key) DO UPDATE SET {added}"

    def change(self, of_row: str) -> list[str]:
        """SQL: the statements of a trigger that add `of_row`, times NEW.sign."""
        rows = f"FROM ({self.image(of_row)}) AS i"
        sums = ", ".join(f"NEW.sign * {name}" for name in self.sums)
        return [
            self.add_key(self._of_image, rows),
            self.add(f"SELECT {self.at}, ({self.key_of(self._of_image)}), {sums} {rows} WHERE TRUE"),
            f"DELETE FROM {self.table} WHERE {self.gone} AND NEW.sign < 0",
        ]

    @property
    def _of_image(self) -> dict[str, str]:
        return {name: f"i.{name}" for name in self.keys}

    @property
    def right(self) -> str:
        """SQL: the table as the rows of job say, with the columns of the key."""
        names = ", ".join((self.at, *self.keys))
        sums = ", ".join(f"sum({name}) AS {name}" for name in self.sums)
        return f"SELECT {names}, {sums} FROM ({self.image(ENDED_ROWS)}) GROUP BY {names}"

    @property
    def kept(self) -> str:
        """SQL: the same as it is kept."""
        return f"SELECT {', '.join((self.at, *self.keys, *self.sums))} FROM {self.rows}"

    @property
    def rows(self) -> str:
        """SQL: what stands after FROM: every row, with the columns of its key."""
        return f"{self.table} JOIN {self.key_table} ON id = key"

    def rebuild(self) -> list[str]:
        """SQL: the statements that fill the empty tables from the rows of job."""
        keys, sums = ", ".join(self.keys), ", ".join(self.sums)
        return [
            self.add_key(self._of_image, f"FROM (SELECT DISTINCT {keys} FROM ({self.image(ENDED_ROWS)})) AS i"),
            f"INSERT INTO {self.table} ({self.at}, key, {sums})"
            f" SELECT {self.at}, ({self.key_of(self._of_image)}), {sums} FROM ({self.right}) AS i",
        ]

    @property
    def forget(self) -> str:
        """SQL: delete the keys of which no run is left."""
        return f"DELETE FROM {self.key_table} WHERE id NOT IN (SELECT key FROM {self.table})"
