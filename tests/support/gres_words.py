"""The cases of tests/data/gres_words.tsv: a list of TRES or GRES, and what it says of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).parents[1] / "data" / "gres_words.tsv"


@dataclass(frozen=True)
class Case:
    """One line of the table. `counts` is whole, slices, shards, mps; None where they are unknown, as equivalents."""

    form: str
    text: str
    per: str
    counts: tuple[int, int, int, int] | None
    types: str
    equivalents: float | None
    why: str

    def __str__(self) -> str:
        return f"{self.why}: {self.form} {self.text}"


def cases(form: str) -> list[Case]:
    """Those of one form, in the table's order."""
    lines = (line for line in TABLE.read_text("utf-8").splitlines() if line and line[0] != "#")
    return [case for case in map(_case, lines) if case.form == form]


def _case(line: str) -> Case:
    form, text, per, *counts, types, equivalents, why = line.split("\t")
    numbers = tuple(map(int, counts)) if all(counts) else None
    assert numbers is None or len(numbers) == 4, line
    return Case(form, text, per, numbers, types, float(equivalents) if equivalents else None, why)  # type: ignore[arg-type]
