"""Training data on the nodes before a job reads it, on a real slurmd: what jobs find, what is left, and who may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.staging import COPY, LINK, LOOK, Staging
from tests.support.data_sets import MIB, data_set

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Staging]:
    with private_slurm(nodes=2, kind=Staging) as booted:
        assert isinstance(booted, Staging)
        yield booted


@pytest.fixture
def shared(site: Staging) -> Path:
    folder = site.folder / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def test_a_job_finds_its_data_on_the_node(site: Staging, shared: Path) -> None:
    """Cold, then from the cache; of each job nothing is left but the copies."""
    packed = data_set(shared / "cold", 3 * MIB, 2 * MIB, 5)
    for turn in ("cold", "hit"):
        job = site.job(LOOK, f"--data={packed.folder}", "-w", "n1").ended()
        assert job.folder == f"{site.cache()}/jobs/{job.id}", job.text
        assert job.shards == [(sha, COPY) for sha in packed.sums], turn
        assert job.said == []
        (word,) = job.words
        assert (word["node"], word["mode"]) == ("0", "first")
        read, hit = int(word["bytes"]), int(word["hit"])
        assert (read, hit) == ((packed.bytes, 0) if turn == "cold" else (0, packed.bytes))
        site.quiet()
        assert set(site.store()) >= set(packed.sums) and set(site.store().values()) == {1}
