"""Old runs go, or their names: what counts as old, what stays, and what a kill half way leaves."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.trace.connect import reader, writer
from adminkit.trace.person import PREFIX
from adminkit.trace.prune import old_rows, prune, take_names
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace

DAY = 24 * HOUR
CUT = MONDAY + 10 * DAY

RUNS = [
    ({"end_time": CUT - 1}, True, "over before"),
    ({"end_time": CUT}, False, "over at that moment"),
    ({"end_time": None, "seen_open": CUT + 1}, False, "still seen later"),
    ({"end_time": None, "seen_open": CUT - 1}, True, "lost: last seen before"),
    ({"end_time": None, "seen_open": None, "submit_time": CUT - 1}, True, "never seen, submitted before"),
]


def numbers(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as db:
        return [number for (number,) in db.execute("SELECT job_id_raw FROM job ORDER BY 1")]


@pytest.mark.parametrize(("changes", "old", "why"), RUNS)
def test_what_is_old(tmp_path: Path, changes: dict[str, Any], old: bool, why: str) -> None:
    path = make_trace(tmp_path / "t.db", [job(1, **changes)])
    with writer(path) as db:
        assert old_rows(db, CUT)[0].rows == old, why
        prune(db, CUT)
    assert numbers(path) == ([] if old else [1]), why


def test_a_job_that_went_on_stays_whole(tmp_path: Path) -> None:
    pieces = [
        job(1, submit_time=MONDAY, end_time=CUT - DAY, state="REQUEUED"),
        job(1, submit_time=CUT - DAY, end_time=CUT + DAY),
        job(2, submit_time=MONDAY, end_time=CUT - DAY, state="REQUEUED"),
        job(2, submit_time=CUT - DAY, end_time=CUT - HOUR),
    ]
    path = make_trace(tmp_path / "t.db", pieces)
    with writer(path) as db:
        prune(db, CUT)
    assert numbers(path) == [1, 1]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ten old runs and ten young ones with a step each, and an old and a young row of the other tables."""
    old = [
        job(n, user=f"user-{n % 3}-name", account=f"user-{n % 3}-name", job_name=f"secret{n}", cancelled_by=n % 2)
        for n in range(10)
    ]
    young = [
        job(n, submit_time=CUT, start_time=CUT + 1, end_time=CUT + HOUR, user="user-1-name") for n in range(10, 20)
    ]
    path = make_trace(tmp_path / "t.db", [*old, *young])
    add_letters(
        path, [letter(1, sent_at=MONDAY), letter(2, sent_at=CUT, due_at=CUT), letter(3, state="due", sent_at=None)]
    )
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, step_name)"
            " SELECT cluster, job_id_raw, submit_time, 'batch', source, iif(job_id_raw = 1, 'secret', 'batch') FROM job"
        )
        for at in (MONDAY, CUT):
            db.execute("INSERT INTO rejected VALUES ('x', 1, 'why', CAST(? AS BLOB), ?)", (f"secret {at}", at))
            db.execute("INSERT INTO load VALUES (NULL, 'sync', 'x', 'aaic', ?, 0, 0, 0, 0, 0, 0)", (at,))
            db.execute("INSERT INTO node_event VALUES ('aaic', 'n1', ?, ?, 'DOWN', 'secret', 'root', 0)", (at, at))
            db.execute("INSERT INTO window VALUES ('aaic', 'job', ?, ?, 0, 0, 0, 0, 0, 0, 0, 0)", (at, at + 1))
    return path


def counts(path: Path) -> dict[str, int]:
    tables = ("job", "step", "rejected", "outbox", "load", "node_event", "window")
    with closing(sqlite3.connect(path)) as db:
        return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}


@pytest.mark.parametrize("batch", [3, 100])
def test_what_belongs_to_old_runs_goes_with_them(trace: Path, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adminkit.trace.run_batches.BATCH", batch)
    with writer(trace) as db:
        said = {one.table: one.rows for one in old_rows(db, CUT)}
        prune(db, CUT)
        assert not any(one.rows for one in old_rows(db, CUT))
    assert counts(trace) == {
        "job": 10, "step": 10, "rejected": 1, "outbox": 2, "load": 1, "node_event": 1, "window": 2,
    }  # fmt: skip
    assert said == {
        "job": 10, "step": 10, "job_aside": 0, "step_aside": 0, "rejected": 1, "outbox": 1, "load": 1, "node_event": 1,
    }  # fmt: skip


@pytest.mark.parametrize("batch", [3, 100])
def test_names_go_and_runs_stay(trace: Path, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adminkit.trace.run_batches.BATCH", batch)
    sums = "SELECT sum(elapsed), sum(gpus), count(DISTINCT user), count(*) FILTER (WHERE cancelled_by = 0) FROM job"
    with writer(trace) as db:
        before = db.execute(f"{sums} WHERE end_time < ?", (CUT,)).fetchone()
        take_names(db, CUT)
        assert db.execute(f"{sums} WHERE end_time < ?", (CUT,)).fetchone() == before
        named = db.execute(
            "SELECT count(*) FROM job WHERE end_time < ? AND (user NOT GLOB ? OR coalesce(uid, job_name, admin_comment,"
            " account) IS NOT NULL)", (CUT, f"{PREFIX}*"),
        ).fetchone()  # fmt: skip
        assert named == (0,)
        assert db.execute("SELECT DISTINCT user FROM job WHERE end_time >= ?", (CUT,)).fetchall() == [("user-1-name",)]
        assert db.execute("SELECT count(*) FROM step WHERE step_name = 'secret'").fetchone() == (0,)
        take_names(db, CUT)
    assert counts(trace)["job"] == 20 and counts(trace)["outbox"] == 2


def test_no_byte_of_a_name_is_left(trace: Path) -> None:
    how = ["trace", "prune", "--older-than", str(CUT), "--db", str(trace), "--anonymise", "--apply"]
    assert main(how) == 0
    for file in trace.parent.glob("t.db*"):
        data = file.read_bytes()
        assert b"secret1" not in data and b"user-2-name" not in data, file


def test_it_shows_first_and_is_recorded(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["trace", "prune", "--older-than", str(CUT), "--db", str(trace)]
    before = counts(trace)
    assert main(how) == 0
    said = capsys.readouterr()
    assert (
        "would be gone: 10 runs, 10 steps, 1 rejected rows, 1 letters" in said.out
        and "add --apply to change it" in said.err
    )
    assert counts(trace) == before
    assert main([*how, "--apply", "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["job"] == 10
    with reader(trace) as db:
        assert db.execute("SELECT what FROM action").fetchall() == [("trace prune",)]


def test_young_rows_are_not_pruned(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "prune", "--older-than", "35d", "--db", str(trace)]) == 2
    assert "sync still compares younger runs" in capsys.readouterr().err


@pytest.mark.parametrize("act", [prune, take_names])
def test_a_kill_between_batches_leaves_whole_runs(trace: Path, act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adminkit.trace.run_batches.BATCH", 3)

    def killed(done: int) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), writer(trace) as db:
        act(db, CUT, killed)
    with reader(trace) as db:
        orphans = "SELECT count(*) FROM step LEFT JOIN job USING (cluster, job_id_raw, submit_time)"
        assert db.execute(f"{orphans} WHERE job.source IS NULL").fetchone() == (0,)
    with writer(trace) as db:
        act(db, CUT)
    assert counts(trace)["job"] == (10 if act is prune else 20)
