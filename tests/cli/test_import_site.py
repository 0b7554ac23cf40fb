"""`adminkit import --site`: what the cluster was, for reports on an imported trace."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.cli.main import main
from tests.cli.test_import import HEADER, line

SITE = """\
cluster = "alpha"
[[queues]]
name = "gq"
default_limit = 7200
max_limit = 259200
total_nodes = 2
[[nodes]]
name = "n1"
cpus = 40
gpus = { "a100" = 4 }
queues = ["gq"]
"""
TABLE = "id,submitted,started,ended,limit\n1,1700000000,1700000010,1700003610,7200\n"
MAP = """\
time = "epoch"
[fields]
job_id_raw = "id"
submit_time = "submitted"
start_time = "started"
end_time = "ended"
time_limit = { column = "limit", unit = "seconds" }
queue = { constant = "gq" }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADMINKIT_DB", str(tmp_path / "trace.db"))
    monkeypatch.delenv("ADMINKIT_CONFIG", raising=False)
    # Two of the four jobs have just the queue's default, one has its maximum.
    limits = ("120", "120", "4320", "60")
    rows = [line(n, TimelimitRaw=limit) for n, limit in enumerate(limits, start=1)]
    (tmp_path / "old.txt").write_text("\n".join([HEADER, *rows]) + "\n")
    (tmp_path / "site.toml").write_text(SITE)
    return tmp_path


def rows(sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect("trace.db")) as trace:
        return trace.execute(sql).fetchall()


def accuracy(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    capsys.readouterr()
    assert main(["report", "accuracy", "--format", "json"]) == 0
    row: dict[str, object] = json.loads(capsys.readouterr().out)["rows"][0]
    return row


def test_reports_then_know_who_took_the_default_and_who_the_maximum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "old.txt", "--site", "site.toml"]) == 0
    row = accuracy(capsys)
    assert (row["share_default"], row["share_maximum"]) == (0.5, 0.25)
    assert rows("SELECT DISTINCT limit_source FROM job") == [("unknown",)], "nobody has said who chose the limit"


def test_without_it_nothing_is_known_of_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "old.txt"]) == 0
    row = accuracy(capsys)
    assert (row["share_default"], row["share_maximum"]) == (None, None)


def test_it_may_come_later_be_corrected_and_be_read_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "old.txt"]) == 0
    Path("site.toml").write_text(SITE.replace("7200", "3600"))
    assert main(["import", "old.txt", "--site", "site.toml"]) == 0
    assert accuracy(capsys)["share_default"] == 0.25
    Path("site.toml").write_text(SITE)
    for _ in range(2):
        assert main(["import", "old.txt", "--site", "site.toml"]) == 0
    assert accuracy(capsys)["share_default"] == 0.5
    assert rows("SELECT queue, since, default_limit, max_limit, nodes FROM queue") == [("gq", 0, 7200, 259_200, 2)]
    assert rows("SELECT node, since, present, cpus, gpu_types FROM node") == [("n1", 0, 1, 40, "a100:4")]


def test_rows_that_name_no_cluster_are_of_the_one_that_is_described() -> None:
    lines = Path("old.txt").read_text().replace("Cluster|", "").replace("|alpha|", "|")
    Path("bare.txt").write_text(lines)
    assert main(["import", "bare.txt", "--site", "site.toml"]) == 0
    assert rows("SELECT DISTINCT cluster FROM job") == [("alpha",)]


def test_another_cluster_than_the_described_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "old.txt", "--site", "site.toml", "--cluster", "beta"]) == 2
    assert "--site describes alpha, not beta" in capsys.readouterr().err
    assert not Path("trace.db").exists()


def test_a_job_table_takes_it_too() -> None:
    Path("table.csv").write_text(TABLE)
    Path("map.toml").write_text(MAP)
    assert main(["import", "table.csv", "--map", "map.toml", "--site", "site.toml"]) == 0
    assert rows("SELECT cluster, queue FROM job") == [("alpha", "gq")]
    assert rows("SELECT cluster, queue, default_limit FROM queue") == [("alpha", "gq", 7200)]


def test_a_wrong_file_is_refused_before_anything_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("site.toml").write_text(SITE.replace("max_limit", "max_limt"))
    assert main(["import", "old.txt", "--site", "site.toml"]) == 1
    assert capsys.readouterr().err == (
        "error: site.toml:5: queues[1].max_limt (gq): no such key\nhint: did you mean max_limit?\n"
    )
    assert not Path("trace.db").exists()
