"""The table that decide.lua reads: what stands in it, that both Luas take it, that nothing in a policy becomes code."""

from __future__ import annotations

import tomllib
from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.deploy.rehearse import check_table
from adminkit.lua.literal import literal
from adminkit.lua.runtime import Lua
from adminkit.messages import LANGUAGES
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.kinds import ACTIONS, CHECKS, CONDITIONS, LIMITS
from adminkit.policy.load import examine_table, load_policy
from adminkit.policy.texts import PLACEHOLDERS, defaults, known_placeholders, names, placeholders
from adminkit.slurm.site import Site, SiteQueue, made_up
from tests.support.policies import LUAS, SHIPPED, STRICT, compiled, policy, rules


def table_of(text: str, site: Site | None = None) -> dict[str, Any]:
    found = policy(text)
    return policy_table(found, site or made_up(found.queues(), found.users()), 1)


def test_a_rule_is_compiled_with_its_conditions_in_slurms_spelling() -> None:
    site = Site("alpha", uids={"grace": 1001})
    rules = {rule["name"]: rule for rule in table_of(STRICT, site)["rules"]}
    assert rules["gq-middle-one-gpu"] == {
        "name": "gq-middle-one-gpu",
        "check": "gpus",
        "value": {"min": 1, "max": 1},
        "action": "reject",
        "from": None,
        "when": {"queues": {"gq-middle": True}, "except_accounts": {"vision": True}},
        "whose": {"en": "in {queue}"},
        "text": {},
    }
    assert rules["gq-short-later"]["from"] == 1806537600
    assert rules["gq-default"]["action"] == "amend"


@pytest.mark.parametrize(
    ("time", "day"),
    [("2027-04-01", "2027-04-01"), ("2027-04-01T22:00:00", "2027-04-01"), ("2027-03-31T20:00:00Z", "2027-04-01")],
)
def test_the_day_that_users_read_is_the_sites_own(time: str, day: str) -> None:
    tokyo = timezone(timedelta(hours=9))
    text = f"version = 1\n[[rules]]\nname = 'a'\nmax_limit = '1h'\nfrom = {time}\n"
    found, _ = examine_table(tomllib.loads(text), tz=tokyo)
    assert found is not None
    assert policy_table(found, made_up(["gq"]), 1, tokyo)["rules"][0]["from_day"] == day


def test_users_stand_in_it_by_name_and_by_uid() -> None:
    site = Site("alpha", uids={"ada": 1001, "grace": 1002}, privileged=frozenset({0, 64030}))
    table = table_of(STRICT, site)
    assert table["rules"][5]["when"]["users"] == {"ada": True, "bob": True, 1001: True}
    assert table["exempt"] == {0, 64030, 1002}


def test_a_queue_is_compiled_as_it_is_and_its_memory_in_mib() -> None:
    queue = SiteQueue("gq", 3600, 7200, 1, 50, True, True, 50, 40, 262144 << 20, 8, frozenset({"p100"}), frozenset())
    assert table_of("version = 1", Site("alpha", (queue,)))["queues"] == {
        "gq": {
            "default_limit": 3600, "max_limit": 7200, "min_nodes": 1, "max_nodes": 50, "up": True, "is_default": True,
            "total_nodes": 50, "node_cpus": 40, "node_mem": 262144, "node_gpus": 8,
            "gpu_types": frozenset({"p100"}), "features": frozenset(),
        }
    }  # fmt: skip


def test_a_queue_of_whole_nodes_says_so() -> None:
    assert table_of("version = 1", Site("alpha", (SiteQueue("gq", whole=True),)))["queues"]["gq"]["whole"] is True


def test_without_an_order_the_shortest_queue_comes_first() -> None:
    site = Site("a", (SiteQueue("c"), SiteQueue("b", max_limit=60), SiteQueue("a"), SiteQueue("d", max_limit=120)))
    text = 'version = 1\n[routing]\navoid = ["d"]\n[[rules]]\nname = "x"\nqueues = ["c"]\nmax_limit = "1h"\n'
    assert table_of(text, site)["routing"]["order"] == ["b", "c", "a"]


def test_the_generation_is_that_of_the_content() -> None:
    found = policy(STRICT)
    site = made_up(found.queues(), found.users())
    table, later = policy_table(found, site, 1), policy_table(found, site, 2)
    other = policy_table(policy(STRICT.replace("3-00:00:00", "4-00:00:00")), site, 1)
    assert table["generation"] == later["generation"] != other["generation"]
    assert len(table["generation"]) == 12
    assert int(table["generation"], 16) >= 0


@pytest.mark.parametrize("text", [STRICT, SHIPPED.read_text()], ids=["strict", "shipped"])
def test_slurmctld_would_take_the_table(text: str) -> None:
    check_table("policy", compiled(policy(text)))


def test_the_texts_of_the_example_are_the_defaults() -> None:
    shipped = load_policy(SHIPPED)
    written = tomllib.loads(SHIPPED.read_text())["texts"]
    assert list(written) == list(LANGUAGES)
    for language in LANGUAGES:
        flat = {
            f"{name}.{key}" if key else name: text
            for name, given in written[language].items()
            for key, text in (given.items() if isinstance(given, dict) else [("", given)])
        }
        assert flat == defaults(language) == shipped.words(language)
        assert list(flat) == list(names())


def test_both_languages_say_the_same_things() -> None:
    """What a text tells in one language it tells in the other, and each says what to type where it refuses."""
    for name in names():
        told = [set(placeholders(defaults(language)[name])) for language in LANGUAGES]
        assert told[0] - {"queue"} == told[1] - {"queue"}, name
        assert told[0] | told[1] <= set(known_placeholders(name)), name
        if name.endswith(".reject") and not name.startswith("cpus"):
            assert all("-" in defaults(language)[name] for language in LANGUAGES), name


def test_one_text_for_every_outcome_replaces_each() -> None:
    words = policy('version = 1\n[texts.en]\nmax_limit = "no"\nhint = "h"\ngpus.warn = "w"').words("en")
    assert [words[f"max_limit.{outcome}"] for outcome in ("reject", "amend", "warn")] == ["no"] * 3
    assert (words["hint"], words["gpus.warn"], words["gpus.reject"]) == ("h", "w", defaults("en")["gpus.reject"])


def test_checks_and_texts_know_each_other() -> None:
    assert tuple(PLACEHOLDERS)[: len(CHECKS)] == CHECKS == tuple(ACTIONS)


#: The last is a byte that is no UTF-8, which no TOML file holds.
HOSTILE = [
    '"',
    "\\",
    "]]",
    "--[[",
    "\n",
    "\0",
    "\x1b",
    "%s",
    '" .. os.exit() .. "',
    "名前",
    "\udcff",
    "${x}",
    "{limit}",
]
word = st.one_of(
    st.sampled_from([one for one in HOSTILE if one != "\udcff"]),
    st.text(max_size=8),
    st.sampled_from(["gq", "gq-short", "ada"]),
)
words = st.lists(word, max_size=3)
number = st.one_of(st.integers(-2, 2**40), st.sampled_from(["1-8", "2-", "x", "-"]), st.booleans(), word)
length = st.one_of(st.sampled_from(["1h", "02:00:00", "3-00:00:00", "90s", "60", ""]), word, st.integers())
text = st.one_of(word, st.sampled_from(["{asked} in {queue}", "{", "{fit}"]))
keys: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(LIMITS, length),
    **dict.fromkeys(("gpus", "gpus_per_node", "nodes", "cpus"), number),
    "require_limit": st.booleans(),
    **dict.fromkeys(CONDITIONS, words),
    "classes": st.lists(st.sampled_from(["cpu", "single-gpu", "multi-node", "x"]), max_size=2),
    "action": st.sampled_from(["reject", "amend", "warn", "x"]),
    "text": st.fixed_dictionaries({}, optional={"en": text, "ja": text, "fr": text}),
}
condition = st.sampled_from([*CONDITIONS, "action", "text"])
rule = st.builds(
    lambda name, check, value, others: {"name": name, check: value, **others},
    st.one_of(st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True), word),
    st.sampled_from(CHECKS),
    st.one_of(length, number, st.just(True)),
    st.dictionaries(condition, st.none(), max_size=3).flatmap(
        lambda chosen: st.fixed_dictionaries({key: keys[key] for key in chosen})
    ),
)
raw_policy = st.fixed_dictionaries(
    {"version": st.sampled_from([1, 1, 1, 2, "1"])},
    optional={
        "fail": st.sampled_from(["open", "closed", "x"]),
        "record": st.sampled_from(["extra", "none", "x"]),
        "languages": st.lists(st.sampled_from(["en", "ja", "fr"]), max_size=3),
        "menu": st.lists(length, max_size=3),
        "exempt": st.fixed_dictionaries({}, optional={"users": words}),
        "routing": st.fixed_dictionaries({}, optional={"action": st.just("amend"), "order": words, "avoid": words}),
        "rules": st.lists(rule, max_size=4),
        "texts": st.dictionaries(st.sampled_from(["en", "ja", "x"]), st.dictionaries(
            st.sampled_from([*CHECKS, "hint", "later", "x"]), st.one_of(text, st.dictionaries(word, text, max_size=2)),
            max_size=3), max_size=2),
    },
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(raw_policy)
def test_any_policy_is_refused_or_taken_by_both_luas(raw: dict[str, Any]) -> None:
    found, problems = examine_table(raw)
    if found is None or any(not one.note for one in problems):
        assert problems
        assert all(one.places and one.message for one in problems)
        return
    table = policy_table(found, made_up(found.queues(), found.users()), 1)
    check_table("policy", policy_text(table))


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.sampled_from(HOSTILE), st.text(), st.binary()))
@pytest.mark.parametrize("version", LUAS)
def test_any_text_arrives_as_it_is_and_is_never_code(version: Any, hostile: str | bytes) -> None:
    lua = Lua(version)
    read = lua.table(f"return {{ [{literal(hostile)}] = {literal(hostile)} }}".encode(), "x.lua")
    raw = hostile if isinstance(hostile, bytes) else hostile.encode("utf-8", "surrogateescape")
    assert dict(read.items()) == {raw: raw}


def test_a_hostile_policy_is_quoted_whole() -> None:
    evil = '"], os.execute("true") --]]'
    table = table_of(rules("a: cpus = 1; text.en = 'x'") + f"[texts.en]\nhint = '{evil}'")
    generated = policy_text(table)
    assert "os.execute(" not in generated
    for version in LUAS:
        assert Lua(version).out(Lua(version).table(generated.encode(), "policy.lua"))["texts"]["en"]["hint"] == evil
