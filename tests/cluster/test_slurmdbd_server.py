"""`adminkit sync --source slurmdbd` and the server of the database: killed while rows come, over TLS, beside a purge.

A second server has a copy of the accounting, so that slurmdbd keeps its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminkit.slurm.database import Database, DatabaseFailed
from tests.cluster.harness.cluster import DATABASE, Cluster
from tests.cluster.harness.generated import add_jobs, remove_jobs
from tests.cluster.harness.mirror import PASSWORD, READER, Mirror, make_ca, wrap_client
from tests.cluster.harness.operator import adminkit, one
from tests.cluster.harness.processes import until
from tests.cluster.test_slurmdbd import dump, env

JOBS = 8000
#: Long before the jobs of other tests.
BEGIN = (int(time.time()) - 20 * 86_400) // 3600 * 3600


@pytest.fixture(scope="module")
def mirror(cluster: Cluster) -> Iterator[Mirror]:
    add_jobs(cluster, JOBS, BEGIN)
    made = Mirror(cluster)
    made.certify()
    made.start()
    made.copy()
    yield made
    made.stop()
    remove_jobs(cluster)


def options(mirror: Mirror, folder: Path, *more: str, tcp: bool = False) -> Path:
    where = f"host=127.0.0.1\nport={mirror.port}" if tcp else f"socket={mirror.socket}"
    path = folder / "mirror.cnf"
    lines = ["[client]", where, f"user={READER}", f"password={PASSWORD}", f"database={DATABASE}", *more]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    return path


def client_on_path(cluster: Cluster, folder: Path) -> dict[str, str]:
    real = cluster.ask("sh", "-c", "command -v mariadb")
    return {"PATH": f"{wrap_client(folder, real)}:{cluster.env()['PATH']}"}


@pytest.fixture(scope="module")
def undisturbed(cluster: Cluster, mirror: Mirror, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    how = env(options(mirror, folder))
    adminkit(cluster, folder / "t.db", "sync", "--since", str(BEGIN), "--no-steps", env=how)
    assert one(folder / "t.db", "SELECT count(*) FROM job WHERE job_id_raw > 1000000") == JOBS
    return folder / "t.db"


@pytest.mark.parametrize(
    ("answer", "after"),
    [(1, 200_000), (2, 1), (3, 700_000)],
    ids=["in the first window", "at the first row of the next", "in a wider one"],
)
def test_a_server_that_is_killed_while_rows_come_loses_nothing(
    answer: int, after: int, cluster: Cluster, mirror: Mirror, undisturbed: Path, tmp_path: Path
) -> None:
    """Answer 0 is that of the comparison with sacct."""
    db, how = tmp_path / "t.db", env(options(mirror, tmp_path))
    assert mirror.process
    killing = {"KILL": str(mirror.process.pid), "FROM": str(answer), "AFTER": str(after)}
    wrapped = {**how, **client_on_path(cluster, tmp_path / "bin"), **killing}
    words = ("sync", "--since", str(BEGIN), "--no-steps")
    try:
        broken = adminkit(cluster, db, *words, code=1, env=wrapped)
        mirror.until_dead()
        assert "couldn't read slurmdbd's database" in broken.stderr
        assert "hint:" in broken.stderr
        assert one(db, "SELECT count(*) FROM job") < JOBS  # type: ignore[operator]
    finally:
        mirror.start()
    adminkit(cluster, db, "sync", *(words[1:3] if answer == 1 else []), "--no-steps", env=how)
    assert dump(db, "job") == dump(undisturbed, "job")


def test_tls_works_and_a_certificate_of_somebody_else_is_refused(
    cluster: Cluster, mirror: Mirror, tmp_path: Path
) -> None:
    mirror.sql(f"ALTER USER {READER}@127.0.0.1 REQUIRE SSL")
    own, other = mirror.folder / "ca.pem", tmp_path / "other.pem"
    make_ca(other)
    good = options(mirror, tmp_path, f"ssl-ca={own}", "ssl-verify-server-cert", tcp=True)
    done = adminkit(cluster, tmp_path / "t.db", "sync", "--since", "1h", "--no-steps", env=env(good))
    assert "agree on" in done.stderr
    for more, said in (
        ((f"ssl-ca={other}", "ssl-verify-server-cert"), "certificate|SSL|TLS"),
        (("skip-ssl",), "Access denied"),
    ):
        bad = options(mirror, tmp_path, *more, tcp=True)
        failed = adminkit(cluster, tmp_path / "u.db", "sync", "--since", "1h", code=1, env=env(bad))
        assert any(word in failed.stderr for word in said.split("|")), failed.stderr
        assert "hint:" in failed.stderr


def test_a_purge_does_not_wait_for_rows_that_are_being_read(
    cluster: Cluster, mirror: Mirror, undisturbed: Path, tmp_path: Path
) -> None:
    """An answer is stopped in the middle. Meanwhile its rows are deleted, as slurmdbd's purge does; none is locked."""
    db, pause = tmp_path / "t.db", tmp_path / "pause"
    how = env(options(mirror, tmp_path)) | client_on_path(cluster, tmp_path / "bin")
    how |= {"PAUSE": str(pause), "FROM": "2", "AFTER": "1000"}
    words = ("sync", "--since", str(BEGIN), "--no-steps")
    syncing = threading.Thread(target=lambda: adminkit(cluster, db, *words, env=how))
    syncing.start()
    try:
        until("rows to come", pause.exists, 60.0)
        holding = "SELECT trx_rows_locked, trx_tables_locked FROM information_schema.innodb_trx"
        reading = mirror.sql(
            f"SELECT 1 FROM information_schema.processlist WHERE user = '{READER}' AND info IS NOT NULL"
        )
        assert reading, "the answer is not whole yet"
        assert all(row == ["0", "0"] for row in mirror.sql(holding))
        mirror.sql(
            "SET innodb_lock_wait_timeout = 1; DELETE FROM alpha_job_table WHERE job_db_inx > 1000000", f"-D{DATABASE}"
        )
        assert mirror.sql("SELECT count(*) FROM alpha_job_table WHERE job_db_inx > 1000000", f"-D{DATABASE}") == [["0"]]
    finally:
        pause.unlink(missing_ok=True)
        syncing.join(120)
        mirror.copy()
    stored = one(db, "SELECT count(*) FROM job WHERE job_id_raw > 1000000")
    assert 0 < stored < JOBS  # type: ignore[operator]
    adminkit(cluster, db, "sync", "--no-steps", env=env(options(mirror, tmp_path)))


def test_the_server_ends_a_question_that_takes_too_long(mirror: Mirror, tmp_path: Path) -> None:
    database = Database(options(mirror, tmp_path), 1.0)
    begun = time.monotonic()
    with pytest.raises(DatabaseFailed, match="max_statement_time") as failed:
        database.ask("SELECT COUNT(*) FROM seq_1_to_1000000 AS a, seq_1_to_1000000 AS b")
    assert time.monotonic() - begun < 10
    assert not failed.value.unreachable
    assert not mirror.sql(f"SELECT 1 FROM information_schema.processlist WHERE user = '{READER}' AND info IS NOT NULL")


def test_nothing_that_is_asked_can_change_a_row(mirror: Mirror, tmp_path: Path) -> None:
    """Even by a user who may: the session is read-only."""
    mirror.sql(f"GRANT ALL ON {DATABASE}.* TO {READER}@localhost")
    try:
        with pytest.raises(DatabaseFailed, match="READ ONLY"):
            Database(options(mirror, tmp_path), 5.0).ask("UPDATE alpha_job_table SET state = 3")
    finally:
        mirror.sql(
            f"REVOKE ALL ON {DATABASE}.* FROM {READER}@localhost; GRANT SELECT ON {DATABASE}.* TO {READER}@localhost"
        )
