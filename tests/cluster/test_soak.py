"""Long proofs that `adminkit sync` loses nothing and doubles nothing. Each says what it saw: pytest -s shows it."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.ingest.sync import sync
from adminkit.ingest.sync_run import Options
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import ADMINKIT, adminkit, one, rows
from tests.cluster.harness.processes import until
from tests.cluster.harness.sacct_rows import sacct_rows

pytestmark = pytest.mark.soak

OUTAGE = 180.0  # seconds
KILLS = 60
#: Seconds, less than settings allow: with two hours every run would ask for the whole test again, provisional or not.
OVERLAP = 40
SCRIPTS = ("sleep {0}", "sleep {0}", "sleep {0}; exit 3", "srun sleep {0}")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "trace.db"


@contextmanager
def traffic(cluster: Cluster, seed: int) -> Iterator[list[int]]:
    """Jobs that start and end every few seconds until the block is left; yields the ids of those submitted so far."""
    pick, over, jobs, errors = random.Random(seed), threading.Event(), list[int](), list[Exception]()

    def submit() -> None:
        try:
            while not over.wait(pick.uniform(1.0, 3.0)):
                script = pick.choice(SCRIPTS).format(pick.randint(1, 5))
                jobs.append(cluster.submit(script, "-t", "5", user=pick.choice(("games", "news"))))
                if pick.random() < 0.1:
                    cluster.ask("scancel", str(jobs[-1]))
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        yield jobs
    finally:
        over.set()
        thread.join()
    assert errors == []


def drain(cluster: Cluster) -> None:
    """Wait until no job is in the queue and slurmdbd has stored them all."""
    until("the queue to be empty", lambda: not cluster.ask("squeue", "-h", "-t", "PD,R,S,CG"), 120.0)
    cluster.settle(120.0)


def assert_as_sacct_has_it(cluster: Cluster, db: Path, jobs: list[int]) -> None:
    ours, theirs = rows(db), sacct_rows(cluster)
    assert set(jobs) <= {key[0] for key in theirs}, "what slurmctld held for slurmdbd has drained"
    assert {key[0] for key in theirs.keys() - ours.keys()} == set(), "missing"
    assert {key[0] for key in ours.keys() - theirs.keys()} == set(), "too many"
    for key, row in theirs.items():
        assert ours[key] == row, key


def test_three_minutes_without_slurmdbd_lose_nothing(spare: Cluster, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in spare.env().items():
        monkeypatch.setenv(name, value)
    options = Options(db, since=int(time.time()) - 3600, overlap=OVERLAP)
    with traffic(spare, 1) as jobs:
        until("the first jobs", lambda: len(jobs) > 3, 60.0)
        sync(options, [], print)
        spare.stop_dbd()
        try:
            end = time.monotonic() + OUTAGE
            while time.monotonic() < end:
                with pytest.raises(AdminkitError) as failed:
                    sync(options, [], print)
                assert "slurmdbd" in failed.value.hint
                time.sleep(max(0.0, min(20.0, end - time.monotonic())))
            during, owed = len(jobs), spare.backlog()
        finally:
            spare.start_dbd()
        before = spare.backlog()
        (first,) = sync(options, [], print)
        left, early = spare.backlog(), rows(db)
        print(f"{during} jobs, {owed} records owed; {before} when slurmdbd answered, {left} after {first}")
        assert before > 0, "nothing was owed any more: the sync came too late to prove anything"
        assert first.provisional and one(db, "SELECT max(provisional) FROM window") == 1
    drain(spare)
    (last,) = sync(options, [], print)
    print(f"{len(early)} runs at first, {len(rows(db))} of {len(jobs)} jobs in the end: {last}")
    assert one(db, "SELECT max(provisional) FROM window") == 0
    assert_as_sacct_has_it(spare, db, jobs)


def test_sixty_kills_at_random_moments_lose_nothing(spare: Cluster, db: Path) -> None:
    pick = random.Random(60)
    command = [ADMINKIT, "sync", "--since", "3h", "--db", db]
    cut = whole = 0
    usual = 8.0  # seconds: a little more than the last run took that came to its end, so that no moment is spared
    with traffic(spare, 2) as jobs:
        while cut < KILLS:
            began = time.monotonic()
            process = subprocess.Popen(
                command, env=spare.env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
            )
            try:
                assert process.wait(pick.uniform(0.02, usual)) == 0, "a run after a kill works"
                usual, whole = 1.1 * (time.monotonic() - began), whole + 1
            except subprocess.TimeoutExpired:
                cut += 1
                # All of it, or the main process alone, as the kernel does where memory is short.
                kill = pick.choice((os.killpg, os.kill))
                kill(process.pid, signal.SIGKILL)
                process.wait()
            finally:
                if process.poll() is None:  # the test itself was interrupted
                    os.killpg(process.pid, signal.SIGKILL)
            if db.exists():
                with closing(sqlite3.connect(db, timeout=30)) as trace:
                    assert trace.execute("PRAGMA integrity_check").fetchone() == ("ok",), f"kill {cut}"
    print(f"\n{cut} runs were cut short, {whole} ended before; {len(rows(db))} runs were in by then")
    drain(spare)
    said = adminkit(spare, db, "sync", "--since", "3h").stdout
    print(f"{len(rows(db))} runs, {len(jobs)} jobs of this test: {said.strip()}")
    assert_as_sacct_has_it(spare, db, jobs)
    assert not list(db.parent.glob(".*.spool"))
