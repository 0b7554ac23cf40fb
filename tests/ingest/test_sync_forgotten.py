"""What sync and the audit bring of a user who was forgotten: runs without the name."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.trace.person import PREFIX
from tests.ingest.audit.trace_to_audit import ask
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.ingest.trace_to_sync import DAY, HOUR, NOW, run

NAME = "quentin-v"
#: Of the job that runs when the name is forgotten.
BEGUN = {"Submit": str(NOW - 700), "Eligible": str(NOW - 700), "Start": str(NOW - 660)}


def users(db: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute("SELECT job_id_raw, user FROM job ORDER BY 1").fetchall()


def bytes_of(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())


def vacuum(db: Path) -> None:
    with closing(sqlite3.connect(db)) as trace:
        trace.execute("VACUUM")
        trace.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.fixture
def forgotten(slurm: FakeSlurm, db: Path, said: list[str]) -> str:
    """Two ended runs, one that runs, and one of another user; then the name is forgotten. Returns the id."""
    mine = {"User": NAME, "UID": "54321", "Account": NAME, "JobName": f"{NAME}.sh"}
    slurm.jobs = [
        job(1, NOW - 5 * HOUR, **mine),
        job(2, NOW - HOUR, **mine),
        job(3, **mine, **BEGUN),
        job(4, NOW - HOUR),
    ]
    slurm.jobs = [{"UID": "1001", "Account": "vision", **one} for one in slurm.jobs]
    slurm.fields += ["UID", "Account"]
    slurm.events = [("n1", NOW - 3 * HOUR, None, "DOWN", f"{NAME}(54321)", f"{NAME} looks")]
    run(slurm, db, said, since=NOW - DAY)
    assert dict(users(db)) == {1: NAME, 2: NAME, 3: NAME, 4: "user1"}
    assert main(["trace", "forget", NAME, "--db", str(db), "--apply"]) == 0
    return users(db)[0][1]


def test_a_later_sync_knows_the_id_alone(slurm: FakeSlurm, db: Path, said: list[str], forgotten: str) -> None:
    """The overlap is asked for again, a run ends, a new one comes, and the action log is read again."""
    mine = {"User": NAME, "UID": "54321", "Account": NAME, "JobName": f"{NAME}.sh"}
    slurm.jobs[2] = job(3, NOW - 60, **mine, **BEGUN)
    slurm.jobs.append(job(5, NOW - 30, **mine))
    log = db.parent / "log" / "acts.jsonl"
    log.parent.mkdir()
    log.write_text(f'{{"at": 5, "who": "{NAME}", "what": "policy install"}}\n')
    run(slurm, db, said, acts=log)
    log.unlink()
    vacuum(db)
    assert users(db) == [(1, forgotten), (2, forgotten), (3, forgotten), (4, "user1"), (5, forgotten)]
    assert NAME.encode() not in bytes_of(db.parent)
    with closing(sqlite3.connect(db)) as trace:
        assert trace.execute("SELECT who FROM action WHERE what = 'policy install'").fetchall() == [(forgotten,)]
        assert trace.execute("SELECT reason, user, uid FROM node_event").fetchall() == [(None, None, None)]
        assert trace.execute("SELECT count(*) FROM job WHERE end_time IS NULL").fetchone() == (0,)


def test_a_record_that_cannot_be_read_is_not_kept(slurm: FakeSlurm, db: Path, said: list[str], forgotten: str) -> None:
    slurm.jobs.append(job(7, NOW - 30, User=NAME, UID="", Account="", Submit="soon"))
    slurm.jobs.append(job(8, NOW - 30, User="mei", UID="", Account="", Submit="soon"))
    run(slurm, db, said)
    with closing(sqlite3.connect(db)) as trace:
        kept = [raw for (raw,) in trace.execute("SELECT raw FROM rejected")]
    assert len(kept) == 1 and b"mei" in kept[0]
    assert forgotten.startswith(PREFIX)


def test_an_audit_finds_nothing_wrong_and_no_name(slurm: FakeSlurm, db: Path, said: list[str], forgotten: str) -> None:
    run(slurm, db, said)
    before = users(db)
    done = ask(slurm, db, apply=True, again=True)
    assert done.counts["contradicted"] == done.counts["unknown"] == 0 and done.counts["confirmed"] >= 2
    vacuum(db)
    assert users(db) == before and NAME.encode() not in bytes_of(db.parent)
