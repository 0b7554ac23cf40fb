"""Long proofs of `adminkit sync --source slurmdbd`: a server that is killed fifty times, a replica, two clusters."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness.cluster import DATABASE, Cluster
from tests.cluster.harness.generated import add_jobs, remove_jobs
from tests.cluster.harness.mirror import PASSWORD, READER, Mirror
from tests.cluster.harness.operator import adminkit, one
from tests.cluster.harness.processes import until
from tests.cluster.test_slurmdbd import dump, env
from tests.cluster.test_slurmdbd_server import client_on_path, options

pytestmark = pytest.mark.soak

JOBS, KILLS = 6000, 50
BEGIN = (int(time.time()) - 20 * 86_400) // 3600 * 3600


@pytest.fixture(scope="module")
def filled(spare: Cluster) -> Iterator[Cluster]:
    job = spare.submit("true", "-t", "5", user="games")
    spare.wait(job)
    spare.settle()
    add_jobs(spare, JOBS, BEGIN, steps=True)
    yield spare
    remove_jobs(spare)


def test_a_server_that_is_killed_fifty_times_while_rows_come_loses_nothing(filled: Cluster, tmp_path: Path) -> None:
    """Each sync is killed at a random byte of a random answer until one is whole; then the next trace begins."""
    mirror, luck, kills, traces = Mirror(filled), random.Random(4), 0, 0
    mirror.start()
    mirror.copy()
    how = env(options(mirror, tmp_path))
    adminkit(filled, tmp_path / "whole.db", "sync", "--since", str(BEGIN), "--steps", env=how)
    whole = [dump(tmp_path / "whole.db", table) for table in ("job", "step")]
    while kills < KILLS:
        traces += 1
        db = tmp_path / f"{traces}.db"
        for attempt in range(60):
            assert mirror.process
            random_place = {"FROM": str(luck.randrange(1, 6)), "AFTER": str(int(10 ** luck.uniform(0, 5.5)))}
            wrapped = client_on_path(filled, tmp_path / f"bin-{traces}-{attempt}")
            killing = {**how, **wrapped, **random_place, "KILL": str(mirror.process.pid)}
            words = ("sync", "--steps", "--since", str(BEGIN))
            done = adminkit(filled, db, *words, code=None, env=killing)
            if done.returncode == 0:
                break
            assert "couldn't read slurmdbd's database" in done.stderr, done.stderr
            mirror.until_dead()
            kills += 1
            mirror.start()
        if mirror.dead():  # killed behind the last row that sync needed
            mirror.start()
        adminkit(filled, db, "sync", "--steps", env=how)
        assert [dump(db, table) for table in ("job", "step")] == whole, f"after {kills} kills"
    mirror.stop()
    print(f"{kills} kills over {traces} traces: each as undisturbed")


def test_a_replica_that_is_behind_gives_the_rest_later(filled: Cluster, tmp_path: Path) -> None:
    primary, replica = Mirror(filled, "primary"), Mirror(filled, "replica")
    primary.more, replica.more = ["--log-bin=bin", "--server-id=1"], ["--server-id=2", "--read-only"]
    for server in (primary, replica):
        server.start()
        server.copy()
    [[place]] = primary.sql("SELECT @@gtid_binlog_pos")
    primary.sql(
        f"CREATE USER follower@127.0.0.1 IDENTIFIED BY '{PASSWORD}';"
        " GRANT REPLICATION SLAVE ON *.* TO follower@127.0.0.1"
    )
    replica.sql(
        f"SET GLOBAL gtid_slave_pos = '{place}'; CHANGE MASTER TO master_host = '127.0.0.1',"
        f" master_port = {primary.port}, master_user = 'follower', master_password = '{PASSWORD}',"
        " master_use_gtid = slave_pos; START SLAVE"
    )
    db, how = tmp_path / "t.db", env(options(replica, tmp_path))
    adminkit(filled, db, "sync", "--since", "1h", "--no-steps", env=how)

    def ended_now(number: int) -> None:
        names = [row[0] for row in filled.sql("SHOW COLUMNS FROM alpha_job_table")]
        now = int(time.time()) - 60
        changed = {"job_db_inx": number, "id_job": number, "time_end": now, "mod_time": now}
        cells = ", ".join(str(changed.get(name, f"`{name}`")) for name in names)
        statement = f"INSERT INTO alpha_job_table SELECT {cells} FROM alpha_job_table WHERE job_db_inx = 1000001"
        filled.sql(statement)
        primary.sql(statement, f"-D{DATABASE}")

    def there(number: int) -> object:
        return one(db, "SELECT count(*) FROM job WHERE job_id_raw = ?", number)

    def arrived(number: int) -> bool:
        found = replica.sql(f"SELECT 1 FROM alpha_job_table WHERE id_job = {number}", f"-D{DATABASE}")
        return bool(found)

    ended_now(1_900_001)
    until("the replica to follow", lambda: arrived(1_900_001), 30.0)
    adminkit(filled, db, "sync", "--no-steps", env=how)
    assert there(1_900_001) == 1
    replica.sql("STOP SLAVE")
    ended_now(1_900_002)
    time.sleep(61)
    adminkit(filled, db, "sync", "--no-steps", env=how)
    assert there(1_900_002) == 0
    replica.sql("START SLAVE")
    until("the replica to follow", lambda: arrived(1_900_002), 30.0)
    adminkit(filled, db, "sync", "--no-steps", env=how)
    assert there(1_900_002) == 1
    replica.stop()
    primary.stop()


def test_two_clusters_in_one_database_are_kept_apart(filled: Cluster, tmp_path: Path) -> None:
    beta = filled.another("beta")
    jobs = {
        "alpha": filled.submit("true", "-t", "5", user="games"),
        "beta": beta.submit("true", "-t", "5", user="games"),
    }
    filled.wait(jobs["alpha"])
    beta.wait(jobs["beta"])
    beta.settle()
    filled.settle()
    time.sleep(1.1)
    filled.sql(f"CREATE OR REPLACE USER {READER}@localhost IDENTIFIED BY '{PASSWORD}'")
    filled.sql(f"GRANT SELECT ON {DATABASE}.* TO {READER}@localhost")
    path = tmp_path / "both.cnf"
    path.write_text(f"[client]\nsocket={filled.socket}\nuser={READER}\npassword={PASSWORD}\ndatabase={DATABASE}\n")
    path.chmod(0o600)
    plain, quick = tmp_path / "sacct.db", tmp_path / "slurmdbd.db"
    words = ("sync", "--since", "1h", "--steps", "-M", "alpha", "-M", "beta")
    adminkit(filled, plain, *words)
    adminkit(filled, quick, *words, env=env(path))
    for table in ("job", "step"):
        assert dump(quick, table) == dump(plain, table)
    for name, job in jobs.items():
        assert one(quick, "SELECT count(*) FROM job WHERE cluster = ? AND job_id_raw = ?", name, job) == 1
