"""What the checkpoint plugin noted, as it arrives from sacct: each run gets its own, and none of an earlier one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.cli.main import main

FIELDS = "JobID|JobIDRaw|Cluster|Submit|Start|End|State|AdminComment"
START = 1_790_000_000
RECORD = "ak1:lim=7200,src=e"
NOTHING = (None, None, None, None)


def imported(folder: Path, *comments: str, start: str = str(START)) -> list[tuple[object, ...]]:
    """The four columns, and the recorded limit, of a run that sacct shows with each of these comments in turn."""
    text, db = folder / "jobs.txt", folder / "t.db"
    for comment in comments:
        text.write_text(f"{FIELDS}\n7|7|alpha|{START - 50}|{start}|{START + 3600}|COMPLETED|{comment}\n")
        assert main(["import", str(text), "--db", str(db)]) == 0
    with closing(sqlite3.connect(db)) as trace:
        columns = "ckpt_at, ckpt_heard, ckpt_requeues, ckpt_end, limit_original"
        return trace.execute(f"SELECT {columns} FROM job").fetchall()


@pytest.mark.parametrize(
    ("comment", "note", "limit", "why"),
    [
        (f"ck1:at={START + 3300},heard=2,rq=1,end=more", (START + 3300, 2, 1, "more"), None, "its own"),
        (f"{RECORD} ck1:at={START},heard=0,rq=0 mine", (START, 0, 0, None), 7200, "behind the policy's record"),
        (
            f"{RECORD} ck1:at={START - 60},heard=2,rq=3,end=more",
            (None, None, 3, None),
            7200,
            "an earlier run's: its count",
        ),
        (RECORD, NOTHING, 7200, "no note"),
        ("", NOTHING, None, "no comment"),
        ("JS1:abc", NOTHING, None, "another tool wrote over it"),
    ],
)
def test_a_run_gets_the_note_that_was_left_in_it(
    tmp_path: Path, comment: str, note: tuple[object, ...], limit: int | None, why: str
) -> None:
    assert imported(tmp_path, comment) == [(*note, limit)], why


def test_a_run_that_never_started_has_none(tmp_path: Path) -> None:
    found = imported(tmp_path, f"ck1:at={START},heard=1,rq=2,end=more", start="Unknown")
    assert found == [(None, None, 2, None, None)]


def test_a_later_word_completes_the_first_and_another_tool_takes_nothing_away(tmp_path: Path) -> None:
    first = f"{RECORD} ck1:at={START + 9},heard=1,rq=0"
    second = f"{RECORD} ck1:at={START + 9},heard=1,rq=1,end=more"
    assert imported(tmp_path, first, second, "JS1:abc") == [(START + 9, 1, 1, "more", 7200)]
