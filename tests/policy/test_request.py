"""A request that is typed (`policy try`), in the words and units of the rules."""

from __future__ import annotations

import math

import pytest

from adminkit.policy.request import Typed, typed_request

#: (--mem in bytes, MiB for each node, why)
MEMORY = [
    (None, None, "not given: Slurm's default"),
    (64 << 30, 64 * 1024, "in MiB, as slurmctld counts"),
    (1 << 20, 1, "the least"),
    (0, math.inf, "--mem=0 takes all that a node has"),
]


@pytest.mark.parametrize(("mem", "wanted", "why"), MEMORY)
def test_memory_is_in_mebibytes(mem: int | None, wanted: float | None, why: str) -> None:
    request = typed_request(Typed("ada", queues=("gq",), mem=mem), None, 1_800_000_000)
    assert request["mem_per_node"] == wanted, why
