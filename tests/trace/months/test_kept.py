"""Files of months hold what the trace holds: whatever happens to it, answers are those of SQLite."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from adminkit.trace import connect
from tests.support.builders import job, make_trace
from tests.support.months import CLUSTERS, act, files_read, keep, rows_of

pytest.importorskip("duckdb")


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_answers_are_those_of_sqlite(tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    path = make_trace(tmp_path / "trace.db", [job(number, cluster=CLUSTERS[number % 7]) for number in range(14)])
    read = []
    for _ in range(8):
        if pick.random() < 0.6:
            assert [one for one in keep(path) if one.why] == []
        with connect.writer(path) as db:
            for _ in range(pick.randrange(1, 4)):
                act(db, pick)
        read.append(files_read(path))
        assert rows_of(path, files=True) == rows_of(path, files=False)
    assert any(read), "files were never read"
