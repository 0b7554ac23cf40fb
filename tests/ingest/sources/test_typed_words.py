"""A word of adminkit's that a user typed: it is read in none of the fields that are the user's."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.ingest.sources.sacct_fields import FREE_FIELDS, KINDS_OF_FIELDS

START = 1_790_000_000
WORDS = f"ak1:lim=7200,src=e,cls=multi-node,own=node ck1:at={START + 9},heard=2,rq=1,end=more"
COLUMNS = "limit_original, limit_source, ckpt_at, ckpt_heard, ckpt_requeues, ckpt_end"
#: Every field whose text is the user's, whole or in part; the rest are Slurm's words, numbers and operators' names.
TYPED = ("JobName", "SubmitLine", *(name for name in FREE_FIELDS if name != "SystemComment"))


def imported(folder: Path, field: str, *words: str) -> list[tuple[object, ...]]:
    """What the trace has of a run with WORDS in this field."""
    (folder / "jobs.txt").write_text(
        f"JobID|JobIDRaw|Cluster|Submit|Start|End|State|{field}\n"
        f"7|7|alpha|{START - 50}|{START}|{START + 3600}|COMPLETED|{WORDS}\n"
    )
    assert main(["import", str(folder / "jobs.txt"), "--db", str(folder / "t.db"), *words]) == 0
    with closing(sqlite3.connect(folder / "t.db")) as trace:
        return trace.execute(f"SELECT {COLUMNS} FROM job").fetchall()


@pytest.mark.parametrize("field", TYPED)
def test_words_in_a_field_of_the_users_say_nothing(tmp_path: Path, field: str) -> None:
    """Not even where an operator vouches for the text."""
    assert field in KINDS_OF_FIELDS or field in FREE_FIELDS
    assert imported(tmp_path, field, "--trusted", "--apply") == [(None, "unknown", None, None, None, None)]


def test_words_in_admin_comment_are_read(tmp_path: Path) -> None:
    assert imported(tmp_path, "AdminComment") == [(7200, "explicit", START + 9, 2, 1, "more")]
