"""The trace as it was: each table is that of a trace that was cut then."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from adminkit.errors import UsageError
from adminkit.job import Job
from adminkit.stats.incentives import Criteria, sums
from adminkit.trace import as_of, gpu_words
from adminkit.trace.connect import reader
from adminkit.trace.sight import everybodys
from tests.support.builders import MONDAY, job, make_trace
from tests.support.others import GROUP, OWNER, READER, as_user
from tests.support.past import (
    DAY,
    FROM_END,
    FROM_START,
    SPECIAL,
    STEP_FROM_END,
    TODAY,
    contents,
    contents_of,
    crafted,
    cut,
    moments,
)  # fmt: skip

TABLES: Final = {
    "month_file",
    *"job step job_aside step_aside outbox queue node node_event fact window rejected load action person".split(),
    "forgotten",
    "power_curve",
    "ledger",
    "ledger_scheme",
    *gpu_words.NAMES,
    *("trace", "run"),  # views
}


@pytest.mark.parametrize("seed", range(8))
def test_every_table_and_view_is_that_of_the_cut_trace(tmp_path: Path, seed: int) -> None:
    path = crafted(tmp_path / "t.db", seed)
    with closing(sqlite3.connect(path)) as db:
        ends = [at for (at,) in db.execute("SELECT end_time FROM job WHERE end_time > ?", (MONDAY + 9 * DAY,))]
        columns = [row[1] for row in db.execute("SELECT * FROM pragma_table_info('job')")]
    assert {*contents_of(path)} == TABLES, "a new table has to be cut, here and in trace/as_of.py"
    for at in (*moments(seed, 3), ends[seed], ends[seed] - 1, TODAY):
        with reader(path, at) as shown, closing(sqlite3.connect(cut(path, tmp_path / "cut.db", at))) as real:
            assert contents(shown) == contents(real), at
            assert [row[1] for row in shown.execute("SELECT * FROM pragma_table_info('job')")] == columns


def test_every_column_is_known_from_some_moment_on() -> None:
    """A new column has to be put into its place here and in trace/as_of.py."""
    of_start, of_end, special = set(FROM_START.split()), set(FROM_END.split()), set(SPECIAL.split())
    asked = {
        "cluster", "job_id_raw", "submit_time", "source", "audited", "db_index", "job_id", "array_job", "array_task",
        "array_tasks", "het_job", "het_offset", "user", "uid", "group", "account", "queue", "qos", "job_name",
        "time_limit",
        "limit_kind", "limit_source", "limit_original", "ext_asked", "ext_limit", "ext_times",
        "req_nodes", "req_cpus", "req_gpus", "req_gpu_parts", "req_mem",
        "submitted_by",
        "ckpt_asked", "program", "framework", "container", "fingerprint",
    }  # fmt: skip
    assert sorted([*of_start, *of_end, *special, *asked]) == sorted(field.name for field in fields(Job))
    assert (of_start, of_end, set(STEP_FROM_END.split())) == (as_of.AT_START, as_of.AT_END, as_of.STEP_AT_END)


def test_counts_of_everybody_are_of_then(tmp_path: Path) -> None:
    path, at = crafted(tmp_path / "t.db", 4), MONDAY + 30 * DAY
    criteria = Criteria("aaic", MONDAY, TODAY, checkpoint_code=85)
    with reader(path) as whole, reader(path, at) as shown, reader(cut(path, tmp_path / "cut.db", at)) as real:
        now, then, expected = (list(sums(db, criteria, of_all=True)) for db in (whole, shown, real))
    assert then == expected != now


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")
def test_who_sees_their_own_sees_their_own_of_then(open_install: Path) -> None:
    """Their tables are the cut trace's, and everybody's counts are of that moment too."""

    def look(path: Path, at: int | None) -> Callable[[], Any]:
        def looked() -> Any:
            with reader(path, at) as db:
                counts = [
                    db.execute(f"SELECT count(*), total(end_time) FROM {everybodys(db, name)}").fetchone()
                    for name in ("job", "step", "trace")
                ]
                return contents(db), counts

        return looked

    with TemporaryDirectory(prefix="adminkit-as-of-") as folder:
        here, at = Path(folder), MONDAY + 30 * DAY
        here.chmod(0o711)
        path = crafted(here / "t.db", 3)
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE job SET uid = ? WHERE user = 'ada'", (READER,))
        real = cut(path, here / "cut.db", at)
        for one in (path, real):
            os.chown(one, OWNER, GROUP)
            one.chmod(0o644)
        shown, expected = as_user(READER, 65534, look(path, at)), as_user(READER, 65534, look(real, None))
    assert shown == expected
    assert shown[1][0] == shown[1][2]
    assert 0 < len(shown[0]["job"]) < shown[1][0][0]


def test_an_empty_trace_has_no_first_job_to_name(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db"), MONDAY) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (0,)
    with (
        pytest.raises(UsageError, match="no job of the trace was submitted by"),
        reader(make_trace(tmp_path / "u.db", [job(1)]), MONDAY - DAY),
    ):
        pass


def test_a_name_that_is_sql_changes_nothing(tmp_path: Path) -> None:
    hostile = "x'; DROP TABLE job; --"
    path = make_trace(tmp_path / "t.db", [job(1, user=hostile, job_name=hostile, admin_comment=f"ak1:{hostile}")])
    with reader(path, MONDAY + 61) as db:
        assert db.execute("SELECT user, job_name, admin_comment FROM job").fetchone() == (hostile, hostile, "ak1:x';")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.execute("CREATE TEMP TABLE mine (x)")
