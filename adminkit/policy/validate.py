"""What the parts of a policy say together: places that clash, words that nothing knows, rules that never bite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from adminkit.errors import unknown_word
from adminkit.policy.extend_checks import extend_clashes, extend_queue_clashes
from adminkit.policy.idle_checks import idle_clashes
from adminkit.policy.kinds import ACTIONS, NUMBERS
from adminkit.policy.model import Policy, Range, Rule
from adminkit.policy.problem import Problem
from adminkit.policy.texts import OUTCOMES, PLACEHOLDERS, known_placeholders, placeholders
from adminkit.units import show_duration

#: Conditions whose lists must share a word for two rules to meet in one job, and what takes words out of them.
_MEET: Final = {"queues": "", "classes": "", "accounts": "except_accounts", "qos": "", "users": "except_users"}


def clashes(policy: Policy) -> list[Problem]:
    """All that is wrong with a policy whose every value is right by itself, whatever the cluster is."""
    rules = [*_names(policy), *_actions(policy), *_texts(policy), *_pairs(policy)]
    return [*rules, *_routing(policy), *_soft(policy), *extend_clashes(policy), *idle_clashes(policy)]


def queue_clashes(policy: Policy, queues: Mapping[str, int | None]) -> list[Problem]:
    """What does not go with the cluster's queues, each with its own maximum limit in seconds (None: no maximum)."""
    return [*_unknown_queues(policy, queues), *_queue_limits(policy, queues), *extend_queue_clashes(policy, queues)]


def place(policy: Policy, rule: Rule, key: str = "") -> str:
    """Where a rule stands, as errors name it: rules[3].max_limit (gq-max). Counted from 1, as people do."""
    number = next(n for n, one in enumerate(policy.rules, start=1) if one is rule)
    return f"rules[{number}]{'.' if key else ''}{key} ({rule.name})"


def overlap(one: Rule, other: Rule) -> bool:
    """Whether some job could be looked at by both, as far as their conditions say."""
    for condition, exception in _MEET.items():
        sides = [(getattr(rule, condition), set(getattr(rule, exception) or ()) if exception else set())
                 for rule in (one, other)]  # fmt: skip
        given = [set(words) for words, _ in sides if words is not None]
        left_out = sides[0][1] | sides[1][1]
        if given and not set.intersection(*given) - left_out:
            return False
    return True


def _names(policy: Policy) -> Iterator[Problem]:
    for one, other in combinations(policy.rules, 2):
        if one.name == other.name:
            places = (place(policy, one, "name"), place(policy, other, "name"))
            yield Problem(
                places, "two rules have the same name", "give each its own name: records refer to rules by name"
            )


def _actions(policy: Policy) -> Iterator[Problem]:
    for rule in policy.rules:
        can = ACTIONS[rule.check]
        if rule.does not in can:
            places = (place(policy, rule, "action"), place(policy, rule, rule.check))
            yield Problem(places, f"{rule.check} cannot {rule.does}", f"it can {' or '.join(can)}")
        elif rule.does == "warn" and rule.from_ is not None:
            places = (place(policy, rule, "action"), place(policy, rule, "from"))
            yield Problem(places, "the date changes nothing: the rule only warns anyway", note=True)


def _texts(policy: Policy) -> Iterator[Problem]:
    for language, texts in policy.texts.items():
        for name, given in texts.items():
            at = f"texts.{language}.{name}"
            if name not in PLACEHOLDERS:
                yield Problem((at,), "no such text", unknown_word("text", name, PLACEHOLDERS).hint)
            elif isinstance(given, str):
                yield from _placeholders(at, given, name)
            else:
                yield from _outcomes(at, name, given)
    for rule in policy.rules:
        outcome = f"{rule.check}.{rule.does}" if rule.from_ is None else rule.check
        for key, text in (rule.text.model_dump(exclude_none=True) if rule.text else {}).items():
            yield from _placeholders(place(policy, rule, f"text.{key}"), text, outcome)


def _outcomes(at: str, name: str, given: Mapping[str, str]) -> Iterator[Problem]:
    outcomes = (*OUTCOMES.get(name, ()), *(["later"] if name in ACTIONS else []))
    for outcome, text in given.items():
        if outcome in outcomes:
            yield from _placeholders(f"{at}.{outcome}", text, f"{name}.{outcome}")
        elif outcomes:
            yield Problem((f"{at}.{outcome}",), "no such outcome", unknown_word("outcome", outcome, outcomes).hint)
        else:
            yield Problem((f"{at}.{outcome}",), f"{name} has one text", f'write {name} = "…"')


def _placeholders(at: str, text: str, name: str) -> Iterator[Problem]:
    known = known_placeholders(name)
    for word in placeholders(text):
        if word not in known:
            hint = unknown_word("placeholder", word, known).hint if known else "this text has none"
            yield Problem((at, f"the placeholders of {name}"), f"no such placeholder: {{{word}}}", hint)
    if text.count("{") != len(list(placeholders(text))) or text.count("{") != text.count("}"):
        yield Problem((at,), "a brace is not matched", "a placeholder is a word in braces: {asked}")


def _pairs(policy: Policy) -> Iterator[Problem]:
    for one, other in combinations(policy.rules, 2):
        for first, second in ((one, other), (other, one)):
            message = _clash(first, second)
            if message and overlap(first, second):
                places = (place(policy, first, first.check), place(policy, second, second.check))
                yield Problem(
                    places, message, "no job could satisfy both; separate them by queue, class, account or user"
                )
        if one.check == other.check and one.check in NUMBERS and overlap(one, other) and not _meet(one, other):
            places = (place(policy, one, one.check), place(policy, other, other.check))
            yield Problem(places, f"{one.value} and {other.value} have no number in common", "separate them by queue")


def _clash(one: Rule, other: Rule) -> str:
    """What is wrong with two rules that meet; "" where nothing is. Each pair is asked in both orders."""
    match one.check, other.check:
        case "min_limit", "max_limit" if one.value > other.value:  # type: ignore[operator]
            return f"the minimum {_shown(one)} is above the maximum {_shown(other)}"
        case "default_limit", "max_limit" if one.value > other.value:  # type: ignore[operator]
            return f"the default {_shown(one)} is above the maximum {_shown(other)}"
        case "default_limit", "min_limit" if one.value < other.value:  # type: ignore[operator]
            return f"the default {_shown(one)} is below the minimum {_shown(other)}"
        case "min_limit", "restartable_above" if other.does == "amend" and one.value > other.value:  # type: ignore[operator]
            return f"the minimum {_shown(one)} is above {_shown(other)}, to which other jobs are lowered"
        case "require_limit", "default_limit" if one.does == "reject":
            return f"a job without a limit is refused before it gets {_shown(other)}"
    return ""


def _meet(one: Rule, other: Rule) -> bool:
    a, b = one.value, other.value
    if not isinstance(a, Range) or not isinstance(b, Range):
        return True
    low = max((x for x in (a.min, b.min) if x is not None), default=0)
    high = min((x for x in (a.max, b.max) if x is not None), default=low)
    return low <= high


def _routing(policy: Policy) -> Iterator[Problem]:
    for queue in policy.routing.order:
        if queue in policy.routing.avoid:
            yield Problem(("routing.order", "routing.avoid"), f"{queue} is in both", "name it in one of them only")


def _soft(policy: Policy) -> Iterator[Problem]:
    if policy.soft_limits.enabled and policy.record != "admin_comment":
        message = f"soft limits need their record where users cannot write, and record is {policy.record}"
        yield Problem(("soft_limits.enabled", "record"), message, 'set record = "admin_comment"')
    soft = policy.soft_limits
    if soft.outlived < 100 - soft.quantile:
        message = f"{100 - soft.quantile} % of jobs outlive a quantile of {soft.quantile}, so it would never be used"
        yield Problem(("soft_limits.outlived", "soft_limits.quantile"), message, "raise one of the two")


def _unknown_queues(policy: Policy, queues: Mapping[str, int | None]) -> Iterator[Problem]:
    lists: list[tuple[str, Sequence[str]]] = [
        ("routing.order", policy.routing.order),
        ("routing.avoid", policy.routing.avoid),
        ("soft_limits.queues", policy.soft_limits.queues),
        ("extend.queues", policy.extend.queues),
        ("idle.queues", policy.idle.queues),
        ("gpus_per_user", tuple(policy.gpus_per_user)),
        *((place(policy, rule, "queues"), rule.queues or ()) for rule in policy.rules),
    ]
    for at, names in lists:
        for name in names:
            if name not in queues:
                message = f"no such queue: {name}"
                yield Problem((at, "the cluster's queues"), message, unknown_word("queue", name, queues).hint)


def _queue_limits(policy: Policy, queues: Mapping[str, int | None]) -> Iterator[Problem]:
    for rule in policy.rules:
        if rule.check not in ("default_limit", "min_limit", "max_limit") or not rule.queues:
            continue
        for name in rule.queues:
            most = queues.get(name)
            if most is None or not isinstance(rule.value, int) or rule.value <= most:
                continue
            at = (place(policy, rule, rule.check), f"MaxTime of the queue {name}")
            if rule.check == "max_limit":
                yield Problem(at, f"{_shown(rule)} never applies: Slurm stops jobs at {show_duration(most)}", note=True)
            else:
                yield Problem(at, f"{_shown(rule)} is above {show_duration(most)}", "lower it, or raise MaxTime")


def _shown(rule: Rule) -> str:
    return show_duration(rule.value) if isinstance(rule.value, int) else str(rule.value)
