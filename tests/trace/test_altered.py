"""What is changed after a run's end is stored and noted, as often as it is changed before somebody is told."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from adminkit.trace.altered import WATCH, take
from adminkit.trace.schema import migrate
from adminkit.trace.upsert import upsert_job

COLUMNS = ("cluster", "job_id_raw", "submit_time", "end_time", "derived_exit_code", "user")


def test_a_second_change_before_the_first_was_told_is_stored_and_told_from_the_first_value() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db)
        db.execute(WATCH)
        places = {column: f"?{number}" for number, column in enumerate(COLUMNS, 1)}
        upsert = upsert_job(places | {"fingerprint": "NULL"}, "slurmdbd")
        for code in (0, 85, 86):
            db.execute(upsert, ("c", 1, 1, 100, code, "alice"))
            assert db.execute("SELECT derived_exit_code FROM job").fetchone() == (code,)
        assert [(one.before, one.after, one.user) for one in take(db, "c")] == [("0", "86", "alice")]
        assert take(db, "c") == [], "each is told once"
