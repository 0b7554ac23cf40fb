"""Two compiled policies, the one in place and the one that a file would become, rule by rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminkit.fit.request import show_mem
from adminkit.policy.kinds import LIMITS
from adminkit.units import show_duration, show_time

#: Differ from one making to the next, or follow from the rest.
_LEFT_OUT: Final = ("format", "generation", "made_at", "ckpt", "exempt_named")


def _mib(size: int) -> str:
    return show_mem(size << 20)


#: Keys whose numbers, also those of a list, are seconds, epoch seconds or MiB, wherever they stand.
_UNITS: Final[Mapping[str, Callable[[int], str]]] = {
    **dict.fromkeys((*LIMITS, "menu", "least", "gap", "lead", "budget", "seconds"), show_duration),
    "from": show_time,
    **dict.fromkeys(("mem_per_gpu", "node_mem"), _mib),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs. `installed` and `file` are None where that side has no such thing."""

    place: str
    change: str  # added, removed or changed
    installed: str | None
    file: str | None


def differences(installed: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Difference]:
    """What `wanted` would change: rules first, in its order, then everything else. Times are the host's."""
    return [*_rules(installed, wanted), *_settings(installed, wanted)]


def _rules(installed: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Difference]:
    before = {rule["name"]: rule for rule in _listed(installed.get("rules"))}
    after = {rule["name"]: rule for rule in _listed(wanted.get("rules"))}
    for name, rule in after.items():
        place = f"rules.{name}"
        if name not in before:
            yield Difference(place, "added", None, _shown(_flat(rule)))
            continue
        old, new = _flat(before[name]), _flat(rule)
        if old != new:
            keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
            yield Difference(
                place, "changed", *(_shown({k: side[k] for k in keys if k in side}) for side in (old, new))
            )
    for name, rule in before.items():
        if name not in after:
            yield Difference(f"rules.{name}", "removed", _shown(_flat(rule)), None)
    common = [[name for name in side if name in before and name in after] for side in (before, after)]
    if common[0] != common[1]:
        yield Difference("rules", "changed", "order: " + ", ".join(common[0]), "order: " + ", ".join(common[1]))


def _settings(installed: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Difference]:
    left_out = (*_LEFT_OUT, "rules")
    old, new = (
        dict(_leaves({key: value for key, value in table.items() if key not in left_out}))
        for table in (installed, wanted)
    )
    for place in {**new, **old}:
        if old.get(place) != new.get(place):
            change = "changed" if place in old and place in new else "added" if place in new else "removed"
            yield Difference(place, change, old.get(place), new.get(place))


def _flat(rule: Mapping[str, Any]) -> dict[str, str]:
    """A rule as words: {"max_limit": "3-00:00:00", "action": "reject", "queues": "gq"}."""
    fields = {rule["check"]: _in_unit(rule["check"], rule["value"]), "action": _word(rule["action"])}
    if rule.get("from") is not None:
        fields["from"] = _in_unit("from", rule["from"])
    fields |= {key: _word(words) for key, words in (rule.get("when") or {}).items()}
    return fields | {f"text.{key}": _word(text) for key, text in (rule.get("text") or {}).items()}


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """(dotted place, word) for all that a table holds; a set is one word."""
    if isinstance(value, Mapping) and value and not all(one is True for one in value.values()):
        for key, one in value.items():
            yield from _leaves(one, f"{place}.{key}" if place else str(key))
    elif value not in ({}, [], frozenset(), None):
        yield place, _in_unit(place.rpartition(".")[2], value)


def _in_unit(key: str, value: Any) -> str:
    """The value of this key as an operator writes it: durations and times as Slurm's, memory as sbatch's."""
    show = _UNITS.get(key)
    if show is None:
        return _word(value)
    numbers = value if isinstance(value, (list, tuple)) else [value]
    return ", ".join(show(one) if type(one) is int else _word(one) for one in numbers)


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        if all(one is True for one in value.values()):
            return ", ".join(sorted(map(str, value)))
        return ", ".join(f"{key} {_word(one)}" for key, one in sorted(value.items()))
    if isinstance(value, (set, frozenset)):
        return ", ".join(sorted(map(str, value)))
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_word, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(rules: Any) -> list[Any]:
    return list(rules) if isinstance(rules, list) else []


def _shown(words: Mapping[str, str]) -> str:
    return "; ".join(f"{key} {word}" for key, word in words.items())
