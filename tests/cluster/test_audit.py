"""`adminkit trace audit` against a real slurmdbd: what was forged is found, and no honest row is set aside."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.machine import release
from tests.cluster.harness.operator import adminkit, rows
from tests.cluster.harness.processes import until
from tests.cluster.harness.workload import Workload
from tests.support.sql import change, read

DAY = 86_400


@pytest.fixture(scope="module")
def synced(cluster: Cluster, workload: Workload, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of jobs of every kind."""
    db = tmp_path_factory.mktemp("audit") / "trace.db"
    adminkit(cluster, db, "sync", "--since", "1d", "--steps")
    return db


@pytest.fixture
def db(synced: Path, tmp_path: Path) -> Path:
    return copied(synced, tmp_path / "trace.db")


def copied(path: Path, to: Path) -> Path:
    with closing(sqlite3.connect(path)) as trace, closing(sqlite3.connect(to)) as copy:
        trace.backup(copy)
    return to


def ask(cluster: Cluster, db: Path, *words: str) -> tuple[dict[str, int], list[str]]:
    """(runs by verdict, notes)."""
    if release() >= (26, 5):  # its slurmdbd does not say after what time it purges
        words = (*words, "--purge-after", "none")
    said = json.loads(adminkit(cluster, db, "trace", "audit", *words, "--format", "json").stdout)
    found: dict[str, int] = {}
    for row in said["rows"]:
        found[row["verdict"]] = found.get(row["verdict"], 0) + row["runs"]
    return found, said["meta"]["notes"]


def forge(db: Path, number: int = 990001) -> None:
    """A run of uid 9 that never was, beside one that was."""
    names = [row[1] for row in read(db, "PRAGMA table_info(job)")]
    given = {"job_id_raw": str(number), "job_id": f"'{number}'", "uid": "9", "user": "'news'", "db_index": "NULL"}
    columns = ", ".join(f'"{name}"' for name in names)
    values = ", ".join(given.get(name, f'"{name}"') for name in names)
    change(
        db,
        f"INSERT INTO job ({columns}) SELECT {values} FROM job WHERE state = 'COMPLETED' AND gpus > 0"
        " ORDER BY submit_time LIMIT 1 OFFSET 2",
    )


def test_jobs_of_every_kind_are_confirmed_with_their_steps(cluster: Cluster, db: Path) -> None:
    total = read(db, "SELECT count(*) FROM job")[0][0]
    before = rows(db)
    assert ask(cluster, db, "--steps")[0] == {"confirmed": total}
    assert ask(cluster, db, "--steps", "--apply")[0] == {"confirmed": total}
    assert rows(db) == before
    assert read(db, "SELECT DISTINCT audited FROM job") == [("confirmed",)]
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)]


def test_forged_rows_are_set_aside_and_what_was_written_over_comes_back(cluster: Cluster, db: Path) -> None:
    honest = rows(db)
    total = len(read(db, "SELECT 1 FROM job"))
    (victim,) = read(db, "SELECT job_id_raw FROM job WHERE state = 'COMPLETED' AND gpus = 2 LIMIT 1")[0]
    forge(db)
    change(db, f"UPDATE job SET state = 'TIMEOUT', elapsed = 259200, job_name = 'x' WHERE job_id_raw = {victim}")
    forged = read(db, "SELECT * FROM job WHERE job_id_raw = 990001")
    found, notes = ask(cluster, db)
    assert found == {"confirmed": total - 1, "contradicted": 1, "unknown": 1}
    assert any("unknown: 990001@" in note and "of news" in note for note in notes), notes
    assert any(f"contradicted: {victim}@" in note and "differs in job_name, state, elapsed" in note for note in notes)
    assert ask(cluster, db, "--apply")[0] == found
    assert rows(db) == honest
    assert [row[2:] for row in read(db, "SELECT * FROM job_aside WHERE why = 'unknown'")] == forged
    assert ask(cluster, db, "--all")[0] == {"confirmed": total}


@pytest.mark.parametrize(
    ("when", "verdict", "why"),
    [
        ("submit_time = submit_time - 900000, end_time = end_time - 900000", "beyond", "before anything it holds"),
        ("end_time = end_time + 8640000", "unknown", "an end that is still to come"),
    ],
)
def test_a_forged_row_of_another_time(cluster: Cluster, db: Path, when: str, verdict: str, why: str) -> None:
    forge(db)
    change(db, f"UPDATE job SET {when} WHERE job_id_raw = 990001")
    assert ask(cluster, db)[0].get(verdict) == 1, why


def test_what_was_set_aside_is_listed_and_put_back(cluster: Cluster, db: Path) -> None:
    forge(db)
    ask(cluster, db, "--apply")
    said = json.loads(adminkit(cluster, db, "trace", "restore", "--format", "json").stdout)
    (run,) = [row["run"] for row in said["rows"]]
    assert read(db, "SELECT 1 FROM job WHERE job_id_raw = 990001") == []
    assert "did you mean" in adminkit(cluster, db, "trace", "restore", run[:-1], code=2).stderr
    adminkit(cluster, db, "trace", "restore", run, "--apply")
    assert read(db, "SELECT source FROM job WHERE job_id_raw = 990001") == [("trusted",)]


def test_a_cluster_that_slurmdbd_does_not_know_is_beyond(cluster: Cluster, db: Path) -> None:
    total = read(db, "SELECT count(*) FROM job")[0][0]
    change(db, "UPDATE job SET cluster = 'gamma'", "UPDATE step SET cluster = 'gamma'")
    assert ask(cluster, db, "--apply")[0] == {"beyond": total}


def test_slurmdbd_away_sets_nothing_aside(cluster: Cluster, db: Path) -> None:
    forge(db)
    cluster.stop_dbd()
    try:
        failed = adminkit(cluster, db, "trace", "audit", "--apply", code=1)
        assert "slurmdbd" in failed.stderr, failed.stderr
    finally:
        cluster.start_dbd()
    cluster.settle()
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)]
    assert ask(cluster, db, "--apply")[0]["unknown"] == 1


def _older(cluster: Cluster, jobs: Sequence[int], seconds: int) -> None:
    """As if these had run so long ago."""
    ids = ", ".join(map(str, jobs))
    for table, columns in (
        ("alpha_job_table", ("time_submit", "time_eligible", "time_start", "time_end")),
        ("alpha_step_table", ("time_start", "time_end")),
    ):
        which = (
            f"id_job IN ({ids})"
            if table == "alpha_job_table"
            else (f"job_db_inx IN (SELECT job_db_inx FROM alpha_job_table WHERE id_job IN ({ids}))")
        )
        cluster.sql(f"UPDATE {table} SET {', '.join(f'{c} = {c} - {seconds}' for c in columns)} WHERE {which}")


def test_what_slurmdbd_purged_stays_and_earns_nothing_more(spare: Cluster, tmp_path: Path) -> None:
    """slurmdbd's own purge, by the age that operators give it; then a new accounting database."""
    db = tmp_path / "trace.db"
    jobs = [spare.submit("sleep 1", "-t", "5", "--gres=gpu:1", user=user) for user in ("games", "news") * 4]
    for job in jobs:
        spare.wait(job, "COMPLETED")
    spare.settle()
    _older(spare, jobs[:4], 40 * DAY)
    adminkit(spare, db, "sync", "--since", "60d")
    assert read(db, f"SELECT count(*) FROM job WHERE end_time < {int(time.time()) - 30 * DAY}") == [(4,)]
    assert ask(spare, db)[0] == {"confirmed": 8}
    dump = spare.folder / "archive"
    dump.mkdir()
    dump.chmod(0o777)
    spare.ask("sacctmgr", "-i", "archive", "dump", f"Directory={dump}", "PurgeJobAfter=10days")
    left = "SELECT id_job FROM alpha_job_table"
    until("slurmdbd to have purged the old ones", lambda: len(spare.sql(left)) == 4, 30.0)
    forge(db)
    newest = "(SELECT max({0}) FROM job WHERE job_id_raw < 990001) + 1"
    change(
        db,
        f"UPDATE job SET submit_time = {newest.format('submit_time')}, end_time = {newest.format('end_time')}"
        " WHERE job_id_raw = 990001",
    )
    last = spare.submit("sleep 1", "-t", "5")
    spare.wait(last, "COMPLETED")
    spare.settle()
    adminkit(spare, db, "sync")
    copy = copied(db, tmp_path / "rebuilt.db")
    assert ask(spare, db, "--apply")[0] == {"confirmed": 5, "unknown": 1, "beyond": 4}
    assert read(db, "SELECT count(*) FROM job") == [(9,)]
    spare.rebuild_accounting()
    for _ in range(2):
        spare.wait(spare.submit("sleep 1", "-t", "5"), "COMPLETED")
    spare.settle()
    adminkit(spare, copy, "sync")
    found = ask(spare, copy, "--apply")[0]
    assert found["confirmed"] >= 2 and set(found) == {"confirmed", "beyond"}, found
    assert read(copy, "SELECT count(*) FROM job_aside") == [(0,)]
