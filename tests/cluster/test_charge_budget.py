"""`adminkit charge budget` beside a real slurmctld's GrpTRESMins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import accounted, adminkit
from tests.cluster.harness.processes import until


@pytest.fixture
def minutes(cluster: Cluster) -> Iterator[None]:
    """A budget of the account that games works for, and one of a QOS whose usage stays."""
    cluster.ask("sacctmgr", "-i", "modify", "account", "physics", "set", "GrpTRESMins=cpu=100,gres/gpu=50")
    cluster.ask("sacctmgr", "-i", "add", "qos", "gold", "set", "GrpTRESMins=cpu=1000", "Flags=NoDecay")
    try:
        yield
    finally:
        cluster.ask("sacctmgr", "-i", "modify", "account", "physics", "set", "GrpTRESMins=cpu=-1,gres/gpu=-1")
        cluster.ask("sacctmgr", "-i", "delete", "qos", "gold")


def rows(cluster: Cluster, db: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(adminkit(cluster, db, "charge", "budget", "-f", "json", *words).stdout)[
        "rows"
    ]
    return found


def test_slurms_minutes_stand_beside_the_ledgers_money(cluster: Cluster, minutes: None, tmp_path: Path) -> None:
    db, file = tmp_path / "trace.db", tmp_path / "charge.toml"
    file.write_text(
        'version = 1\nscheme = "s"\n[schemes.s]\nformula = "node_hours"\nunit = "points"\n'
        '[[budgets]]\naccount = "physics"\namount = 10\nfrom = "2020-01"\n'
    )
    job = cluster.submit("sleep 1", "-t", "5", user="games")
    cluster.wait(job)
    accounted(cluster, job, "COMPLETED")
    adminkit(cluster, db, "sync", "--since", "1d")
    shown = until(
        "slurmctld to have the budgets",
        lambda: (len(found := rows(cluster, db, "--schemes", str(file))) == 4 and found) or None,
        30.0,
    )
    assert [(one["counted_by"], one["of"], one["unit"], one["budget"]) for one in shown] == [
        ("ledger", "physics", "points", "10"),
        ("Slurm", "physics", "cpu minutes", "100"),
        ("Slurm", "physics", "gres/gpu minutes", "50"),
        ("Slurm", "QOS gold", "cpu minutes", "1000"),
    ]
    money, cpu, _, gold = shown
    assert money["spent"] is None and "none of its months is closed" in money["note"], "not known, not nothing"
    assert "half-life 7-00:00:00" in cpu["note"] and "does not enforce it" in cpu["note"]
    assert "does not shrink" in gold["note"]
    only = rows(cluster, db, "--schemes", str(file), "--account", "physics", "--no-slurm")
    assert [one["counted_by"] for one in only] == ["ledger"]
