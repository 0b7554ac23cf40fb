"""The last line of what a user reads leads to the site's page, where policy.toml names one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.job_submit.policies import HOUR, TEXTS, hints, incentives, policy, request, rule
from tests.job_submit.runtime import Lua

H = HOUR
URL = "https://hpc.example.org/limits"
HELP = f"More: {URL}"
RULES = [rule("max_limit", 10 * H, queues="gq"), rule("gpus", {"max": 4}, "warn"), rule("default_limit", H, "amend")]


def with_page(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    texts = {**TEXTS, "en": {**TEXTS["en"], "help": "More: {url}"}}
    return policy(*(rules or RULES), **{"help_url": URL, "texts": texts, **more})


@pytest.mark.parametrize(
    ("fields", "lines", "why"),
    [
        ({"limit": H}, 0, "nothing is said, so nothing more is"),
        ({"limit": 20 * H}, 2, "a refusal and the queue that fits"),
        ({"limit": H, "gpus": 8}, 1, "a warning"),
        ({"limit_kind": "unset"}, 1, "a change"),
        ({"limit_kind": "unset", "gpus": 8}, 2, "a change and a warning"),
    ],
)
def test_it_is_the_last_line_of_what_is_said_once(lua: Lua, fields: dict[str, Any], lines: int, why: str) -> None:
    asked = request(**{"queues": ["gq"], **fields})
    plain, helped = lua.decide(asked, policy(*RULES)), lua.decide(asked, with_page())
    assert len(plain["messages"]) == lines, why
    assert helped["messages"] == [*plain["messages"], *([HELP] if lines else [])], why
    assert {**helped, "messages": 0} == {**plain, "messages": 0}


def test_a_hint_leads_there_too(lua: Lua) -> None:
    rows = {"train": {"gq": [600, 1500, 2.5, 12]}}
    decision = lua.decide(request(queues=["gq"], limit=9 * H), with_page(), None, hints(rows))
    assert "similar jobs" in decision["messages"][0]
    assert decision["messages"][1:] == [HELP]


def test_so_does_the_refusal_of_an_update(lua: Lua) -> None:
    job = request(queues=["gq"], limit=H, state="PENDING")
    assert lua.modify({**job, "limit": 20 * H}, job, with_page())["messages"][-1] == HELP
    assert lua.modify({**job, "limit": 2 * H}, job, with_page())["messages"] == []
    array = request(queues=["gq"], limit=H, nodes=2, gpus=16, state="PENDING", array=True, points=720)
    refused = lua.modify({**array, "nodes": 1, "gpus": 1}, array, with_page(rule("max_limit", 10 * H)), incentives())
    assert refused["messages"] == ["No update of the points here.", HELP]


def test_a_job_that_is_routed_reads_it(lua: Lua) -> None:
    decision = lua.decide(request(limit=H), with_page())
    assert decision["queue"] == "gq-short"
    assert decision["messages"][-1] == HELP


def test_each_language_has_its_line(lua: Lua) -> None:
    texts = {"en": {"help": "More: {url}"}, "ja": {"help": "詳しくは: {url}"}}
    table = with_page(rule("max_limit", H), languages=["en", "ja"], texts=texts, routing={"action": "off", "order": []})
    decision = lua.decide(request(queues=["gq"], limit=2 * H), table)
    assert decision["messages"][-2:] == [HELP, f"詳しくは: {URL}"]


def test_without_a_text_it_is_said_in_plain_english(lua: Lua) -> None:
    decision = lua.decide(request(queues=["gq"], limit=20 * H), with_page(texts={}))
    assert decision["messages"][-1] == f"adminkit: more about this: {URL}"


def test_nothing_of_a_job_is_looked_for_in_it(lua: Lua) -> None:
    hostile = request(queues=["gq"], limit=20 * H, job_name="{url}", account="{url}", user="{url}")
    assert lua.decide(hostile, with_page())["messages"][-1] == HELP


def test_a_table_with_anything_but_a_text_there_never_decides(lua: Lua) -> None:
    assert lua.ask("validate", "policy", with_page()) is None
    assert "help_url" in lua.ask("validate", "policy", with_page(help_url=3))
