"""What sync and import say about files of months at their end."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.cli.months_kept import keep_up
from adminkit.sections import Months
from tests.support.builders import job, make_trace
from tests.support.months import files_read, keep

pytest.importorskip("duckdb")


def test_months_of_another_release_are_written_again_which_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_trace(tmp_path / "t.db", [job(1)])
    keep(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE month_file SET shape = 'another'")
    assert files_read(path) == 0
    said = []
    for _ in range(2):
        keep_up(path, Months(least=1, threads=1))
        said.append(capsys.readouterr().err)
    assert said == ["note: 1 month had other columns in an earlier release: writing them again\n", ""]
    assert files_read(path) == 1
