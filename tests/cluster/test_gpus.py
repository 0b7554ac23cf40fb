"""GPUs that accounting does not track, and shards, from a real Slurm: what `adminkit sync` makes of them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import ADMINKIT
from tests.cluster.harness.requests import USER


class Shared(Cluster):
    """Its node has two GPUs of four shards each; accounting has none of them until it is told to."""

    def _configure(self) -> None:
        super()._configure()
        conf, gres = self.home / "slurm.conf", self.home / "gres.conf"
        conf.write_text(conf.read_text().replace("Gres=gpu:8", "Gres=gpu:2,shard:8"))
        gres.write_text(f"NodeName=n1 Name=gpu File={self.folder}/dev/gpu[0-1]\nNodeName=n1 Name=shard Count=8\n")

    def track(self, tres: str) -> None:
        """Have accounting track these."""
        conf = self.home / "slurm.conf"
        lines = conf.read_text().splitlines()
        lines = [f"AccountingStorageTRES={tres}" if "AccountingStorageTRES" in line else line for line in lines]
        conf.write_text("\n".join(lines) + "\n")
        self.restart_ctld()
        self.until_idle()


@pytest.fixture(scope="module")
def shared(outside: Listing) -> Iterator[Shared]:
    with private_slurm(nodes=1, kind=Shared, GresTypes="gpu,shard", AccountingStorageTRES="billing") as booted:
        assert isinstance(booted, Shared)
        yield booted


def ran(cluster: Cluster, *words: str) -> int:
    job = cluster.submit("sleep 1", "-t", "5", *words, user=USER)
    cluster.wait(job)
    cluster.settle()
    return job


def sync(cluster: Cluster, db: Path) -> str:
    env = f"PATH={ADMINKIT.parent}:{cluster.env()['PATH']}"
    done = cluster.run("env", env, "adminkit", "sync", "--db", db, "--since", str(int(time.time()) - 86_400))
    assert done.code == 0, done.err
    return done.err.decode() if isinstance(done.err, bytes) else done.err


def sizes(db: Path) -> dict[int, tuple[float | None, str | None, str | None]]:
    with closing(sqlite3.connect(db)) as trace:
        rows = trace.execute("SELECT job_id_raw, size_gpus, class, gpu_kind FROM run").fetchall()
    return {job: (gpus, kind, cut) for job, gpus, kind, cut in rows}


def test_gpus_are_unknown_until_accounting_tracks_them(shared: Shared, tmp_path: Path) -> None:
    db = tmp_path / "trace.db"
    before = ran(shared, "--gres=gpu:1"), ran(shared)
    said = sync(shared, db)
    assert "AccountingStorageTRES lacks gres/gpu, gres/shard" in said, said
    assert sizes(db) == dict.fromkeys(before, (None, None, None))
    shared.track("gres/gpu,gres/shard")
    sync(shared, db)
    time.sleep(1.1)  # a second after sync saw it
    gpu, shards, none = ran(shared, "--gres=gpu:1"), ran(shared, "--gres=shard:2"), ran(shared)
    whole = ran(shared, "--exclusive", "--gres=gpu:2")
    said = sync(shared, db)
    assert "AccountingStorageTRES" not in said, said
    assert sizes(db) == {
        **dict.fromkeys(before, (None, None, None)),
        gpu: (1, "single-gpu", "whole"),
        shards: (0.5, "single-gpu", "shard"),
        none: (0, "cpu", None),
        whole: (2, "multi-gpu", "whole"),
    }
