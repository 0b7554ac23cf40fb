"""`adminkit sync --source slurmdbd` on a real slurmdbd and MariaDB: the rows are sacct's, and failures lose nothing."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.harness.cluster import DATABASE, Cluster
from tests.cluster.harness.operator import adminkit, one
from tests.cluster.harness.processes import until
from tests.cluster.harness.workload import Workload

READER, PASSWORD = "adminkit_reader", "only for this test"
#: Columns that depend on the text that a row was read from, or on when.
NOT_COMPARED = ("fingerprint", "seen_open")


@pytest.fixture(scope="module")
def reader(cluster: Cluster) -> Iterator[str]:
    """A user of the database that may read slurmdbd's tables, as docs/sync.md grants it."""
    cluster.sql(f"CREATE OR REPLACE USER {READER}@localhost IDENTIFIED BY '{PASSWORD}'")
    cluster.sql(f"GRANT SELECT ON {DATABASE}.* TO {READER}@localhost")
    yield READER
    cluster.sql(f"DROP USER {READER}@localhost")


def options(cluster: Cluster, folder: Path, more: str = "", password: str = PASSWORD, database: str = DATABASE) -> Path:
    path = folder / "slurmdbd.cnf"
    path.write_text(
        f"[client]\nsocket={cluster.socket}\nuser={READER}\npassword={password}\ndatabase={database}\n{more}"
    )
    path.chmod(0o600)
    return path


def env(path: Path) -> dict[str, str]:
    return {"ADMINKIT_SYNC_SOURCE": "slurmdbd", "ADMINKIT_SYNC_OPTION_FILE": str(path)}


def dump(db: Path, table: str) -> list[tuple[object, ...]]:
    """All columns of all rows but the fingerprint of the text that they were read from."""
    with closing(sqlite3.connect(db)) as trace:
        names = [row[1] for row in trace.execute(f"PRAGMA table_info({table})")]
        kept = ", ".join(f'"{name}"' for name in names if name not in NOT_COMPARED)
        return sorted(trace.execute(f"SELECT {kept} FROM {table}").fetchall(), key=repr)


@pytest.fixture
def waiting(cluster: Cluster) -> Iterator[list[int]]:
    """Jobs that are open: a running one, a held array with a step and one without, and one of a later time."""
    jobs = [
        cluster.submit("sleep 300", "-t", "10", user="games"),
        cluster.submit("true", "--hold", "--array=1-30:3", "-t", "5", user="news"),
        cluster.submit("true", "--array=0-3,9%2", "--begin=now+1hour", "-t", "5", user="news"),
        cluster.submit("true", "--begin=now+1hour", "-t", "5", user="games"),
    ]
    cluster.wait(jobs[0], "RUNNING")
    cluster.settle()
    yield jobs
    cluster.ask("scancel", *map(str, jobs))
    for job in jobs:
        cluster.wait(job)
    cluster.settle()
    time.sleep(1.1)  # what ended in a sync's own second is left to the next


def test_both_sources_give_the_same_rows(
    cluster: Cluster, workload: Workload, waiting: list[int], reader: str, tmp_path: Path
) -> None:
    plain, quick = tmp_path / "sacct.db", tmp_path / "slurmdbd.db"
    adminkit(cluster, plain, "sync", "--since", "1d", "--steps")
    done = adminkit(cluster, quick, "sync", "--since", "1d", "--steps", env=env(options(cluster, tmp_path)))
    assert "agree on" in done.stderr
    before = _all(plain)
    for _ in range(5):  # slurmctld tells slurmdbd of a job a moment later: what came between the two is read again
        adminkit(cluster, plain, "sync", "--steps")
        if before == (before := _all(plain)):
            break
        adminkit(cluster, quick, "sync", "--steps", env=env(options(cluster, tmp_path)))
    assert one(quick, "SELECT count(*) FROM rejected") == 0
    for table, least in (("job", 30), ("step", 30)):
        ours, theirs = dump(quick, table), dump(plain, table)
        assert len(theirs) >= least
        assert len(ours) == len(theirs)
        assert not _differences(quick, table, ours, theirs)
    assert one(quick, "SELECT source FROM load ORDER BY rowid DESC LIMIT 1") == "slurmdbd"


def _differences(
    db: Path, table: str, ours: list[tuple[object, ...]], theirs: list[tuple[object, ...]]
) -> list[tuple[object, ...]]:
    """Column, the database's and sacct's value, and the begin of the row."""
    with closing(sqlite3.connect(db)) as trace:
        names = [row[1] for row in trace.execute(f"PRAGMA table_info({table})") if row[1] not in NOT_COMPARED]
    return [
        (name, *cells, own[:5])
        for own, other in zip(ours, theirs, strict=True)
        for name, *cells in zip(names, _still(own), _still(other), strict=True)
        if cells[0] != cells[1]
    ]


def _all(db: Path) -> list[tuple[object, ...]]:
    """The rows of jobs and steps."""
    return [_still(row) for table in ("job", "step") for row in dump(db, table)]


def _still(row: tuple[object, ...]) -> tuple[object, ...]:
    """A row without what goes on while a job runs: a minute may have passed between the two."""
    running = "RUNNING" in row
    return tuple(None if running and isinstance(cell, int) and cell < 3600 else cell for cell in row)


def test_a_second_run_finds_nothing_new_and_compares_only_when_asked(
    cluster: Cluster, workload: Workload, reader: str, tmp_path: Path
) -> None:
    db, how = tmp_path / "trace.db", env(options(cluster, tmp_path))
    adminkit(cluster, db, "sync", "--since", "1d", env=how)
    before = dump(db, "job")
    again = adminkit(cluster, db, "sync", env=how)
    assert "new 0, changed 0" in again.stdout
    assert "agree on" not in again.stderr
    assert dump(db, "job") == before
    assert "agree on" in adminkit(cluster, db, "sync", "--verify", "5", env=how).stderr


def test_what_is_changed_behind_sacct_is_named_and_nothing_is_stored(
    cluster: Cluster, workload: Workload, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sacct that says another Account: as if this release made the field of another column."""
    db, how = tmp_path / "trace.db", env(options(cluster, tmp_path))
    folder = tmp_path / "bin"
    folder.mkdir()
    real = cluster.ask("sh", "-c", "command -v sacct").strip()
    (folder / "sacct").write_text(f'#!/bin/sh\n{real} "$@" | sed s/physics/alchemy/g\n')
    (folder / "sacct").chmod(0o755)
    changed = {**how, "PATH": f"{folder}:{cluster.env()['PATH']}"}
    failed = adminkit(cluster, db, "sync", "--since", "1d", code=1, env=changed)
    assert "disagree" in failed.stderr
    assert "Account: sacct says alchemy, the database physics" in failed.stderr
    assert one(db, "SELECT count(*) FROM job") == 0


@pytest.mark.parametrize(
    ("how", "sql", "said"),
    [
        ({"password": "wrong"}, "", "Access denied"),
        ({"database": "mysql"}, "", "command denied|no table|Access denied"),
        ({}, f"REVOKE SELECT ON {DATABASE}.* FROM {READER}@localhost", "Access denied|no table"),
        ({}, f"ALTER USER {READER}@localhost ACCOUNT LOCK", "locked|Access denied"),
        ({"more": "ssl-ca=/nowhere.pem\nssl-verify-server-cert\n"}, "", "SSL|TLS"),
        ({"more": "skip-ssl\n"}, f"ALTER USER {READER}@localhost REQUIRE SSL", "SSL|TLS|Access denied"),
    ],
    ids=["a wrong password", "another database", "no rights", "a locked user", "a CA that is not there", "no TLS"],
)
def test_a_database_that_refuses_is_a_clear_error_and_the_next_run_completes_the_window(
    how: dict[str, str], sql: str, said: str, cluster: Cluster, reader: str, tmp_path: Path
) -> None:
    db, good = tmp_path / "t.db", env(options(cluster, tmp_path))
    adminkit(cluster, db, "sync", "--since", "1h", "--no-steps", env=good)
    job = cluster.submit("true", "-t", "5", user="games")
    cluster.wait(job)
    cluster.settle()
    time.sleep(1.1)
    windows = "SELECT max(until), count(*) FROM window"
    before = _row(db, windows)
    cluster.sql(sql or "SELECT 1")
    try:
        failed = adminkit(cluster, db, "sync", "--no-steps", code=1, env=env(options(cluster, tmp_path, **how)))
    finally:
        cluster.sql(f"ALTER USER {READER}@localhost REQUIRE NONE ACCOUNT UNLOCK")
        cluster.sql(f"GRANT SELECT ON {DATABASE}.* TO {READER}@localhost")
    assert re.search(said, failed.stderr), failed.stderr
    assert "hint:" in failed.stderr
    assert _row(db, windows) == before
    there = "SELECT count(*) FROM job WHERE job_id_raw = ?"
    assert one(db, there, job) == 0
    adminkit(cluster, db, "sync", "--no-steps", env=env(options(cluster, tmp_path)))
    assert one(db, there, job) == 1


def _row(db: Path, sql: str) -> tuple[object, ...]:
    with closing(sqlite3.connect(db)) as trace:
        row: tuple[object, ...] = trace.execute(sql).fetchone()
        return row


def test_a_server_that_ends_the_connection_leaves_the_window_open(
    cluster: Cluster, workload: Workload, reader: str, tmp_path: Path
) -> None:
    """The connection is ended while rows come: each answer waits a moment in the middle, and is killed there."""
    db, how = tmp_path / "trace.db", env(options(cluster, tmp_path))
    adminkit(cluster, db, "sync", "--since", "1h", env=how)
    folder = tmp_path / "bin"
    folder.mkdir()
    real = cluster.ask("sh", "-c", "command -v mariadb").strip()
    killer = f'{real} --no-defaults --socket={cluster.socket} -e "KILL USER {READER}"'
    (folder / "mariadb").write_text(
        f'#!/bin/sh\nsql=$(cat)\ncase "$sql" in *CONCAT*j.job_name*) (sleep 0.5; {killer}) & '
        f'sql=$(printf "%s" "$sql" | sed "s/\\(.*\\) WHERE /\\1 WHERE SLEEP(1) = 0 AND /") ;; esac\n'
        f'printf "%s" "$sql" | exec {real} "$@"\n'
    )
    (folder / "mariadb").chmod(0o755)
    job = cluster.submit("true", "-t", "5", user="games")
    cluster.wait(job)
    cluster.settle()
    time.sleep(1.1)
    broken = adminkit(cluster, db, "sync", code=None, env={**how, "PATH": f"{folder}:{cluster.env()['PATH']}"})
    assert broken.returncode == 1, broken.stdout
    assert "couldn't read slurmdbd's database" in broken.stderr
    adminkit(cluster, db, "sync", env=how)
    assert one(db, "SELECT count(*) FROM job WHERE job_id_raw = ?", job) == 1


def test_a_run_that_is_changed_after_its_window_was_read_comes_by_itself(
    cluster: Cluster, reader: str, tmp_path: Path
) -> None:
    """The run is five days old, so that only the table's own mark of the change leads to it."""
    db, how = tmp_path / "trace.db", env(options(cluster, tmp_path))
    job = cluster.submit("true", "-t", "5", user="games")
    cluster.wait(job)
    cluster.settle()
    times = ("submit", "eligible", "start", "end")
    earlier = ", ".join(f"time_{name} = time_{name} - {5 * 86_400}" for name in times)
    cluster.sql(f"UPDATE alpha_job_table SET {earlier} WHERE id_job = {job}")
    adminkit(cluster, db, "sync", "--since", "6d", env=how)
    assert one(db, "SELECT derived_exit_code FROM job WHERE job_id_raw = ?", job) == 0
    assert "changed 0" in adminkit(cluster, db, "sync", env=how).stdout
    cluster.ask("sacctmgr", "-i", "modify", "job", f"jobid={job}", "set", f"derivedexitcode={7 << 8}")
    told = f"job {job} of games: derived_exit_code was 0 at its end and is 7 now"
    # On a busy host the question may rest for a while.
    until("the change to come", lambda: told in adminkit(cluster, db, "sync", env=how).stderr, 300.0)
    assert one(db, "SELECT derived_exit_code FROM job WHERE job_id_raw = ?", job) == 7


def test_a_window_with_a_code_that_sacct_does_not_spell_is_asked_for_again(
    cluster: Cluster, reader: str, tmp_path: Path
) -> None:
    db, how = tmp_path / "trace.db", env(options(cluster, tmp_path))
    for _ in range(2):  # the first one is for the comparison with sacct
        job = cluster.submit("true", "-t", "5", user="games")
        cluster.wait(job)
        cluster.settle()
        time.sleep(1.1)
        if not db.exists():
            adminkit(cluster, db, "sync", "--since", "1h", env=how)
    folder = tmp_path / "bin"
    folder.mkdir()
    real = cluster.ask("sh", "-c", "command -v sacct").strip()
    (folder / "sacct").write_text(f'#!/bin/sh\n[ "$1" != -V ] || exec {real} -V\n')
    (folder / "sacct").chmod(0o755)
    silent = adminkit(cluster, db, "sync", env={**how, "PATH": f"{folder}:{cluster.env()['PATH']}"})
    assert "sacct gave no word yet" in silent.stderr
    assert one(db, "SELECT count(*) FROM job WHERE job_id_raw = ?", job) == 0
    assert one(db, "SELECT count(*) FROM rejected") == 0
    [(end,)] = cluster.sql(f"SELECT time_end FROM alpha_job_table WHERE id_job = {job}")
    its = "SELECT min(provisional) FROM window WHERE pass = 'job' AND since <= ? AND until > ?"
    assert one(db, its, int(end), int(end)) == 1
    adminkit(cluster, db, "sync", env=how)
    assert one(db, "SELECT count(*) FROM job WHERE job_id_raw = ?", job) == 1
    assert one(db, "SELECT count(*) FROM window WHERE provisional") == 0
