"""Reading an export, which anybody may have written: every row is read right or set aside with its reason."""

from __future__ import annotations

import json
import resource
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.cli.main import main
from adminkit.ingest.files import Import
from adminkit.ingest.import_export import import_export
from adminkit.trace.exchange import ABOUT, FORMAT, TABLES
from tests.support.builders import job, make_trace

KEY = {"cluster": "alpha", "job_id_raw": 7, "submit_time": 100}


def folder_of(path: Path, rows: list[Any], table: str = "job", **about: Any) -> Path:
    """An export of JSON lines with these rows, each a dict or a raw line."""
    path.mkdir()
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (path / f"{table}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8", "surrogateescape")
    said = {"format": FORMAT, "tables": {table: {f"{table}.jsonl": len(rows)}}, **about}
    (path / ABOUT).write_text(json.dumps(said))
    return path


def reasons(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [reason for (reason,) in db.execute("SELECT reason FROM rejected ORDER BY line")]


BAD = [
    ("no JSON", "not a JSON object on one line"),
    ("[1]", "not a JSON object on one line"),
    ("[" * 100_000, "not a JSON object on one line"),
    ({**KEY, "nodez": 1}, "no column is called 'nodez'"),
    ({**KEY, "cluster": None}, "cluster is missing"),
    ({**KEY, "cluster": ""}, "cluster is missing"),
    ({**KEY, "job_id_raw": "seven"}, "job_id_raw: 'seven' is not a whole number"),
    ({**KEY, "job_id_raw": -7}, "job_id_raw: '-7' is below 0"),
    ({**KEY, "elapsed": 1.5}, "elapsed: '1.5' is not a whole number"),
    ({**KEY, "elapsed": True}, "elapsed: 'True' is not a whole number"),
    ({**KEY, "elapsed": 10**30}, "elapsed: '1000000000000000000000000000000' is too large"),
    ({**KEY, "cpu_time": "nan"}, "cpu_time: 'nan' is not a number of at least 0"),
    ({**KEY, "cpu_time": -0.5}, "cpu_time: '-0.5' is not a number of at least 0"),
    ({**KEY, "user": 5}, "user: '5' is not a text"),
    ({**KEY, "job_name": "a\0b"}, "job_name: a NUL byte"),
    ({**KEY, "limit_kind": "sometimes"}, "limit_kind: 'sometimes' is not one of"),
    ({**KEY, "source": "god"}, "source: 'god' is not one of"),
    ({**KEY, "state": "COMPLETED by 1"}, "state: 'COMPLETED by 1' is not a state of Slurm's"),
]


@pytest.mark.parametrize(("row", "reason"), BAD)
def test_a_row_that_is_none_is_set_aside(row: Any, reason: str, tmp_path: Path) -> None:
    folder_of(tmp_path / "x", [KEY | {"job_id_raw": 1}, row, KEY | {"job_id_raw": 2}])
    counts = import_export(Import(tmp_path / "x", tmp_path / "t.db"), 0)
    assert (counts.rows, counts.new, counts.rejected) == (3, 2, 1)
    assert len(found := reasons(tmp_path / "t.db")) == 1 and found[0].startswith(reason), found


STRANGE = [
    ({"format": 99}, "has format '99', this release reads 1"),
    ({"tables": []}, "is not what adminkit export writes"),
    ({"tables": {"outbox": {}}}, "outbox"),
    ({"tables": {"job": {"../job.jsonl": 1}}}, "names files of job that no export has"),
    ({"tables": {"job": {"step.jsonl": 1}}}, "names files of job that no export has"),
    ({"tables": {"job": {"job.jsonl": -1}}}, "names files of job that no export has"),
    ({"tables": {"job": {"job.jsonl": 2}}}, "job.jsonl has 1 rows, but its export says 2"),
    ({"tables": {"job": {"job-2026-01.jsonl": 1}}}, "couldn't open"),
]


@pytest.mark.parametrize(("about", "said"), STRANGE)
def test_an_export_that_is_not_whole_changes_nothing(
    about: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_of(tmp_path / "x", [KEY], **about)
    make_trace(tmp_path / "t.db", [job(1)])
    for trace in ("t.db", "new.db"):
        assert main(["import", str(tmp_path / "x"), "--db", str(tmp_path / trace)]) != 0
        assert said in capsys.readouterr().err
    with closing(sqlite3.connect(tmp_path / "t.db")) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (1,)
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("name", ["job.jsonl", ABOUT])
def test_a_link_in_an_export_is_not_followed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "x", [KEY])
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    assert main(["import", str(folder), "--db", str(tmp_path / "t.db")]) == 1
    assert "couldn't open" in capsys.readouterr().err
    assert not (tmp_path / "t.db").exists()


HEADERS = [
    ("cluster,job_id_raw", "lacks submit_time"),
    ("cluster,job_id_raw,submit_time,user,user", "names a column twice"),
    ("cluster,job_id_raw,submit_time,usr", "usr"),
    ("", "has no header"),
]


@pytest.mark.parametrize(("header", "said"), HEADERS)
def test_a_table_has_the_columns_of_the_trace(
    header: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "job.csv").write_text(f"{header}\n")
    (tmp_path / "x" / ABOUT).write_text(json.dumps({"format": FORMAT, "tables": {"job": {"job.csv": 0}}}))
    assert main(["import", str(tmp_path / "x"), "--db", str(tmp_path / "t.db")]) == 2
    assert said in capsys.readouterr().err


def test_a_node_without_gpus_has_an_empty_list_of_them_and_one_that_is_gone_none(tmp_path: Path) -> None:
    here = {"cluster": "alpha", "node": "n1", "since": 1, "present": 1, "cpus": 8, "gpus": 0}
    gone = {"cluster": "alpha", "node": "n1", "since": 9, "present": 0}
    folder_of(tmp_path / "x", [here, gone], "node")
    import_export(Import(tmp_path / "x", tmp_path / "t.db"), 0)
    with closing(sqlite3.connect(tmp_path / "t.db")) as db:
        assert db.execute("SELECT present, cpus, gpu_types FROM node").fetchall() == [(1, 8, ""), (0, None, None)]


CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=2)
ROWS = st.dictionaries(st.sampled_from([*TABLES["job"].columns, "x"]), CELLS, max_size=8)


@settings(max_examples=20)
@given(st.lists(ROWS.map(lambda row: {**KEY, **row}), max_size=4))
def test_whatever_a_row_is_it_is_stored_or_set_aside(tmp_path_factory: Any, rows: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("any")
    folder_of(folder / "x", rows)
    counts = import_export(Import(folder / "x", folder / "t.db"), 0)
    assert counts.rows == len(rows) == counts.new + counts.changed + counts.unchanged + counts.rejected


def test_a_parquet_whose_column_is_called_by_no_text_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    duckdb = pytest.importorskip("duckdb")
    (place := tmp_path / "e").mkdir()
    row = "'alpha' AS cluster, 1 AS job_id_raw, 100 AS submit_time, 'x' AS job_name"
    duckdb.execute(f"COPY (SELECT {row}) TO '{place}/job.parquet' (FORMAT parquet)")
    file = place / "job.parquet"
    file.write_bytes(file.read_bytes().replace(b"job_name", b"job_\xff\xfeme"))
    (place / ABOUT).write_text(json.dumps({"format": FORMAT, "tables": {"job": {"job.parquet": 1}}}))
    assert main(["import", str(place), "--db", str(tmp_path / "t.db")]) == 1
    assert "is not a Parquet file, or DuckDB cannot read it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("repeat('x', 1000000)", "too long"),
        ("[1, 2]", "column 'job_name' has neither texts nor numbers"),
        ("{'a': 1}", "column 'job_name' has neither texts nor numbers"),
        ("'x'::BLOB", "column 'job_name' has neither texts nor numbers"),
        ("'x'", ""),
    ],
)
def test_a_parquet_of_a_few_kb_is_not_unpacked_into_memory(
    cell: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """3000 texts of 1 MB are 3 GB: they want no more than the bound of this process, and are set aside."""
    duckdb = pytest.importorskip("duckdb")
    (place := tmp_path / "e").mkdir()
    row = f"'alpha' AS cluster, range AS job_id_raw, 100 AS submit_time, {cell} AS job_name"
    duckdb.execute(f"COPY (SELECT {row} FROM range(3000)) TO '{place}/job.parquet' (FORMAT parquet, COMPRESSION zstd)")
    assert (place / "job.parquet").stat().st_size < 1 << 18
    (place / ABOUT).write_text(json.dumps({"format": FORMAT, "tables": {"job": {"job.parquet": 3000}}}))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (min(5 << 29, before[1]) if before[1] > 0 else 5 << 29, before[1]))
    try:
        code = main(["import", str(place), "--db", str(tmp_path / "t.db"), "--max-rejected", "1"])
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
    told = capfd.readouterr().err
    if said == "too long":
        assert set(reasons(tmp_path / "t.db")) == {said}, told
    else:
        assert (code == 0) is not bool(said) and said in told
