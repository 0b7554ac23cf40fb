"""`adminkit sync` against a real slurmdbd: every row, and nothing lost or doubled whatever happens on the way."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.machine import release
from tests.cluster.harness.operator import ADMINKIT, accounted, adminkit, one, rows, with_path, wrapper
from tests.cluster.harness.processes import until
from tests.cluster.harness.sacct_rows import sacct_rows
from tests.cluster.harness.workload import KINDS, NAMES, Workload


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "trace.db"


def test_every_row_is_as_sacct_has_it(cluster: Cluster, workload: Workload, db: Path) -> None:
    adminkit(cluster, db, "sync", "--since", "1d")
    ours, theirs = rows(db), sacct_rows(cluster)
    assert ours.keys() == theirs.keys()
    for key, row in theirs.items():
        assert ours[key] == row, key
    assert one(db, "SELECT count(*) FROM rejected") == 0
    for kind, states in KINDS.items():
        job = workload.ids[kind]
        found = [
            row["state"]
            for _, row in sorted(ours.items())
            if job in (row["job_id_raw"], row["array_job"], row["het_job"])
        ]
        assert sorted(map(str, found)) == sorted(states), kind
    assert (
        one(db, "SELECT job_name FROM job WHERE job_id_raw = ?", workload.ids["name with newlines"])
        == NAMES["name with newlines"].decode()
    )


def test_a_second_run_finds_nothing_new(cluster: Cluster, workload: Workload, db: Path) -> None:
    adminkit(cluster, db, "sync", "--since", "1d")
    before = rows(db)
    again = adminkit(cluster, db, "sync").stdout
    assert "new 0, changed 0" in again
    assert rows(db) == before


def test_steps_fill_the_peaks_of_their_run(cluster: Cluster, workload: Workload, db: Path) -> None:
    adminkit(cluster, db, "sync", "--since", "1d", "--steps")
    job = workload.ids["steps"]
    listed = cluster.ask("sacct", "-n", "-P", "-j", str(job), "-o", "JobID")
    steps = {line.partition(".")[2] for line in listed.splitlines() if "." in line}
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute("SELECT step, exit_code, submit_time FROM step WHERE job_id_raw = ?", (job,)).fetchall()
        submit = trace.execute("SELECT submit_time FROM job WHERE job_id_raw = ?", (job,)).fetchone()[0]
    assert {row[0] for row in found} == steps
    assert {row[2] for row in found} == {submit}, "a step belongs to its run, not to its own start"
    assert ("1", 4) in {row[:2] for row in found}
    peak = one(db, "SELECT max_rss FROM job WHERE job_id_raw = ?", job)
    assert peak == one(db, "SELECT max(max_rss) FROM step WHERE job_id_raw = ?", job) is not None


#: adminkit on a host whose clock is three days ahead.
FAST = """
import sys, time
real = time.time
time.time = lambda: real() + 3 * 86400
from adminkit.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_clock_that_is_three_days_fast_loses_nothing_and_is_said(
    cluster: Cluster, workload: Workload, db: Path
) -> None:
    adminkit(cluster, db, "sync", "--since", "1d")
    before, env = rows(db), {**cluster.env(), "PATH": f"{ADMINKIT.parent}:{cluster.env()['PATH']}"}
    fast = subprocess.run(
        [sys.executable, "-c", FAST, "sync", "--db", db], env=env, capture_output=True, text=True, timeout=300
    )
    assert fast.returncode == 0, fast.stderr
    assert "this host's clock is 72 h ahead of slurmctld's" in fast.stderr
    assert int(str(one(db, "SELECT max(until) FROM window"))) <= time.time() + 1
    doctor = [sys.executable, "-c", FAST, "doctor", "--db", db]
    assert "72 h ahead of slurmctld's" in subprocess.run(doctor, env=env, capture_output=True, text=True).stdout
    assert "this host's and slurmctld's agree" in adminkit(cluster, db, "doctor", code=None).stdout
    adminkit(cluster, db, "sync")
    assert rows(db) == before


def test_what_is_open_is_there_and_closes_later(cluster: Cluster, db: Path) -> None:
    running = cluster.submit("sleep 300", "-t", "30", user="games")
    cluster.wait(running, "RUNNING")
    accounted(cluster, running, "RUNNING")
    adminkit(cluster, db, "sync", "--since", "1h")
    row = "SELECT state || ' ' || coalesce(end_time, 'open') FROM job WHERE job_id_raw = ?"
    assert one(db, row, running) == "RUNNING open"
    cluster.ask("scancel", str(running))
    cluster.wait(running)
    accounted(cluster, running, "CANCELLED")
    adminkit(cluster, db, "sync")
    assert str(one(db, row, running)).startswith("CANCELLED 1")


def test_one_that_vanished_is_looked_up(cluster: Cluster, db: Path, tmp_path: Path) -> None:
    """Its end reached slurmdbd so late that no window asks for it any more: sacct answers windows with nothing."""
    job = cluster.submit("sleep 300", "-t", "5")
    cluster.wait(job, "RUNNING")
    accounted(cluster, job, "RUNNING")
    adminkit(cluster, db, "sync", "--since", "1h")
    assert one(db, "SELECT count(*) FROM job WHERE end_time IS NULL AND job_id_raw = ?", job) == 1
    cluster.ask("scancel", str(job))
    cluster.wait(job)
    accounted(cluster, job, "CANCELLED")
    late = wrapper(tmp_path, "sacct", 'case "$*" in *" -s CD,"*" -S "*|*"-S "*" -s CD,"*) exit 0;; esac')
    command = [ADMINKIT, "sync", "--db", db]
    said = subprocess.run(command, env=with_path(cluster, late), capture_output=True, text=True, check=True).stdout
    assert "1 runs left the queue without an end and were looked up" in said
    assert one(db, "SELECT state FROM job WHERE job_id_raw = ?", job) == "CANCELLED"


def test_slurmdbd_away_is_said_and_loses_nothing(cluster: Cluster, db: Path) -> None:
    adminkit(cluster, db, "sync", "--since", "1h")
    cluster.stop_dbd()
    try:
        failed = adminkit(cluster, db, "sync", code=1)
        assert failed.stderr.startswith("error: ") and "slurmdbd" in failed.stderr.splitlines()[-1], failed.stderr
        jobs = [cluster.submit("sleep 1", "-t", "5", user="news") for _ in range(4)]
        for job in jobs:
            cluster.wait(job, "COMPLETED")
        assert cluster.backlog() > 0
    finally:
        cluster.start_dbd()
    first = adminkit(cluster, db, "sync").stdout  # the backlog may or may not have drained by now
    cluster.settle()
    adminkit(cluster, db, "sync")
    assert rows(db) == {key: row for key, row in sacct_rows(cluster).items() if key in rows(db)}
    assert set(jobs) <= {key[0] for key in rows(db)}, first


def test_a_window_stays_provisional_while_slurmctld_owes_slurmdbd(cluster: Cluster, db: Path, tmp_path: Path) -> None:
    """The same moment, held still: an sdiag that reports a backlog, everything else real."""
    owing = wrapper(tmp_path, "sdiag", "echo 'DBD Agent queue size: 7'; exit 0")
    env = with_path(cluster, owing)
    command = [ADMINKIT, "sync", "--since", "1h", "--db", db]
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    assert "provisional" in said
    assert one(db, "SELECT min(provisional) FROM window") == 1
    cluster.settle()
    adminkit(cluster, db, "sync")
    assert one(db, "SELECT max(provisional) FROM window") == 0


def test_killed_at_any_moment_the_next_run_completes_it(cluster: Cluster, workload: Workload, db: Path) -> None:
    pick = random.Random(3)
    env = cluster.env()
    for _ in range(5):
        command = [ADMINKIT, "sync", "--since", "1d", "--db", db]
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
        )
        time.sleep(pick.uniform(0.1, 1.6))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if db.exists():
            with closing(sqlite3.connect(db)) as trace:
                assert trace.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    adminkit(cluster, db, "sync", "--since", "1d")
    assert rows(db) == sacct_rows(cluster)
    assert not list(db.parent.glob(".*.spool"))


def test_two_runs_at_once_the_second_says_so(cluster: Cluster, db: Path, tmp_path: Path) -> None:
    asked, on = tmp_path / "asked", tmp_path / "on"
    wait = f'case "$*" in *-S*) touch {asked}; until test -e {on}; do sleep 0.1; done;; esac'
    slow = wrapper(tmp_path, "sacct", wait)
    env = with_path(cluster, slow)
    first = subprocess.Popen([ADMINKIT, "sync", "--since", "1h", "--no-steps", "--db", db], env=env)
    try:
        until("the first to ask", asked.exists, 90.0)
        second = adminkit(cluster, db, "sync", "--since", "1h", code=1)
    finally:
        on.touch()
    assert first.wait() == 0
    assert f"another run is at work on {db}" in second.stderr and str(first.pid) in second.stderr


def test_import_then_sync_of_the_same_period_leaves_every_run_once(
    cluster: Cluster, workload: Workload, db: Path, tmp_path: Path
) -> None:
    text = tmp_path / "old.txt"
    fields = "JobID,JobIDRaw,Cluster,Submit,Start,End,State,Timelimit,Partition,User,AllocTRES,JobName"
    done = cluster.run("sacct", "-a", "-X", "-D", "-P", "-S", "now-1day", "-o", fields, env={"TZ": "UTC"})
    text.write_bytes(done.out)
    adminkit(cluster, db, "import", str(text), "--timezone", "UTC", "--max-rejected", "0.5", code=None)
    imported = one(db, "SELECT count(*) FROM job")
    assert isinstance(imported, int) and imported > 20
    adminkit(cluster, db, "sync", "--since", "1d")
    theirs = sacct_rows(cluster)
    assert rows(db) == theirs
    assert one(db, "SELECT min(source = 'slurmdbd') FROM job") == 1


def test_a_full_disk_is_said_and_leaves_the_trace_whole(cluster: Cluster, workload: Workload, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", small], check=True)
    try:
        db = small / "trace.db"
        failed = adminkit(cluster, db, "sync", "--since", "1d", code=1)
        assert "full" in failed.stderr or "No space" in failed.stderr or "no space" in failed.stderr, failed.stderr
        with closing(sqlite3.connect(db)) as trace:
            assert trace.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        subprocess.run(["mount", "-o", "remount,size=40m", small], check=True)
        adminkit(cluster, db, "sync", "--since", "1d")
        assert rows(db) == sacct_rows(cluster)
    finally:
        subprocess.run(["umount", small], check=True)


def test_status_tells_windows_and_gaps(cluster: Cluster, db: Path) -> None:
    adminkit(cluster, db, "sync", "--since", "2h", "--no-steps")
    report = json.loads(adminkit(cluster, db, "trace", "status", "--format", "json").stdout)
    (row,) = report["rows"]
    assert (row["cluster"], row["pass"], row["provisional"], row["gaps"]) == ("alpha", "job", 0, 0)
    assert row["until"] - row["since"] == pytest.approx(7200, abs=10)


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (("--since", "yesterdy"), "yesterday", 2),
        (("--since", "1h", "-M", "alfa"), "did you mean alpha?", 2),
        ((), "adminkit sync --since", 2),
    ],
)
def test_what_cannot_be_meant_is_answered(
    cluster: Cluster, db: Path, words: tuple[str, ...], says: str, code: int
) -> None:
    assert says in adminkit(cluster, db, "sync", *words, code=code).stderr


# a cluster of this file's own, which others cannot use afterwards


def test_a_second_cluster_is_kept_apart(spare: Cluster, db: Path) -> None:
    beta = spare.another("beta")
    for each in (spare, beta):
        for job in [each.submit("sleep 1", "-t", "5") for _ in range(3)]:
            each.wait(job, "COMPLETED")
        each.settle()
    adminkit(spare, db, "sync", "--since", "1d", "-M", "alpha", "-M", "beta")
    assert rows(db, "alpha") == sacct_rows(spare)
    assert rows(db, "beta") == sacct_rows(beta, "-M", "beta")
    assert len(rows(db, "beta")) == 3


def test_a_rebuilt_accounting_database_is_said_and_nothing_is_overwritten(spare: Cluster, db: Path) -> None:
    """Last in this file: it empties slurmdbd."""
    for job in [spare.submit("sleep 1", "-t", "5", user="games") for _ in range(4)]:
        spare.wait(job, "COMPLETED")
    spare.settle()
    adminkit(spare, db, "sync", "--since", "1d")
    before = rows(db)
    assert len(before) > 3
    spare.rebuild_accounting()
    for _ in range(3):
        spare.wait(spare.submit("sleep 1", "-t", "5"), "COMPLETED")
    spare.settle()
    said = adminkit(spare, db, "sync").stdout
    # From 24.11 on DBIndex is a number that never comes again: there is nothing to notice.
    assert ("the accounting database was rebuilt; nothing was overwritten" in said) == (release() < (24, 11))
    after = rows(db)
    assert {key: after[key] for key in before} == before
    assert {key: row for key, row in after.items() if key not in before} == {
        key: row for key, row in sacct_rows(spare).items() if key not in before
    }
