"""What is wrong with a policy, and where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to correct, with the places in the file that it takes. A `note` does not stop anything."""

    places: tuple[str, ...]
    message: str
    hint: str = ""
    note: bool = False

    def __str__(self) -> str:
        return f"{' and '.join(self.places)}: {self.message}"
