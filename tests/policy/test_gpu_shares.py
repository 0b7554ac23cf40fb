"""What part of a GPU a slice, a shard and MPS are, in the compiled table and in a request that is typed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from adminkit.errors import UsageError
from adminkit.gres import UNTYPED, GpuSettings, Shares
from adminkit.policy.compile import policy_table
from adminkit.policy.request import Typed, typed_request
from adminkit.slurm.site import Site, SiteNode, SiteQueue
from tests.support.policies import decider, policy, rules

NOW = 1_800_000_000
MIG = SiteNode("m1", gpus={"a100_3g.20gb": 2, "a100_1g.5gb": 1, "a100": 3}, queues=frozenset({"gq"}))
PLAIN = SiteNode("p1", gpus={"a100": 4}, queues=frozenset({"gq", "plain"}))
ODD = SiteNode("o1", gpus={"2g.48gb": 4}, queues=frozenset({"odd"}))
SITE = Site("alpha", tuple(SiteQueue(name, node_gpus=6) for name in ("gq", "plain", "odd")), nodes=(MIG, PLAIN, ODD))


def test_a_node_of_slices_has_fewer_gpus_than_slurm_counts() -> None:
    queues = policy_table(policy("version = 1"), SITE, 1)["queues"]
    assert queues["gq"]["node_gpu_size"] == pytest.approx(4, abs=1e-6)
    assert queues["gq"]["node_gpu_slices"] == 3
    assert "node_gpu_size" not in queues["plain"], "none of its nodes has slices"
    assert queues["odd"]["node_gpu_size"] == 4, "no more than a GPU where the share is unknown"


def test_what_the_config_says_of_a_word_reaches_the_table() -> None:
    table = policy_table(policy("version = 1"), SITE, 1, gpus=GpuSettings(("2g.48gb=0.5",)))
    assert table["gpu_shares"] == {"given": {"2g.48gb": 0.5}}
    assert table["queues"]["odd"]["node_gpu_size"] == 2
    assert "gpu_shares" not in policy_table(policy("version = 1"), SITE, 1)


def test_shards_are_parts_of_the_gpus_of_their_nodes() -> None:
    nodes = (
        SiteNode("s1", gpus={UNTYPED: 2}, gpu_shares={"shard": 8}, queues=frozenset({"gq"})),
        SiteNode("s2", gpus={"a40": 2}, gpu_shares={"shard:a40": 16, "mps:a40": 400}, queues=frozenset({"gq"})),
    )
    table = policy_table(policy("version = 1"), Site("alpha", (SiteQueue("gq"),), nodes=nodes), 1)
    assert table["gpu_shares"] == {"shard": {"gpu": 0, "a40": 8}, "mps": {"gpu": 200, "a40": 200}}, "0: they differ"


#: what is typed, GPUs at least and at most, parts; a GPU has four shards
TYPED: list[tuple[dict[str, Any], float, float, int]] = [
    ({"gres": "gpu:a100:2", "nodes": 2}, 4, 4, 0),
    ({"gres": "gpu:a100_3g.20gb:1"}, 3 / 7, 3 / 7, 1),
    ({"gres": "shard:2", "nodes": 2}, 1, 1, 4),
    ({"gres": "mps:150"}, 1.5, 1.5, 2),
    ({"gres": "gpu:2g.48gb:1"}, 1e-5, math.inf, 1),
    ({"gres": "gpu:1,shard:2"}, 1.5, 1.5, 2),
    ({"gpus": 2, "gpu_type": "1g.10gb"}, 2 / 7, 2 / 7, 2),
    ({"gpus": 2, "gpu_type": "1g.10gb", "nodes": 1}, 2 / 7, 2 / 7, 2),
]


@pytest.mark.parametrize(("typed", "least", "most", "parts"), TYPED)
def test_a_typed_request_counts_parts(typed: dict[str, Any], least: float, most: float, parts: int) -> None:
    request = typed_request(Typed("ada", queues=("gq",), **typed), None, NOW, Shares({UNTYPED: 4}))
    nodes = typed.get("nodes", 1)
    assert request["gpus"] == pytest.approx(least, abs=1e-6)
    assert max(request["gpus_fixed"], (request["gpus_each"] or 0) * nodes) == pytest.approx(most)
    assert request["gpu_slices"] == parts


def test_mps_of_gpus_that_differ_is_a_part_of_one_gpu_at_least() -> None:
    request = typed_request(Typed("ada", queues=("gq",), gres="mps:50"), None, NOW, Shares(mps={UNTYPED: 0}))
    assert request["gpu_slices"] == 1


@pytest.mark.parametrize(
    "typed", [{"gres": "gpu:a:b:c"}, {"gres": "gpu:2", "gpus": 2}, {"gres": "gpu:2", "gpu_type": "a"}]
)
def test_gpus_that_are_typed_twice_or_oddly_are_refused(typed: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="--gres"):
        typed_request(Typed("ada", **typed), None, NOW)


#: a rule, what is typed, the beginning of what the user reads ("" for nothing)
SAID: list[tuple[str, dict[str, Any], str]] = [
    (
        "gpus = '-1'",
        {"gres": "shard:8"},
        "The number of GPUs must be 0-1 for a job in gq; this one asks for 2 (gpu_slices=8). Type: --gpus=N",
    ),
    (
        "gpus = '-1'",
        {"gres": "gpu:2g.48gb:1"},
        "It is unclear how many gpus this job could get; jobs in gq may take 0-1.",
    ),
    (
        "gpu_slices = 0",
        {"gres": "gpu:1g.10gb:1"},
        "The number of GPU slices and shards must be 0 for a job in gq; this one asks for 1.",
    ),
    ("gpu_slices = 0", {"gpus": 1}, ""),
    ("gpu_slices = '-2'", {"gres": "shard:2"}, ""),
]


@pytest.mark.parametrize(("line", "typed", "said"), SAID)
def test_try_counts_parts_as_slurmctld_does(line: str, typed: dict[str, Any], said: str) -> None:
    request = typed_request(Typed("ada", queues=("gq",), limit="60", **typed), None, NOW, Shares({UNTYPED: 4}))
    decision = decider(rules(f"a: queues = ['gq']; {line}")).decide(request)
    assert (decision.verdict == "reject") == bool(said)
    assert not said or decision.messages[0].startswith(said)
