"""Months that are archived are read as if they were not, and nothing that happens to a trace loses a row of them."""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import pytest

from adminkit.trace import connect
from adminkit.trace.months import move
from tests.support import archive
from tests.support.builders import make_trace
from tests.support.months import keep, rows_of

pytest.importorskip("duckdb")


@pytest.fixture
def ids(monkeypatch: pytest.MonkeyPatch) -> random.Random:
    """Random ids are the same ones for two traces to which the same happens."""
    pick = random.Random()
    monkeypatch.setattr(secrets, "token_hex", lambda size=8: f"{pick.getrandbits(8 * size):0{2 * size}x}")
    return pick


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_readers_see_what_they_see_without_an_archive(
    tmp_path: Path, ids: random.Random, seed: int
) -> None:
    """Two traces, to which the same happens; months of one of them are archived, come back, and have files."""
    plain, moved = make_trace(tmp_path / "plain.db"), make_trace(tmp_path / "moved.db")
    pick, archived = random.Random(seed), 0
    for number in range(14):
        for path in (plain, moved):
            act, same = random.Random(f"{seed} {number}"), f"{seed} {number} {path}"
            ids.seed(f"{seed} {number}")
            with connect.writer(path) as db:
                for _ in range(3):
                    archive.act(db, path, act)
        what = pick.choice(("archive", "archive", "some", "restore", "keep", ""))
        if what in ("archive", "some"):
            done = archive.archive(moved, None if what == "archive" else 2)
            assert [one.why for one in done if one.why] == []
        elif what == "restore":
            archive.restore(moved, pick.choice((None, 1, 2)))
        elif what == "keep":
            keep(moved, archive.END)
        archived += archive.is_archived(moved)
        assert archive.rows(moved) == archive.rows(plain), (seed, number, what)
        assert rows_of(moved, files=True) == rows_of(plain, files=False), (seed, number, what)
    assert archived, "no month was archived"
    assert archive.reports(moved) == archive.reports(plain)
    archive.restore(moved)
    assert archive.rows(moved, ("main.job", "main.step")) == archive.rows(plain, ("main.job", "main.step"))
    assert move
