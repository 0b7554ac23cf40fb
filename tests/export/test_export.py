"""adminkit export, and adminkit import of what it wrote: the trace again, or the trace without names."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

import adminkit
from adminkit.cli.main import main
from adminkit.errors import AdminkitError
from adminkit.export.pseudonyms import Pseudonyms
from adminkit.job import Job, Step
from adminkit.key_file import read_key
from adminkit.reports.catalogue import SPECS
from adminkit.trace.connect import create
from adminkit.trace.exchange import ABOUT, SIDECAR, TABLES
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.past import crafted

#: Reports that need more than runs, steps, queues and nodes: letters, and facts of what the site switched on.
NOT_OF_RUNS = ("feedback", "soft-limits")
HOSTILE = '=cmd|"/C x"!A1\n<b>é\x1b[2J,;\u202e'
#: What tells who somebody is: in every column in which --anonymise hides it.
TELLING = {
    "user": "mallory", "group": "wheel9", "account": "project-m", "job_name": "thesis", "program": "thesis.py",
    "node_list": "gpu[07-09]", "admin_comment": "by mallory", "container": "mallory-image", "framework": "mallory-fw",
}  # fmt: skip


def rows_of(path: Path, table: str) -> list[tuple[object, ...]]:
    columns = [column for column in TABLES[table].columns if column != "source"]
    with closing(sqlite3.connect(path)) as db:
        names = ", ".join(f'"{column}"' for column in columns)
        return sorted(db.execute(f"SELECT {names} FROM {table}").fetchall(), key=repr)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crafted(tmp_path_factory.mktemp("past") / "trace.db", 3)


@pytest.fixture(scope="module", params=["csv", "jsonl", "parquet"])
def again(request: pytest.FixtureRequest, past: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The trace that was exported and imported again."""
    folder = tmp_path_factory.mktemp("out")
    assert main(["export", str(folder / "x"), "--to", request.param, "--db", str(past)]) == 0
    assert main(["import", str(folder / "x"), "--db", str(folder / "again.db")]) == 0
    yield folder / "again.db"


def test_every_row_is_there_again(past: Path, again: Path, tmp_path: Path) -> None:
    for table in TABLES:
        assert rows_of(again, table) == rows_of(past, table), table
    assert main(["export", str(tmp_path / "y"), "--db", str(past)]) == 0
    before = rows_of(again, "job")
    assert main(["import", str(tmp_path / "y"), "--db", str(again)]) == 0
    assert rows_of(again, "job") == before


def test_the_reports_are_the_same(past: Path, again: Path) -> None:
    first, second = adminkit.open(past), adminkit.open(again)
    for spec in SPECS:
        if spec.name not in NOT_OF_RUNS:
            # Parquet has the runs by month, so sums of fractions may differ in their last digit.
            assert_frame_equal(first.report(spec.name), second.report(spec.name), rtol=1e-12, obj=spec.name)


def test_an_export_has_every_column_of_its_tables(tmp_path: Path) -> None:
    create(tmp_path / "trace.db")
    with closing(sqlite3.connect(tmp_path / "trace.db")) as db:
        for name, table in TABLES.items():
            columns = {row[1]: row[2] for row in db.execute(f"PRAGMA table_info({name})")}
            left_out = {"job": {"fingerprint", "audited"}, "step": {"fingerprint"}}.get(name, set())
            assert {*columns} - left_out == {*table.columns}
            kinds = {"INTEGER": int, "REAL": float, "TEXT": str}
            assert {column: kinds[columns[column]] for column in table.columns} == dict(table.columns)
    assert {"fingerprint", "audited"} <= {one.name for one in fields(Job)}
    assert "fingerprint" in {one.name for one in fields(Step)}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_hostile_name_is_the_same_name_again(kind: str, tmp_path: Path) -> None:
    make_trace(tmp_path / "t.db", [job(1, job_name=HOSTILE, user="a,b\"c\n'"), job(2, job_name="\\N", account="NULL")])
    assert main(["export", str(tmp_path / "x"), "--to", kind, "--db", str(tmp_path / "t.db")]) == 0
    assert main(["import", str(tmp_path / "x"), "--db", str(tmp_path / "u.db")]) == 0
    assert rows_of(tmp_path / "u.db", "job") == rows_of(tmp_path / "t.db", "job")


def test_a_demos_jobs_stay_the_demos(tmp_path: Path) -> None:
    make_trace(tmp_path / "t.db", [job(1, source="demo"), job(2)])
    assert main(["export", str(tmp_path / "x"), "--db", str(tmp_path / "t.db")]) == 0
    for trusted, others in (([], "text"), (["--trusted", "--apply"], "trusted")):
        path = tmp_path / f"{others}.db"
        assert main(["import", str(tmp_path / "x"), "--db", str(path), *trusted]) == 0
        with closing(sqlite3.connect(path)) as db:
            assert dict(db.execute("SELECT job_id_raw, source FROM job")) == {1: "demo", 2: others}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "swf"])
def test_no_name_is_in_an_anonymised_export(kind: str, tmp_path: Path) -> None:
    hidden = job(1, **TELLING, uid=54321, cancelled_by=54321, state="CANCELLED", db_index=98765)
    make_trace(
        tmp_path / "t.db", [hidden, job(2, user="trent", framework="torchrun", cancelled_by=0, state="CANCELLED")]
    )
    with closing(sqlite3.connect(tmp_path / "t.db")) as db, db:
        db.execute("INSERT INTO node VALUES ('aaic', 'gpu07', 0, 1, 8, 9, 1, 'a100:1', NULL, '', 'gq')")
        db.execute("INSERT INTO node_event VALUES ('aaic', 'gpu07', 5, 9, 'DOWN', 'mallory broke it', 'mallory', 7)")
    target = tmp_path / ("out/x.swf" if kind == "swf" else "out/x")
    target.parent.mkdir()
    how = ["export", str(target), "--to", kind, "--db", str(tmp_path / "t.db"), "--anonymise"]
    assert main([*how, "--key", str(tmp_path / "key")]) == 0
    written = b"".join(one.read_bytes() for one in target.parent.rglob("*") if one.is_file())
    for word in ("mallory", "trent", "wheel9", "project-m", "thesis", "gpu0", "54321", "98765", "broke"):
        assert word.encode() not in written, word
    cluster = ["--cluster", "aaic"] if kind == "swf" else []
    assert main(["import", str(target), "--db", str(tmp_path / "u.db"), *cluster]) == 0
    with closing(sqlite3.connect(tmp_path / "u.db")) as db:
        found = db.execute("SELECT user, cancelled_by, framework, queue FROM job ORDER BY job_id_raw").fetchall()
    names = Pseudonyms(read_key(tmp_path / "key"))
    assert [user for user, *_ in found] == [names.name("user", "mallory"), names.name("user", "trent")]
    if kind != "swf":
        assert found[1][1:] == (0, "torchrun", "gq"), "root, what adminkit calls a framework, and queues are no names"
        assert found[0][1] > 2**31


def test_the_same_key_gives_the_same_pseudonyms_and_another_one_others(tmp_path: Path) -> None:
    make_trace(tmp_path / "t.db", [job(1)])
    made = {}
    for name, key in (("a", "k1"), ("b", "k1"), ("c", "k2"), ("d", ""), ("e", "")):
        how = ["--key", str(tmp_path / key)] if key else []
        assert main(["export", str(tmp_path / name), "--db", str(tmp_path / "t.db"), "--anonymise", *how]) == 0
        made[name] = (tmp_path / name / "job.csv").read_text()
    assert made["a"] == made["b"]
    assert len({made[name] for name in "acde"}) == 4
    assert (tmp_path / "k1").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        ("0" * 64, 0o640, "others may read the key"),
        ("0" * 62, 0o600, "is not a key"),
        ("x" * 64, 0o600, "is not a key"),
        ("é" * 64, 0o600, "cannot be read"),
    ],
)
def test_a_key_is_64_digits_that_nobody_else_reads(text: str, mode: int, why: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(text)
    (tmp_path / "key").chmod(mode)
    with pytest.raises(AdminkitError, match=why):
        read_key(tmp_path / "key")


def test_an_swf_trace_has_18_numbers_a_line_and_its_names_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [
        job(1, user="mei", job_name="a b\nc", gpus=4, req_gpus=4, max_rss=1025, req_cpus=8, req_mem=8 * 2**20),
        job(2, user="jun", state="TIMEOUT", limit_original=2 * HOUR, suspended=30, end_time=MONDAY + 3 * HOUR),
        job(3, user="mei", state="CANCELLED", start_time=None, elapsed=None, end_time=MONDAY + 999, queue="b q"),
        job(4, state="RUNNING", end_time=None, elapsed=None),
    ]
    make_trace(tmp_path / "t.db", jobs)
    assert main(["export", str(tmp_path / "x.swf"), "--db", str(tmp_path / "t.db")]) == 0
    said = capsys.readouterr()
    assert "wrote" in said.out and "1 run without an end left out" in said.err
    lines = (tmp_path / "x.swf").read_text().splitlines()
    assert [one for one in lines if one.startswith("; Queue")] == ["; Queue: 1 b_q", "; Queue: 2 gq"]
    # number, submission, wait, run time, CPUs, CPU time, KB, CPUs and seconds asked for, KB of each, status, ids, queue
    assert [one for one in lines if not one.startswith(";")] == [
        "1 0 30 3600 8 -1 1 8 14400 1024 1 2 -1 1 2 -1 -1 -1",
        "2 60 30 3600 8 -1 -1 -1 7200 -1 0 1 -1 -1 2 -1 -1 -1",
        "3 120 -1 -1 8 -1 -1 -1 14400 -1 5 2 -1 -1 1 -1 -1 -1",
    ]
    assert main(["import", str(tmp_path / "x.swf"), "--cluster", "aaic", "--db", str(tmp_path / "u.db")]) == 0
    before = {row[0]: row for row in rows_named(tmp_path / "t.db") if row[0] != 4}
    assert {row[0]: row for row in rows_named(tmp_path / "u.db")} == before
    assert (tmp_path / f"x.swf{SIDECAR}").stat().st_mode & 0o777 == 0o600


def rows_named(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(
            "SELECT job_id_raw, submit_time, user, account, queue, job_name, state, end_time, elapsed, time_limit,"
            " limit_original, limit_kind, gpus, max_rss, suspended, req_mem FROM job"
        ).fetchall()


WRONG = [
    (("x", "--key", "k"), "--key needs --anonymise", "a key without hashes"),
    (("x", "--to", "swf"), "ends in .swf", "a folder is no SWF trace"),
    (("x.swf", "--to", "csv"), "makes a folder", "and a file no folder"),
    (("there",), "already exists", "nothing is overwritten"),
    (("x", "--user", "eve"), "eve", "a word that the trace lacks"),
    (("none/x",), "couldn't make", "a folder that is not there"),
]


@pytest.mark.parametrize(("typed", "said", "why"), WRONG)
def test_what_is_typed_wrong_writes_nothing(
    typed: tuple[str, ...], said: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    make_trace(tmp_path / "t.db", [job(1)])
    (tmp_path / "there").mkdir()
    before = sorted(tmp_path.iterdir())
    assert main(["export", *typed, "--db", "t.db"]) != 0, why
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_an_export_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_trace(tmp_path / "t.db", [job(1)])
    before = sorted(tmp_path.iterdir())
    for target in ("x", "x.swf"):
        monkeypatch.setattr(
            "adminkit.export.folder.os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "full"))
        )
        assert main(["export", str(tmp_path / target), "--db", str(tmp_path / "t.db")]) == 1
        assert sorted(tmp_path.iterdir()) == before


def test_rare_combinations_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = [job(number, user=f"user{number}") for number in range(1, 6)]
    make_trace(tmp_path / "t.db", [*common, job(7, user="mei", gpus=8), job(8, user="mei", gpus=8)])
    assert main(["export", str(tmp_path / "x"), "--db", str(tmp_path / "t.db"), "--anonymise", "-f", "json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["rare"] == {"k": 5, "shapes": 2, "rare": 1, "runs": 2}
    assert "1 of 2 combinations" in said.err


def test_a_window_and_a_queue_are_kept_to(tmp_path: Path) -> None:
    make_trace(tmp_path / "t.db", [job(1), job(2, queue="b"), job(3, end_time=None, elapsed=None, state="RUNNING")])
    for typed, expected in (
        ((), [1, 2, 3]),
        (("-p", "b"), [2]),
        (("--until", str(MONDAY + 60 + HOUR + 1)), [1]),
        (("--since", str(MONDAY + 60 + HOUR + 1)), [2]),
    ):
        for kind in ("jsonl", "parquet"):
            target = tmp_path / f"{kind}-{len(list(tmp_path.iterdir()))}"
            assert main(["export", str(target), "--to", kind, "--db", str(tmp_path / "t.db"), *typed]) == 0
            assert main(["import", str(target), "--db", f"{target}.db"]) == 0
            with closing(sqlite3.connect(f"{target}.db")) as db:
                assert [n for (n,) in db.execute("SELECT job_id_raw FROM job ORDER BY 1")] == expected, (kind, typed)
    assert (tmp_path / ABOUT).exists() is False
