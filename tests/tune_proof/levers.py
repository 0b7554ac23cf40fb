"""Levers on made sites: settings of the scheduler, points of wide jobs, a queue's maximum, soft limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.scenario import Scenario, Step
from adminkit.tune.candidates import Choice, Value

#: What each kind is given beside the levers.
_FIXED: Final[Mapping[str, Mapping[str, Any]]] = {
    "queue": {"queue": "q0"},
    "soft-limits": {"longest": "7-00:00:00", "wide": 0},
}


@dataclass(frozen=True)
class Lever:
    """`name`: KIND.KEY, with the key of the kind's scenario; those of one kind make one step."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Space:
    """As tune has it, of levers that need no file and no real site."""

    levers: Sequence[Lever]
    fixed: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _FIXED)

    def fits(self, choice: Choice) -> str:
        """Nothing contradicts itself here."""
        return ""

    def scenario(self, choice: Choice) -> Scenario:
        """What the choice changes."""
        assert any(value is not None for value in choice), "that of today is no scenario"
        keys: dict[str, dict[str, Any]] = {}
        for lever, value in zip(self.levers, choice, strict=True):
            if value is not None:
                kind, _, key = lever.name.partition(".")
                keys.setdefault(kind, {})[key] = value
        return Scenario("tried", tuple(_step(kind, {**self.fixed.get(kind, {}), **of}) for kind, of in keys.items()))

    @property
    def uses_history(self) -> bool:
        """Whether a lever needs to know how long earlier jobs were."""
        return any(lever.name.startswith("soft-limits.") for lever in self.levers)


def _step(kind: str, keys: Mapping[str, Any]) -> Step:
    if kind == "scheduler":
        keys = {"set": keys}
    model = KINDS[kind].keys.model_validate({"name": "tried", "kind": kind, **keys})
    swept = model.swept
    return Step(KINDS[kind], model, getattr(model, swept)[0] if swept else None)


def space(*levers: tuple[str, Sequence[Value]]) -> Space:
    """Of pairs of name and values."""
    return Space([Lever(name, tuple(values)) for name, values in levers])
