"""What Python knows of rules and texts is what the Lua does with them."""

from __future__ import annotations

import pytest

from adminkit.lua.runtime import Lua
from adminkit.policy.kinds import ACTIONS, CHECKS, LIMITS, NUMBERS, RATIOS, Action
from adminkit.policy.request import Typed, typed_request
from adminkit.policy.texts import OUTCOMES, known_placeholders
from tests.support.policies import decider, rules

NOW = 1_800_000_000

#: A rule of each kind, and a job that breaks it.
BROKEN = {
    "require_limit": ("true", Typed("ada", queues=("gq",))),
    "default_limit": ("'1h'", Typed("ada", queues=("gq",))),
    "min_limit": ("'2h'", Typed("ada", queues=("gq",), limit="60", time_min="60")),
    "max_limit": ("'2h'", Typed("ada", queues=("gq",), limit="unlimited")),
    "restartable_above": ("'2h'", Typed("ada", queues=("gq",), limit="180", time_min="150")),
    **{check: ("'2-3'", Typed("ada", queues=("gq",), limit="60", nodes=4, cpus=16, gpus=16)) for check in NUMBERS},
    "batch_only": ("true", Typed("ada", queues=("gq",), limit="60", batch=False)),
    "require_account": ("true", Typed("ada", queues=("gq",), limit="60")),
    "exclusive": ("true", Typed("ada", queues=("gq",), limit="60")),
    "cpus_per_gpu": ("4", Typed("ada", queues=("gq",), limit="60", nodes=1, cpus=16, gpus=2)),
    "mem_per_gpu": ("'16G'", Typed("ada", queues=("gq",), limit="60", nodes=1, gpus=2, mem=64 << 30)),
}
KINDS = [(check, action) for check, actions in ACTIONS.items() for action in actions]
BY_KIND = pytest.mark.parametrize(("check", "action"), KINDS)


def text_for(check: str, action: Action, words: str, more: str = "") -> str:
    value, _ = BROKEN[check]
    table = f'[texts.en]\n{check}.{action} = "{words}"\n' if words else ""
    routing = '[routing]\naction = "amend"\norder = ["other"]\n'
    return rules(f"rule: {check} = {value}; action = '{action}'; queues = ['gq']{more}") + routing + table


@BY_KIND
def test_every_kind_fires_as_it_says(check: str, action: Action) -> None:
    decision = decider(text_for(check, action, "")).decide(typed_request(BROKEN[check][1], None, NOW))
    assert decision.fired == (("rule", action),)
    assert decision.verdict == {"warn": "accept"}.get(action, action)
    assert decision.messages
    assert "{" not in "".join(decision.messages)


@BY_KIND
def test_every_placeholder_that_check_lets_through_is_filled_in(check: str, action: Action) -> None:
    words = "|".join(f"{name}={{{name}}}" for name in known_placeholders(f"{check}.{action}"))
    decision = decider(text_for(check, action, words)).decide(typed_request(BROKEN[check][1], None, NOW))
    said = dict(word.split("=", 1) for word in decision.messages[0].split("|"))
    assert set(said) == set(known_placeholders(f"{check}.{action}"))
    assert not any("{" in value or not value for value in said.values())
    assert (said["rule"], said["check"], said["queue"]) == ("rule", check, "gq")


@pytest.mark.parametrize(("check", "action"), [kind for kind in KINDS if kind[1] != "warn"])
def test_before_its_date_a_rule_only_tells_with_the_date(check: str, action: Action) -> None:
    found = decider(text_for(check, action, "", "; from = 2030-01-01"))
    decision = found.decide(typed_request(BROKEN[check][1], None, NOW))
    assert (decision.verdict, decision.fired) == ("accept", (("rule", "warn"),))
    (message,) = decision.messages
    assert message.startswith("Not yet a rule, but from 2030-01-01: ")


def test_the_lua_knows_the_same_kinds_in_the_same_order() -> None:
    lua = Lua()
    module = lua.module("rules")
    order = lua.out(module[b"ORDER"])
    assert sorted(order, key=order.__getitem__) == list(CHECKS)
    assert {check for check in CHECKS if lua.call(module[b"is_count"], check)} == set(NUMBERS)
    demands = {*CHECKS} - {*LIMITS, *NUMBERS, *RATIOS}
    assert {check for check in CHECKS if lua.call(lua.module("demands")[b"is_demand"], check)} == demands
    assert {check for check, actions in ACTIONS.items() if "amend" in actions} == {
        key.decode() for key, _ in module[b"amend"].items()
    }
    assert {name for name in OUTCOMES if name not in CHECKS} == {"routed", "misfit", "unsure", "most"}


@pytest.mark.parametrize("action", ["amend", "warn"])
def test_routing_speaks_of_the_queue(action: str) -> None:
    text = f'version = 1\n[routing]\naction = "{action}"\norder = ["short", "long"]\n'
    decision = decider(text).decide(typed_request(Typed("ada", limit="60", gpus=1), None, NOW))
    assert decision.fired == (("routing", action),)
    assert decision.queue == ("short" if action == "amend" else None)
    assert "short" in decision.messages[0]
    assert "{" not in decision.messages[0]
