"""What is wrong with a TOML file of an operator: each problem names file, line and key, and the nearest right word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel

from adminkit.errors import AdminkitError, unknown_word
from adminkit.quote import quote
from adminkit.slurm.lines import Place, line_of


@dataclass(frozen=True, slots=True)
class Where:
    """Names places of the file. `hint`: where its keys are explained."""

    file: str
    text: str
    raw: Mapping[str, Any]
    hint: str

    def wrong(self, place: Place, message: str, hint: str = "") -> AdminkitError:
        line = line_of(place, self.text, False)
        at = self.file if line is None else f"{self.file}:{line}"
        return AdminkitError(f"{at}: {self._dotted(place)}{message}", hint or self.hint)

    def _dotted(self, place: Place) -> str:
        """scenarios[2].uptake (better): , counted from 1."""
        text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
        value: Any = self.raw
        name = ""
        for part in place[:2]:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return f"{text}: "
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            name = f" ({quote(value['name'])})"
        return f"{text}{name}: "


def problem(where: Where, place: Place, model: type[BaseModel], errors: Sequence[Any]) -> AdminkitError:
    """One of pydantic's errors in an operator's words. An unknown key goes first: it may be the one missing."""
    error = min(errors, key=lambda one: one["type"] != "extra_forbidden")
    loc = tuple(part for part in error["loc"] if part != "[key]")
    kind = error["type"]
    if kind == "extra_forbidden":
        near = unknown_word("key", str(loc[-1]), _keys(model, loc[:-1]))
        return where.wrong((*place, *loc), "no such key", near.hint)
    if kind == "missing":
        return where.wrong((*place, *loc), "is missing", "give it one")
    if kind == "literal_error":
        words = [one.strip().strip("'") for one in error["ctx"]["expected"].replace(" or ", ", ").split(",")]
        near = unknown_word("word", str(error["input"]), words)
        return where.wrong((*place, *loc), near.message, near.hint)
    message: str = error["msg"]
    shown = "" if isinstance(error["input"], (dict, BaseModel)) else f"{quote(repr(error['input']))}: "
    said = message.removeprefix("Value error, ").removeprefix("Input ")
    if "; did you mean" in said or "; known: " in said:
        said, _, hint = said.partition("; ")
        return where.wrong((*place, *loc), said, hint)
    return where.wrong((*place, *loc), shown + said[:1].lower() + said[1:])


def _keys(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """The keys that may stand at a place."""
    for part in loc:
        found = model.model_fields.get(str(part))
        inner = None if found is None else _model_in(found.annotation)
        if inner is None:
            return []
        model = inner
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part)) is not None), None)
