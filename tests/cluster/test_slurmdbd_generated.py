"""`adminkit sync --source slurmdbd` on generated jobs with a step each: both sources give the same rows."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.harness import warm
from tests.cluster.harness.cluster import DATABASE, Cluster
from tests.cluster.harness.generated import add_jobs, remove_jobs, vary
from tests.cluster.harness.mirror import PASSWORD, READER
from tests.cluster.test_slurmdbd import NOT_COMPARED, env, options

BEGIN = (int(time.time()) - 5 * 86_400) // 3600 * 3600


def _differences(ours: Path, theirs: Path, table: str) -> list[tuple[object, ...]]:
    """For each column in which rows differ: its name, how many, and the first with the database's and sacct's value."""
    key = "cluster, job_id_raw, submit_time" + (", step" if table == "step" else "")
    with closing(sqlite3.connect(ours)) as trace:
        trace.execute("ATTACH ? AS other", (str(theirs),))
        names = [row[1] for row in trace.execute(f"PRAGMA table_info({table})") if row[1] not in NOT_COMPARED]
        found: list[tuple[object, ...]] = []
        for name in names:
            differing = trace.execute(
                f'SELECT count(*), job_id_raw, o."{name}", t."{name}" FROM main.{table} AS o'
                f' JOIN other.{table} AS t USING ({key}) WHERE o."{name}" IS NOT t."{name}"'
            ).fetchone()
            found += [(name, *differing)] if differing[0] else []
        for one, two in (("main", "other"), ("other", "main")):
            missing = f"SELECT {key} FROM {one}.{table} EXCEPT SELECT {key} FROM {two}.{table}"
            rows = trace.execute(f"SELECT count(*), min(job_id_raw) FROM ({missing})")
            found += [(f"only in {one}", *row) for row in rows if row[0]]
    return found


@pytest.mark.parametrize("jobs", [4000, pytest.param(300_000, marks=pytest.mark.soak)])
def test_both_sources_give_the_same_rows_of_generated_jobs(spare: Cluster, jobs: int, tmp_path: Path) -> None:
    spare.sql(f"CREATE OR REPLACE USER {READER}@localhost IDENTIFIED BY '{PASSWORD}'")
    spare.sql(f"GRANT SELECT ON {DATABASE}.* TO {READER}@localhost")
    remove_jobs(spare)
    add_jobs(spare, jobs, BEGIN, steps=True)
    vary(spare)
    traces = {"sacct": tmp_path / "sacct.db", "slurmdbd": tmp_path / "slurmdbd.db"}
    more: dict[str, dict[str, str]] = {"sacct": {}, "slurmdbd": env(options(spare, tmp_path))}
    for source, db in traces.items():
        words = ("sync", "--steps", "--since", str(BEGIN), "--db", str(db))
        path = f"{warm.ADMINKIT.parent}:{spare.env()['PATH']}"
        done = warm.run(words, {**spare.env(), "PATH": path, **more[source]}, seconds=3600)
        assert done.returncode == 0, done.stderr
    for table in ("job", "step"):
        with closing(sqlite3.connect(traces["sacct"])) as trace:
            (rows,) = trace.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert rows >= jobs * 0.9, table
        assert not _differences(traces["slurmdbd"], traces["sacct"], table), table
    rejected = "SELECT reason, count(*) FROM rejected GROUP BY reason ORDER BY reason"
    told = [closing(sqlite3.connect(db)) for db in traces.values()]
    with told[0] as one, told[1] as two:
        assert one.execute(rejected).fetchall() == two.execute(rejected).fetchall()
