"""A user who was forgotten stays so, whatever a real slurmdbd goes on saying."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.trace.person import PREFIX
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import accounted, adminkit, one

GONE, STAYS = "www-data", "news"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    (tmp_path / "trace").mkdir()
    return tmp_path / "trace" / "trace.db"


def files_with(folder: Path, word: str) -> list[str]:
    return [one.name for one in folder.rglob("*") if one.is_file() and word.encode() in one.read_bytes()]


def left(db: Path) -> object:
    """Where the name still stands."""
    with closing(sqlite3.connect(db)) as trace:
        return [(line) for line in trace.iterdump() if GONE in line]


def vacuum(db: Path) -> None:
    with closing(sqlite3.connect(db)) as trace:
        trace.execute("VACUUM")
        trace.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def ran(cluster: Cluster, user: str, *options: str) -> int:
    job = cluster.submit("srun -J of-" + user + " true", "-t", "5", "-J", f"{user}-thesis", *options, user=user)
    cluster.wait(job)
    accounted(cluster, job, "COMPLETED")
    return job


def test_sync_and_audit_know_an_id_alone(cluster: Cluster, db: Path) -> None:
    """Runs of before, one that ran on meanwhile, a later one, steps, and rows that an audit asks for again."""
    ended, other = ran(cluster, GONE), ran(cluster, STAYS)
    running = cluster.submit("sleep 600", "-t", "15", "-J", f"{GONE}-runs", user=GONE)
    cluster.wait(running, "RUNNING")
    adminkit(cluster, db, "sync", "--since", "1d", "--steps")
    assert one(db, "SELECT user FROM job WHERE job_id_raw = ?", ended) == GONE
    said = json.loads(adminkit(cluster, db, "trace", "forget", GONE, "--apply", "--format", "json").stdout)
    assert said["mentioned"] == {} and files_with(db.parent, GONE) == []
    person = said["person"]

    cluster.ask("scancel", str(running))
    cluster.wait(running)
    accounted(cluster, running, "CANCELLED")
    later = ran(cluster, GONE)
    for command in (("sync", "--steps"), ("sync", "--steps"), ("trace", "audit", "--all", "--apply")):
        adminkit(cluster, db, *command)
    vacuum(db)
    assert files_with(db.parent, GONE) == [], left(db)
    with closing(sqlite3.connect(db)) as trace:
        users = dict(trace.execute("SELECT job_id_raw, user FROM job").fetchall())
        assert [users[job] for job in (ended, running, later, other)] == [person, person, person, STAYS]
        assert trace.execute(
            "SELECT count(*) FROM job WHERE end_time IS NULL AND job_id_raw = ?", (running,)
        ).fetchone() == (0,)
        assert trace.execute("SELECT count(*) FROM job_aside").fetchone() == (0,), "an audit contradicts none of them"
        steps = trace.execute("SELECT step_name FROM step WHERE job_id_raw = ? ORDER BY step", (later,)).fetchall()
        assert (None,) in steps and ("batch",) in steps
        assert trace.execute("SELECT job_name FROM job WHERE job_id_raw = ?", (other,)).fetchone() == ("news-thesis",)
    assert person.startswith(PREFIX)
    again = adminkit(cluster, db, "sync", "--steps").stdout
    assert "new 0, changed 0" in again, again


def test_a_report_by_user_has_an_id_in_place_of_the_name(cluster: Cluster, db: Path) -> None:
    ran(cluster, GONE)
    adminkit(cluster, db, "sync", "--since", "1d")
    adminkit(cluster, db, "trace", "forget", GONE, "--apply")
    ran(cluster, GONE)
    adminkit(cluster, db, "sync")
    report = adminkit(cluster, db, "report", "states", "--by", "user", "-f", "json").stdout
    assert GONE not in report and PREFIX in report
    vacuum(db)
    assert files_with(db.parent, GONE) == [], left(db)
