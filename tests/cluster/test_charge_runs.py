"""What a real Slurm makes of jobs that are held for ever, changed, or resized: each run is in the bill of its month."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from adminkit.economy.budgets import Budget, spent_of
from adminkit.economy.months import following
from adminkit.economy.schemes import load_schemes
from adminkit.stats.ledger import lines
from adminkit.trace.connect import reader, writer
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import adminkit
from tests.cluster.harness.processes import until
from tests.support.charges import closed

#: One point a second of a node; by QOS `low` a tenth.
SCHEME: Final = """version = 1
scheme = "s"
[schemes.s]
formula = "nodes * elapsed * weight"
unit = "points"
digits = 1
[schemes.s.weights.qos]
low = 0.1
"*" = 1
"""
RUNS: Final = "SELECT state, account, qos, nodes, elapsed FROM job WHERE job_id_raw = ? ORDER BY submit_time"


@dataclass(frozen=True)
class Billed:
    """The jobs by name, the trace, and what the ledger has of a job: (account, amount) of each run."""

    jobs: dict[str, int]
    db: Path

    def runs(self, name: str) -> list[tuple[str, str, str, int, int]]:
        with closing(sqlite3.connect(self.db)) as db:
            return db.execute(RUNS, (self.jobs[name],)).fetchall()

    def entries(self, name: str) -> list[tuple[str | None, float]]:
        with reader(self.db) as trace:
            return [(one.account, float(one.amount)) for one in lines(trace) if one.job_id_raw == self.jobs[name]]


@pytest.fixture(scope="module")
def site(spare: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Billed]:
    """Jobs of one user, synced; then this month is closed, as of when it is over."""
    spare.ask("sacctmgr", "-i", "add", "qos", "low")
    spare.ask("sacctmgr", "-i", "add", "user", "games", "account=chemistry")
    spare.ask("sacctmgr", "-i", "modify", "user", "games", "set", "qos+=low")
    folder = tmp_path_factory.mktemp("charge")
    jobs = submit(spare)
    adminkit(spare, folder / "trace.db", "sync", "--since", "1d")
    (folder / "charge.toml").write_text(SCHEME)
    month = load_schemes(folder / "charge.toml").named(None).calendar.of(int(time.time()))
    with writer(folder / "trace.db") as db:
        begun = db.execute("SELECT min(start_time) FROM job").fetchone()[0]
        first = load_schemes(folder / "charge.toml").named(None).calendar.of(begun)
        closed(db, folder / "charge.toml", *dict.fromkeys((first, month)))
    yield Billed(jobs, folder / "trace.db")


def submit(cluster: Cluster) -> dict[str, int]:
    def add(script: str, *options: str) -> int:
        return cluster.submit(script, "-p", "gq", "-t", "30", *options, user="games")

    last_line = 'sleep 3; scontrol requeuehold "$SLURM_JOB_ID"; sleep 60'
    jobs = {
        "held for ever": add(last_line, "-N1"),
        "made cheap": add(f'if [ -z "$SLURM_RESTART_COUNT" ]; then {last_line}; fi; sleep 1', "-N1"),
        "resized": add('sleep 3; scontrol update "JobId=$SLURM_JOB_ID" NumNodes=1; sleep 3', "-N2"),
    }
    for name in ("held for ever", "made cheap"):
        asked = ("sacct", "-X", "-D", "-n", "-P", "-o", "State", "-j", str(jobs[name]))
        until(f"slurmdbd to have {name} as held", lambda asked=asked: "PENDING" in cluster.ask(*asked), 90)
    cheap = str(jobs["made cheap"])
    time.sleep(5)  # what is changed in the first moments is written into the row of the run that is over, too
    change = ("scontrol", "update", f"JobId={cheap}", "QOS=low", "Account=chemistry")
    until("the job to be changed", lambda: cluster.run(*change, user="games").code == 0, 60)
    cluster.ask("scontrol", "release", cheap, user="games")
    for name in ("made cheap", "resized"):
        cluster.wait(jobs[name], "COMPLETED")
    cluster.settle()
    time.sleep(2)  # sync leaves what ended in its own second to the next
    return jobs


def test_a_job_that_holds_itself_in_its_last_line_is_charged(site: Billed) -> None:
    (over, waits) = site.runs("held for ever")
    assert over[0] == "REQUEUED" and over[4] >= 3 and waits[0] == "PENDING" and not waits[4]
    assert site.entries("held for ever") == [("physics", over[4])]


def test_a_run_is_charged_by_its_own_qos_and_account(site: Billed) -> None:
    dear, cheap = site.runs("made cheap")
    assert (dear[0], dear[1:3], cheap[1:3]) == ("REQUEUED", ("physics", "normal"), ("chemistry", "low"))
    assert site.entries("made cheap") == [("physics", dear[4]), ("chemistry", cheap[4] / 10)]


def test_each_size_of_a_job_is_charged_by_itself(site: Billed) -> None:
    large, small = site.runs("resized")
    assert (large[0], large[3], small[3]) == ("RESIZING", 2, 1) and min(large[4], small[4]) >= 2
    assert site.entries("resized") == [("physics", 2 * large[4]), ("physics", small[4])]


def test_budgets_see_them(site: Billed) -> None:
    month = following("1999-12")
    with reader(site.db) as trace:
        (physics,) = spent_of(trace, [Budget("physics", Decimal(1), month, None)], (), "points")
    wanted = [amount for name in site.jobs for account, amount in site.entries(name) if account == "physics"]
    assert float(physics.amount) == sum(wanted) > 0
