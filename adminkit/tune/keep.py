"""What a search keeps, so that it can be killed and run again, and so that other processes can take part in it.

Replicates are kept by simulate/replicates.py. Beside them are the number of evaluations that a budget was turned into,
and the standings of each finished round. A file's name is a digest of all that its content follows from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

from adminkit import __version__
from adminkit.simulate.replicates import keep_file, kept_file
from adminkit.tune.candidates import Choice
from adminkit.tune.measured import Change
from adminkit.tune.race import Standing

#: Raised when what is kept has another form.
_FORM: Final = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """The folder, None for none; and the digest of the question, the seed and the program."""

    folder: Path | None
    digest: str

    def evaluations(self, budget: float) -> int | None:
        """How many evaluations this budget, in seconds, was turned into; None where it was not."""
        found = self._read("budget", repr(budget))
        return found if isinstance(found, int) and found > 0 else None

    def keep_evaluations(self, budget: float, evaluations: int) -> None:
        """Every process that takes part has this number."""
        self._write(evaluations, "budget", repr(budget))

    def look(self, days: str, search: Sequence[Any]) -> int:
        """Which look at these days this search is: 1 for the first. The same search again is the same look."""
        mine = hashlib.sha256(json.dumps([self.digest, *search]).encode()).hexdigest()
        every = Kept(self.folder, days)
        found = every._read("looks")
        known = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
        if mine not in known:
            known.append(mine)
            every._write(known, "looks")
        return known.index(mine) + 1

    def recall(self, number: int, choices: Sequence[Choice], seeds: int) -> list[Standing] | None:
        """The standings of a finished round; None where it is not finished."""
        found = self._read("round", number, list(choices), seeds)
        try:
            return [_standing(one) for one in found]
        except (TypeError, ValueError, KeyError):
            return None

    def keep(self, number: int, standings: Sequence[Standing], seeds: int) -> None:
        """Those of a round that has just been finished."""
        made = [{"choice": list(one.choice), "each": list(one.each), "objective": list(astuple(one.objective)),
                 "others": [list(astuple(other)) for other in one.others]} for one in standings]  # fmt: skip
        self._write(made, "round", number, [one.choice for one in standings], seeds)

    def _name(self, *question: Any) -> str:
        text = json.dumps([_FORM, __version__, self.digest, *question])
        return hashlib.sha256(text.encode()).hexdigest() + ".json"

    def _read(self, *question: Any) -> Any:
        return None if self.folder is None else kept_file(self.folder / self._name(*question))

    def _write(self, content: Any, *question: Any) -> None:
        if self.folder is not None:
            keep_file(self.folder, self._name(*question), json.dumps(content).encode())


def _standing(raw: Any) -> Standing:
    choice, each = tuple(raw["choice"]), tuple(map(float, raw["each"]))
    return Standing(choice, each, Change(*raw["objective"]), tuple(Change(*one) for one in raw["others"]))
