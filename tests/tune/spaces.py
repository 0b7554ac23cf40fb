"""Spaces made by hand of the kinds scheduler, soft-limits, nodes and queue, without a file and without a site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.scenario import Scenario, Step
from adminkit.tune.candidates import Choice, Value


@dataclass(frozen=True)
class Lever:
    """`name`: KIND.KEY, with the key of the kind's scenario; those of one kind make one step together."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Space:
    levers: Sequence[Lever]
    never: Sequence[tuple[str, str]] = ()  # pairs of levers that contradict each other

    def fits(self, choice: Choice) -> str:
        moved = {one.name for one, value in zip(self.levers, choice, strict=True) if value is not None}
        return next((f"{one} goes not with {other}" for one, other in self.never if {one, other} <= moved), "")

    def scenario(self, choice: Choice) -> Scenario:
        assert any(value is not None for value in choice), "that of today is no scenario"
        keys: dict[str, dict[str, Any]] = {}
        for lever, value in zip(self.levers, choice, strict=True):
            if value is not None:
                kind, _, key = lever.name.partition(".")
                keys.setdefault(kind, {})[key] = value
        return Scenario("tried", tuple(_step(kind, of) for kind, of in keys.items()))


def _step(kind: str, keys: Mapping[str, Any]) -> Step:
    if kind == "scheduler":
        keys = {"set": keys}
    model = KINDS[kind].keys.model_validate({"name": "tried", "kind": kind, **keys})
    swept = model.swept
    return Step(KINDS[kind], model, getattr(model, swept)[0] if swept else None)


def space(*levers: tuple[str, Sequence[Value]], never: Sequence[tuple[str, str]] = ()) -> Space:
    return Space([Lever(name, tuple(values)) for name, values in levers], never)
