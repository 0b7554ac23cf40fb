"""Queues and nodes, from what scontrol prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm import partitions
from adminkit.slurm.site import UNTYPED, SiteNode, SiteQueue, sized, unsized
from tests.support.fakes import Programs

#: tests/data/slurm/scontrol-partitions.txt
QUEUES = [
    SiteQueue(*limits, is_default=limits[0] == "gq", total_nodes=nodes, priority_tier=1, priority_factor=1)
    for *limits, nodes in (
        ("gq", 3600, 259_200, 0, None, 4),
        ("short", None, 10_800, 0, None, 2),
        ("long", 259_200, None, 0, None, 4),
        ("free", None, None, 0, None, 0),
        ("tick", 90, 1_252_800, 0, None, 1),
    )
]
NODES = """\
NodeName=n1 Arch=x86_64 CPUTot=40 AvailableFeatures=ib,fast Gres=gpu:a100:4(S:0-1),gpu:v100:2 RealMemory=256000 \
State=IDLE Partitions=gq,short OS=Linux 6.1 Reason=it is Gres=gpu:99 CPUTot=1 [root@2026]
NodeName=n2 Arch=x86_64 CPUTot=80 AvailableFeatures=(null) Gres=(null) RealMemory=512000 State=DOWN+DRAIN Partitions=gq
NodeName=n3 CPUTot=4 RealMemory=1000 Gres=gpu State=FUTURE
"""
QUEUE_LINES = """\
PartitionName=gq AllowGroups=ALL AllowAccounts=physics,chemistry DenyQos=bad Default=YES DefaultTime=01:00:00 \
MaxNodes=UNLIMITED MaxTime=3-00:00:00 MinNodes=0 RootOnly=NO State=UP TotalNodes=2
PartitionName=short AllowGroups=staff DenyAccounts=physics AllowQos=normal Default=NO DefaultTime=NONE MaxNodes=2 \
MaxTime=UNLIMITED MinNodes=1 OverSubscribe=EXCLUSIVE RootOnly=NO State=DRAIN TotalNodes=1
PartitionName=roots AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL RootOnly=YES State=UP MaxTime=30 TotalNodes=0
PartitionName=booked AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL RootOnly=NO ReqResv=YES State=UP MaxTime=30
"""
MIB = 1 << 20


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path / "bin", monkeypatch)


def test_queues_have_limits_in_seconds_and_none_for_no_limit(programs: Programs) -> None:
    programs.says("scontrol", show_partition="scontrol-partitions")
    assert partitions.source() == "scontrol"
    assert partitions.queues() == QUEUES


def test_a_queue_without_a_default_gives_its_maximum() -> None:
    assert [queue.usual_limit for queue in QUEUES] == [3600, 10_800, 259_200, None, 90]


@pytest.mark.parametrize("ask", [partitions.queues, partitions.nodes], ids=["partition", "node"])
def test_another_cluster_is_asked_by_name_and_hidden_ones_count(
    programs: Programs, ask: object, request: pytest.FixtureRequest
) -> None:
    programs.add("scontrol", 'echo "$*" >&2; exit 1')
    with pytest.raises(AdminkitError, match=f"-M beta --all show {request.node.callspec.id}"):
        ask("beta")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("", [], "no partition yet"),
        ("No partitions in the system\n", [], "said in words"),
        ("PartitionName=a MaxTime=30 DefaultTime=00:10 TotalNodes=x\n", [SiteQueue("a", 10, 1800)], "bare minutes"),
    ],
)
def test_odd_answers_about_partitions(text: str, expected: list[SiteQueue], why: str) -> None:
    assert partitions.parse_queues(text) == expected, why


def test_nodes_have_bytes_types_of_gpus_and_their_queues() -> None:
    assert partitions.parse_nodes(NODES) == [
        SiteNode(
            "n1", 40, 256_000 * MIB, {"a100": 4, "v100": 2}, frozenset({"ib", "fast"}), frozenset({"gq", "short"})
        ),
        SiteNode("n2", 80, 512_000 * MIB, queues=frozenset({"gq"})),
        SiteNode("n3", 4, 1000 * MIB, {UNTYPED: 1}),
    ]


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("Node nosuch not found\n", [], "a sentence"),
        ("NodeName=a State=UNKNOWN\n", [SiteNode("a")], "nothing is known of it yet"),
        ("NodeName=a CPUTot=2 Comment=x\x0bNodeName=b CPUTot=9\n", [SiteNode("a", 2)], "a comment with a line break"),
        ("NodeName=a CPUTot=2\n       NodeName=b\n", [SiteNode("a", 2)], "the second line of a reason"),
        ("NodeName=a CPUTot=99999999999999999999\n", [SiteNode("a")], "no count of CPUs"),
    ],
)
def test_odd_answers_about_nodes(text: str, expected: list[SiteNode], why: str) -> None:
    assert partitions.parse_nodes(text) == expected, why


def test_queues_have_their_lists_their_state_and_their_largest_node() -> None:
    nodes = partitions.parse_nodes(NODES)
    gq, short, roots, booked = (sized(queue, nodes) for queue in partitions.parse_queues(QUEUE_LINES))
    assert gq == SiteQueue(
        "gq", 3600, 259_200, 0, None, True, True, 2, 80, 512_000 * MIB, 6, frozenset({"a100", "v100"}),
        frozenset({"ib", "fast"}), frozenset({"physics", "chemistry"}), None, None, frozenset({"bad"}), None,
    )  # fmt: skip
    assert (short.up, short.default_limit, short.max_limit, short.max_nodes) == (False, None, None, 2)
    assert (short.allow_accounts, short.deny_accounts) == (None, frozenset({"physics"}))
    assert (gq.whole, short.whole) == (False, True)
    assert (short.allow_qos, short.allow_groups) == (frozenset({"normal"}), frozenset({"staff"}))
    assert (roots.up, roots.node_cpus, roots.gpu_types) == (False, None, None)
    assert not booked.up, "Slurm takes no job there without a reservation"


def test_what_a_queue_says_of_its_nodes_itself_counts() -> None:
    nodes = [SiteNode("n1", 8, MIB, {"a100": 4}, frozenset(), frozenset({"gq"}))]
    assert sized(SiteQueue("gq", node_cpus=2), nodes) == SiteQueue(
        "gq", node_cpus=2, node_mem=MIB, node_gpus=4, gpu_types=frozenset({"a100"}), features=frozenset()
    )
    assert unsized(sized(SiteQueue("gq", node_cpus=2), nodes), nodes) == SiteQueue("gq", node_cpus=2)


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        ("OverSubscribe=EXCLUSIVE", True),
        ("OverSubscribe=NO", False),
        ("OverSubscribe=FORCE:4 ExclusiveUser=YES", False),
        ("OverSubscribe=NO Exclusive=NODE", True),
        ("OverSubscribe=NO Exclusive=USER", False),
        ("", False),
    ],
)
def test_whether_a_queue_gives_whole_nodes_in_the_words_of_every_release(words: str, whole: bool) -> None:
    (found,) = partitions.parse_queues(f"PartitionName=a State=UP {words}\n")
    assert found.whole == whole


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gpu:8", {UNTYPED: 8}),
        ("gpu", {UNTYPED: 1}),
        ("gpu:a100", {"a100": 1}),
        ("gpu:a100:4(S:0-1),gpu:v100:2(S:1)", {"a100": 4, "v100": 2}),
        ("gpu:a100:4,gpu:a100:2", {"a100": 6}),
        ("craynetwork:4,gpu:h100:2", {"h100": 2}),
        ("gpu:ampere:6(S:0-1),gpu:1g.10gb:28(S:0-1),shard:8", {"ampere": 6, "1g.10gb": 28}),
        ("", {}),
    ],
)
def test_gpus_of_a_node(text: str, gpus: dict[str, int]) -> None:
    assert partitions.gpus_of(text) == gpus
