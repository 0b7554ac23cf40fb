"""`adminkit sync --source slurmdbd` beside the rollup of slurmdbd, which sreport's figures come from: neither waits for
the other, and both come to what they come to alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness.cluster import DATABASE, Cluster
from tests.cluster.harness.generated import add_jobs, remove_jobs
from tests.cluster.harness.mirror import PASSWORD, READER, wrap_client
from tests.cluster.harness.operator import adminkit, one
from tests.cluster.harness.processes import until
from tests.cluster.test_slurmdbd import dump, env, options

JOBS, HOUR = 8000, 3600
#: Long before the jobs of other tests.
BEGIN = (int(time.time()) - 20 * 86_400) // HOUR * HOUR
WORDS = ("sync", "--since", str(BEGIN), "--no-steps")
USAGE = f"SELECT id, time_start, alloc_secs FROM alpha_assoc_usage_hour_table WHERE time_start < {BEGIN + 5 * HOUR}"


@pytest.fixture(scope="module")
def filled(spare: Cluster) -> Iterator[Cluster]:
    spare.sql(f"CREATE OR REPLACE USER {READER}@localhost IDENTIFIED BY '{PASSWORD}'")
    spare.sql(f"GRANT SELECT ON {DATABASE}.* TO {READER}@localhost")
    add_jobs(spare, JOBS, BEGIN)
    spare.sql(f"UPDATE alpha_assoc_table SET creation_time = {BEGIN}, mod_time = {BEGIN}")
    yield spare
    remove_jobs(spare)


def roll(cluster: Cluster) -> list[tuple[str, ...]]:
    """Have slurmdbd roll up the hours of the jobs again; the usage that it finds."""
    cluster.sql(f"DELETE FROM alpha_assoc_usage_hour_table WHERE time_start < {BEGIN + 5 * HOUR}")
    done = cluster.run("sacctmgr", "-i", "rollup", _moment(BEGIN), _moment(BEGIN + 5 * HOUR), env={"TZ": "UTC"})
    assert done.code == 0, done.err
    return sorted(cluster.sql(f"{USAGE} AND alloc_secs > 0"))


def _moment(when: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when))


def waits(cluster: Cluster) -> dict[str, str]:
    """How often anybody has waited for a lock on rows or tables since the server started, and who waits for one now."""
    counted = cluster.sql("SHOW GLOBAL STATUS WHERE variable_name IN ('Innodb_row_lock_waits', 'Table_locks_waited')")
    held = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for%lock'"
    return {row[0]: row[1] for row in counted} | {"waiting now": cluster.sql(held)[0][0]}


def test_a_rollup_does_not_wait_for_rows_that_are_being_read(filled: Cluster, tmp_path: Path) -> None:
    """An answer is stopped in the middle until slurmdbd has rolled up the hours that it is about."""
    alone = roll(filled)
    assert len(alone) >= 4, "an hour each, of one user's association and those above it"
    db, pause = tmp_path / "t.db", tmp_path / "pause"
    how = env(options(filled, tmp_path))
    adminkit(filled, tmp_path / "alone.db", *WORDS, env=how)
    wrapped = f"{wrap_client(tmp_path / 'bin', filled.ask('sh', '-c', 'command -v mariadb'))}:{filled.env()['PATH']}"
    stopping = {**how, "PATH": wrapped, "PAUSE": str(pause), "FROM": "2", "AFTER": "1000"}
    syncing = threading.Thread(target=lambda: adminkit(filled, db, *WORDS, env=stopping))
    before = waits(filled)
    syncing.start()
    try:
        until("rows to come", pause.exists, 60.0)
        assert roll(filled) == alone
        reading = f"SELECT 1 FROM information_schema.processlist WHERE user = '{READER}' AND info IS NOT NULL"
        assert filled.sql(reading), "the answer is not whole yet"
        assert waits(filled) == before
    finally:
        pause.unlink(missing_ok=True)
        syncing.join(120)
    assert one(db, "SELECT count(*) FROM job WHERE job_id_raw > 1000000") == JOBS
    assert dump(db, "job") == dump(tmp_path / "alone.db", "job")


def test_a_reading_gives_the_same_rows_while_slurmdbd_rolls_up(filled: Cluster, tmp_path: Path) -> None:
    how, ended, rolled = env(options(filled, tmp_path)), threading.Event(), []
    adminkit(filled, tmp_path / "alone.db", *WORDS, env=how)
    alone, before = roll(filled), waits(filled)

    def again() -> None:
        while not ended.is_set():
            rolled.append(roll(filled) == alone)

    rolling = threading.Thread(target=again)
    rolling.start()
    try:
        until("a first rollup", lambda: rolled, 60.0)
        adminkit(filled, tmp_path / "t.db", *WORDS, env=how)
    finally:
        ended.set()
        rolling.join(120)
    assert all(rolled)
    assert waits(filled) == before
    assert dump(tmp_path / "t.db", "job") == dump(tmp_path / "alone.db", "job")
