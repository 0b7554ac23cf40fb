"""A policy in sentences, and two policies compared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from adminkit.lua.runtime import Lua
from adminkit.policy.compile import policy_table
from adminkit.policy.diff import Difference, differences
from adminkit.policy.explain import explain
from adminkit.policy.load import load_policy
from adminkit.policy.request import Typed, typed_request
from adminkit.render.text import as_csv, as_json
from adminkit.reports.policy import diff_lines, explain_lines, explain_report, try_lines, try_report
from adminkit.slurm.site import Site, SiteQueue, made_up
from adminkit.units import show_time
from tests.support.policies import SHIPPED, STRICT, compiled, decider, policy, rules


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("max_limit = '3-00:00:00'", "Jobs ask for at most 3-00:00:00; other jobs are refused."),
        (
            "min_limit = '1h'; action = 'amend'",
            "Jobs ask for 01:00:00 or more; the limit of other jobs is raised to 01:00:00.",
        ),
        (
            "require_limit = true; queues = ['a', 'b', 'c']",
            "Jobs in a, b or c must give a time limit; other jobs are refused.",
        ),
        ("default_limit = '1h'; accounts = ['x']", "Jobs under the account x without a time limit get 01:00:00."),
        ("gpus = '2-'; qos = ['high']", "Jobs of the QOS high use 2 GPUs or more; other jobs are refused."),
        ("gpus = '-1'", "Jobs use at most 1 GPU; other jobs are refused."),
        ("gpu_slices = 0", "Jobs use no GPU slices, shards or MPS parts; other jobs are refused."),
        ("gpu_slices = 1", "Jobs use exactly 1 GPU slice, shard or MPS part; other jobs are refused."),
        ("nodes = 4; users = ['ada', 'bob']", "Jobs of ada or bob use exactly 4 nodes; other jobs are refused."),
        (
            "cpus = '1-8'; classes = ['cpu', 'single-gpu']; except_users = ['ada']; except_accounts = ['x', 'y']",
            "Cpu and single-gpu jobs, except those of ada or under x or y, use 1 to 8 CPUs; other jobs are refused.",
        ),
        (
            "max_limit = '1h'; from = 2027-04-01",
            "Jobs ask for at most 01:00:00; other jobs are refused."
            " It holds from 2027-04-01T00:00:00; until then their owners are only told.",
        ),
        (
            "gpus_per_node = 8; action = 'warn'",
            "Jobs use exactly 8 GPUs per node; other jobs are accepted, and their owners are told.",
        ),
    ],
)
def test_a_rule_is_one_sentence(line: str, sentence: str) -> None:
    assert explain(policy(rules(f"a: {line}")), UTC)[0] == ("a", sentence)


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        (
            "9 = 8",
            "Jobs of 9 GPUs or more are ranked as if they had waited 8 h longer, unless the points of their class are"
            " more.",
        ),
        (
            "65 = 12, 8 = 2.5, 9 = 4",
            "Jobs of exactly 8 GPUs are ranked as if they had waited 2.5 h longer, jobs of 9 to 64 GPUs are ranked as"
            " if they had waited 4 h longer and jobs of 65 GPUs or more are ranked as if they had waited 12 h longer,"
            " unless the points of their class are more.",
        ),
    ],
)
def test_points_by_size_have_a_sentence(sizes: str, sentence: str) -> None:
    rows = explain(policy(f"version = 1\n[incentives]\nsize_hours = {{ {sizes} }}"), UTC)
    assert ("incentives", sentence) in rows
    assert "incentives" not in dict(explain(policy("version = 1"), UTC)), "class points are in docs/incentives.md"


@pytest.mark.parametrize(("name", "text"), [("shipped", SHIPPED.read_text()), ("strict", STRICT)])
def test_the_sentences_are_as_reviewed(golden: Callable[[str, str], None], name: str, text: str) -> None:
    rows = explain(policy(text), UTC)
    golden(f"policy-explain-{name}.txt", explain_lines(rows))
    golden(f"policy-explain-{name}.json", as_json(explain_report(rows, [f"policy {name}.toml"])))


#: (name of the golden file, what is typed) against the shipped example.
TRIED = [
    ("rejected", Typed("alice", queues=("gq",), limit="100:00:00", gpus=1)),
    ("routed", Typed("alice", limit="02:00:00", gpus=1, time_min="01:00:00")),
    ("warned", Typed("alice", queues=("gq-long",), limit="5-00:00:00", gpus=4)),
    ("accepted", Typed("alice", queues=("gq",), limit="10:00:00", gpus=8)),
]


@pytest.mark.parametrize(("name", "typed"), TRIED)
def test_what_try_says_is_as_reviewed(golden: Callable[[str, str], None], name: str, typed: Typed) -> None:
    shipped = SHIPPED.read_text()
    decision = decider(shipped).decide(typed_request(typed, None, 1_800_000_000))
    golden(f"policy-try-{name}.txt", try_lines(decision))
    golden(f"policy-try-{name}.json", as_json(try_report(decision, ["policy policy.toml"])))
    golden(f"policy-try-{name}.csv", as_csv(try_report(decision, ["policy policy.toml"])))


def table(text: str, site: Site | None = None) -> dict[str, object]:
    """What is read back from the file that the policy becomes."""
    lua = Lua()
    found = lua.out(lua.table(compiled(policy(text), site).encode(), "policy.lua"))
    assert isinstance(found, dict)
    return found


def wanted(text: str, site: Site | None = None) -> dict[str, object]:
    found = policy(text)
    return policy_table(found, site or made_up(found.queues(), found.users()), 7)


def test_a_policy_does_not_differ_from_itself() -> None:
    for text in (STRICT, SHIPPED.read_text(), "version = 1"):
        assert differences(table(text), wanted(text)) == []
    bare = Site("alpha", (SiteQueue("gq", gpu_types=frozenset(), features=frozenset()),))
    assert differences(table("version = 1", bare), wanted("version = 1", bare)) == []
    assert diff_lines([]) == "no difference\n"


DIFFERENT = [
    ("another value", "max_limit = '1h'", "max_limit = '2h'", "max_limit 01:00:00", "max_limit 02:00:00"),
    ("another check", "cpus = 1", "gpus = '1-8'", "cpus max 1, min 1", "gpus max 8, min 1"),
    ("another action", "cpus = 1", "cpus = 1; action = 'warn'", "action reject", "action warn"),
    ("a condition more", "cpus = 1", "cpus = 1; qos = ['x', 'y']", "", "qos x, y"),
    ("a text less", "cpus = 1; text.en = 'x'", "cpus = 1", "text.en x", ""),
    ("another memory", "mem_per_gpu = '64G'", "mem_per_gpu = 500", "mem_per_gpu 64G", "mem_per_gpu 500M"),
]


@pytest.mark.parametrize(("why", "old", "new", "before", "after"), DIFFERENT)
def test_a_rule_differs_by_what_it_says(why: str, old: str, new: str, before: str, after: str) -> None:
    found = differences(table(rules(f"a: {old}")), wanted(rules(f"a: {new}")))
    assert found == [Difference("rules.a", "changed", before, after)], why


def test_the_day_of_a_rule_is_a_time_and_no_number() -> None:
    days = [datetime(2027, 4, day, tzinfo=UTC) for day in (1, 2)]
    old, new = (rules(f"a: cpus = 1; from = {day.isoformat()}") for day in days)
    before, after = (f"from {show_time(int(day.timestamp()))}" for day in days)
    assert differences(table(old), wanted(new)) == [Difference("rules.a", "changed", before, after)]


def test_rules_come_and_go_and_change_places() -> None:
    found = differences(
        table(rules("a: cpus = 1", "b: nodes = 1", "c: gpus = 1")),
        wanted(rules("c: gpus = 1", "b: nodes = 1", "d: cpus = 1")),
    )
    assert [(one.place, one.change) for one in found] == [
        ("rules.d", "added"),
        ("rules.a", "removed"),
        ("rules", "changed"),
    ]
    assert diff_lines(found) == (
        "+ rules.d: cpus max 1, min 1; action reject\n"
        "- rules.a: cpus max 1, min 1; action reject\n"
        "~ rules\n    is       order: b, c\n    becomes  order: c, b\n"
    )


def test_settings_and_the_cluster_differ_by_their_place() -> None:
    before = Site("alpha", (SiteQueue("gq", max_limit=60, node_mem=4 << 30),))
    after = Site("alpha", (SiteQueue("gq", 90_000, 120, node_mem=500 << 20),), frozenset({0, 5}))
    new = (
        'version = 1\nfail = "closed"\nlanguages = ["en", "ja"]\nmenu = ["15m", "2d"]\n[texts.en]\nhint = "x"\n'
        '[soft_limits]\nenabled = true\nleast = "10m"\n'
    )
    found = {
        one.place: (one.installed, one.file) for one in differences(table("version = 1", before), wanted(new, after))
    }
    assert found["fail"] == ("open", "closed")
    assert found["languages"] == ("en", "en, ja")
    assert found["queues.gq.max_limit"] == ("00:01:00", "00:02:00")
    assert found["queues.gq.default_limit"] == (None, "1-01:00:00")
    assert found["queues.gq.node_mem"] == ("4G", "500M")
    assert found["menu"][1] == "00:15:00, 2-00:00:00"
    assert found["soft_limits.least"] == (None, "00:10:00")
    assert found["exempt"] == ("0", "0, 5")
    assert found["texts.en.hint"][1] == "x"
    assert found["texts.ja.hint"][0] is None


def test_the_example_says_what_its_site_says() -> None:
    """The limits of the four queues, from the table in the study."""
    found = {rule.name: rule.value for rule in load_policy(SHIPPED).rules}
    hours = {
        queue: tuple(int(found[f"{queue}-{key}"]) // 3600 for key in ("default", "max"))  # type: ignore[arg-type]
        for queue in ("gq", "gq-short", "gq-middle", "gq-long")
    }
    assert hours == {"gq": (1, 72), "gq-short": (1, 3), "gq-middle": (72, 168), "gq-long": (72, 336)}
