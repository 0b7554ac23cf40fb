"""doctor asks once for an audit of what sync has filled."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from adminkit.doctor.audit import audits
from adminkit.units import show_time
from tests.support.builders import job, make_trace


def test_it_asks_once_for_each_cluster_that_sync_has_filled(tmp_path: Path) -> None:
    path = make_trace(
        tmp_path / "t.db",
        [job(1), job(2, cluster="beta"), job(3, cluster="file", source="text"), job(4, cluster="show", source="demo")],
    )
    assert [(line.status, line.found.rpartition(" rows of ")[2]) for line in audits(path)] == [
        ("warn", "aaic are its own"),
        ("warn", "beta are its own"),
    ]
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO fact VALUES ('aaic', 'audited', 'confirmed 1', 1767571200)")
    first, second = audits(path)
    assert (first.status, first.found) == ("ok", f"aaic: confirmed 1, {show_time(1767571200)}")
    assert second.status == "warn" and "adminkit trace audit" in second.hint


def test_it_says_nothing_where_there_is_nothing(tmp_path: Path) -> None:
    assert list(audits(tmp_path / "none.db")) == []
    (tmp_path / "text.db").write_text("no database")
    assert list(audits(tmp_path / "text.db")) == []
