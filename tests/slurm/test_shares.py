"""Shards and MPS of a node, as slurmctld lists them in each release."""

from __future__ import annotations

import pytest

from adminkit.gres import Shared, parse_shared
from adminkit.slurm.room import Vector, parse_nodes
from adminkit.slurm.shares import NodeGres, cards, gpu_type, matching, node_gres, of_whole, per_gpu

#: (GresUsed, what is in use, why)
IN_USE = [
    ("gpu:0,shard:0", {"shard": Shared(0, 0)}, "no GPU has a file: only the number of all"),
    ("gpu:0,shard:(null):0(IDX:N/A)", {"shard": Shared(0, 0)}, "22.05: none"),
    ("gpu:0,shard:(null):2(IDX:0-1)", {"shard": Shared(None, 2)}, "22.05 counts GPUs: five shards of two"),
    ("gpu:(null):0(IDX:N/A),shard:(null):5(3/4,2/4)", {"shard": Shared(5, 2, ((3, 4), (2, 4)))}, "later: shards"),
    ("gpu:a100:1(IDX:0),shard:a100:2(0/4,2/4)", {"shard:a100": Shared(2, 1, ((0, 4), (2, 4)))}, "of a type"),
    ("gpu:tesla:0(IDX:N/A),shard:tesla:2(2/4)", {"shard:tesla": Shared(2, 1, ((2, 4),))}, "one GPU"),
    ("shard:3", {"shard": Shared(3, None)}, "how many GPUs is not said"),
    ("mps:50(50/100,0/100)", {"mps": Shared(50, 1, ((50, 100), (0, 100)))}, "MPS"),
    ("gpu:a:1(IDX:0),shard:a:1(1/4),shard:b:2(2/2)",
     {"shard:a": Shared(1, 1, ((1, 4),)), "shard:b": Shared(2, 1, ((2, 2),))}, "two types"),
    ("gpu:2(IDX:0,3)", {}, "no parts"),
    ("(null)", {}, "nothing"),
    ("hardshard:3,shard:x", {}, "other words"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found", "why"), IN_USE, ids=[case[2] for case in IN_USE])
def test_what_is_in_use(text: str, found: dict[str, Shared], why: str) -> None:
    assert parse_shared(text) == found


TWO = {"Gres": "gpu:2,shard:8"}
#: (words of a node, GPUs taken, shares taken, GPUs that are cut, the most free on one that is cut, why)
NODES = [
    ({**TWO, "GresUsed": "gpu:0,shard:(null):0(IDX:N/A)"}, 0, 0, 0, None, "nothing is taken"),
    ({**TWO, "GresUsed": "gpu:1,shard:(null):0(IDX:N/A)"}, 1, 4, 0, None, "the shards of a whole GPU go with it"),
    ({**TWO, "GresUsed": "gpu:0,shard:(null):2(IDX:0-1)", "AllocTRES": "cpu=2,gres/shard=5"}, 2, 5, 2, None, "22.05"),
    ({**TWO, "GresUsed": "gpu:0,shard:(null):1(IDX:1)", "AllocTRES": "cpu=2"}, 1, 4, 1, None,
     "accounting does not say how many, so all of that GPU's count"),
    ({**TWO, "GresUsed": "gpu:1,shard:(null):1(IDX:1)", "AllocTRES": "gres/gpu=1,gres/shard=2"}, 2, 6, 1, None,
     "one whole, one cut"),
    ({**TWO, "GresUsed": "gpu:2,shard:(null):1(IDX:1)", "AllocTRES": "gres/gpu=2,gres/shard=2"}, 2, 8, 0, None,
     "22.05 gave a GPU that was cut as a whole"),
    ({**TWO, "GresUsed": "gpu:(null):0(IDX:N/A),shard:(null):5(3/4,2/4)"}, 2, 5, 2, 2, "later releases: of each GPU"),
    ({**TWO, "GresUsed": "gpu:(null):0(IDX:N/A),shard:(null):2(2/4,0/4)"}, 1, 2, 1, 2, "one of two is cut"),
    ({"Gres": "gpu:1,mps:100", "GresUsed": "gpu:0,mps:(null):30(30/100)"}, 1, 30, 1, 70, "MPS"),
    ({**TWO, "GresUsed": "gpu:0,shard:3"}, 1, 3, 1, None, "how many GPUs is not said: as many as three shards need"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "gpus", "shares", "cut", "widest", "why"), NODES, ids=[case[5] for case in NODES])
def test_a_gpu_is_given_whole_or_in_parts(
    words: dict[str, str], gpus: int, shares: int, cut: int, widest: int | None, why: str
) -> None:
    found = node_gres(words.get("Gres", ""), words.get("GresUsed"), words.get("AllocTRES", ""))
    assert sum(found.taken.values()) == gpus and sum(found.taken_shares.values()) == shares
    assert sum(found.cut.values()) == cut and next(iter(found.widest.values()), None) == widest


def test_a_slice_of_mig_is_a_type_of_its_own() -> None:
    text = "gpu:ampere:6(S:0-1),gpu:1g.10gb:28(S:0-1)"
    found = node_gres(text, "gpu:ampere:6(IDX:0-5),gpu:1g.10gb:3(IDX:0,2-3)", "")
    assert found == NodeGres({"ampere": 6, "1g.10gb": 28}, taken={"ampere": 6, "1g.10gb": 3})


def test_a_node_has_and_has_taken_its_shards() -> None:
    line = "NodeName=n1 CPUTot=8 State=MIXED Gres=gpu:tesla:1(S:0),shard:tesla:4(S:0)"
    (one,) = parse_nodes(f"{line} GresUsed=gpu:tesla:0(IDX:N/A),shard:tesla:2(2/4)\n")
    assert one.has == Vector(8, 0, {"tesla": 1}, {"shard:tesla": 4})
    assert one.taken == Vector(0, 0, {"tesla": 1}, {"shard:tesla": 2})
    assert (one.cut, one.widest) == ({"tesla": 1}, {"shard:tesla": 2})


def test_which_gpus_a_part_is_of() -> None:
    gpus = {"a100": 4, "v100": 2}
    assert (gpu_type("shard:a100", gpus), cards("shard:a100", gpus)) == ("a100", 4)
    assert (gpu_type("shard", gpus), cards("shard", gpus)) == ("gpu", 6)
    assert (gpu_type("shard", {"a100": 4}), cards("shard", {"a100": 4})) == ("a100", 4)
    assert per_gpu("shard:a100", {"shard:a100": 16}, gpus) == 4 and per_gpu("shard:h100", {"shard:h100": 4}, gpus) == 0
    assert of_whole({"a100": 3}, {"shard:a100": 16}, gpus) == {"shard:a100": 12}
    assert matching("shard", ["shard:a100", "mps"]) == ["shard:a100"] and matching("shard:v100", ["shard:a100"]) == []
