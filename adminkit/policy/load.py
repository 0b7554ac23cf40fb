"""policy.toml from a file into a checked Policy; each problem names the file, the place and the nearest right word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from adminkit.errors import AdminkitError, unknown_word
from adminkit.files import is_there
from adminkit.installed import data_file
from adminkit.messages import LANGUAGES
from adminkit.policy.idle_settings import Idle
from adminkit.policy.model import Policy
from adminkit.policy.place import SYSTEM_POLICY
from adminkit.policy.problem import Problem
from adminkit.policy.validate import clashes, queue_clashes
from adminkit.recommend.menu import Offer
from adminkit.toml import read_toml

_HINT: Final = "name a policy with --policy; docs/policy.md has every key"


def find_policy(named: Path | None, system: Path = SYSTEM_POLICY) -> tuple[Path, bool]:
    """The policy of this host, and whether it is only the example that comes with adminkit."""
    if named is not None:
        return named, False
    return (system, False) if is_there(system) else (data_file("etc", "policy.toml"), True)


def load_policy(path: Path, tz: tzinfo | None = None) -> Policy:
    """The policy in this file, valid by itself. AdminkitError for the first thing that is wrong."""
    return _valid(path, *examine(path, None, tz))


def refuse_unfit(path: Path, policy: Policy, queues: Mapping[str, int | None]) -> None:
    """AdminkitError where the policy that was read from this file does not go with the cluster's queues."""
    _valid(path, policy, queue_clashes(policy, queues))


def _valid(path: Path, policy: Policy | None, problems: Sequence[Problem]) -> Policy:
    wrong = [one for one in problems if not one.note]
    if policy is None or wrong:
        more = f" ({len(wrong) - 1} more: adminkit policy check)" if len(wrong) > 1 else ""
        raise AdminkitError(f"{path}: {wrong[0]}{more}", wrong[0].hint)
    return policy


def load_offer(named: Path | None = None, system: Path = SYSTEM_POLICY) -> Offer:
    """The menu, the risk and the page for users of this host's policy; the defaults where it has no policy."""
    path, example = find_policy(named, system)
    return Offer() if example else load_policy(path).offer


def load_idle(named: Path | None = None, system: Path = SYSTEM_POLICY) -> Idle:
    """[idle] of this host's policy; off where it has no policy."""
    path, example = find_policy(named, system)
    return Idle() if example else load_policy(path).idle


def examine(
    path: Path, queues: Mapping[str, int | None] | None = None, tz: tzinfo | None = None
) -> tuple[Policy | None, list[Problem]]:
    """The policy in this file and its problems; None where it is not a policy. `queues` as queue_clashes() has it.

    AdminkitError for a file that cannot be read or is not TOML.
    """
    return examine_table(read_toml(path, _HINT), queues, tz)


def examine_table(
    raw: Mapping[str, Any], queues: Mapping[str, int | None] | None = None, tz: tzinfo | None = None
) -> tuple[Policy | None, list[Problem]]:
    """Like `examine`, for what TOML made of the file."""
    try:
        policy = Policy.model_validate(raw, context={"tz": tz})
    except ValidationError as error:
        return None, [_problem(one, raw) for one in error.errors(include_url=False)]
    return policy, [*clashes(policy), *([] if queues is None else queue_clashes(policy, queues))]


def _problem(error: Any, raw: Mapping[str, Any]) -> Problem:
    """One of pydantic's errors in an operator's words."""
    loc: tuple[str | int, ...] = tuple(part for part in error["loc"] if part != "[key]")
    where, value, kind = _dotted(loc, raw), error["input"], error["type"]
    if kind == "extra_forbidden":
        return Problem((where,), "no such key", unknown_word("key", str(loc[-1]), _keys(loc[:-1])).hint)
    if kind == "missing":
        hint = "write version = 1" if loc == ("version",) else "give it one"
        return Problem((where,), "is missing", hint)
    if kind == "literal_error":
        words = LANGUAGES if loc[:1] == ("texts",) else _choices(error)
        word = loc[-1] if loc[:1] == ("texts",) else value
        hint = unknown_word("word", word, words).hint if isinstance(word, str) else f"known: {', '.join(words)}"
        return Problem((where,), f"{word!r} is not one of {', '.join(words)}", hint)
    shown = "" if isinstance(value, (dict, BaseModel)) else f"{value!r}: "
    return Problem((where,), shown + _said(error))


def _said(error: Any) -> str:
    """What is wrong with a value: our own words, or pydantic's made to follow it."""
    if error["type"] in ("model_type", "dict_type"):
        return "a section belongs here, with keys of its own"
    message: str = error["msg"]
    return message.removeprefix("Value error, ").removeprefix("Input ")


def _choices(error: Any) -> Sequence[str]:
    """The words of pydantic's "'a', 'b' or 'c'"."""
    expected: str = error["ctx"]["expected"]
    return [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]


def _dotted(loc: Sequence[str | int], raw: Any) -> str:
    """rules[3].max_limit (gq-max), lists counted from 1."""
    text, name = "", ""
    for part in loc:
        text += f"[{part + 1}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
        try:
            raw = raw[part]
        except (KeyError, IndexError, TypeError):
            raw = None
        if isinstance(raw, dict) and isinstance(raw.get("name"), str) and isinstance(part, int):
            name = f" ({raw['name']})"
    return text + name if text else "the file"


def _keys(loc: Sequence[str | int]) -> list[str]:
    """The keys that may stand at a place of the file."""
    model: type[BaseModel] = Policy
    for part in loc:
        if isinstance(part, str):
            matching = [field for name, field in model.model_fields.items() if part in (name, field.alias)]
            inner = _model_in(matching[0].annotation) if matching else None
            if inner is None:
                return []
            model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model somewhere inside a type such as tuple[Rule, ...] | None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part)) is not None), None)
