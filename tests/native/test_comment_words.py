"""The words that adminkit leaves in a comment, as adminkit-ingest and the slow parser read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.trace.extension_word import extension_of
from tests.native import helper, oracle
from tests.support.comment_words import CASES, EXTENSIONS, Case

NOBODY = (None, None)
NO_NOTE = (None, None, None, None)


def extension(comment: str) -> tuple[int | None, ...]:
    return extension_of(comment) or (None, None, None)


def expected(case: Case) -> tuple[object, ...]:
    limit = (case.record.limit, case.record.source) if case.record else NOBODY
    return (case.comment or None, *limit, *(case.note or NO_NOTE), *extension(case.comment))


def test_a_comment_says(tmp_path: Path) -> None:
    """All cases in one input: what precedes a comment changes nothing in it."""
    path = helper.table(
        tmp_path / "t.db", "nth", "text", "lim", "src", "at", "heard", "rq", "what", "asked", "last", "n"
    )
    data = "".join(f"{nth}\x1f{case.comment}\x1f\n" for nth, case in enumerate(CASES)).encode()
    shape = ("--ends", "--delimiter", "\x1f", "--columns", "int,admin_comment")
    insert = "INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
    assert helper.run(data, "--db", path, *shape, "--sql", insert).code == 0
    found = helper.rows(path, "SELECT text, lim, src, at, heard, rq, what, asked, last, n FROM t ORDER BY nth")
    for case, row in zip(CASES, found, strict=True):
        assert row == expected(case), case.why


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_slow_parser_agrees(case: Case) -> None:
    found = [
        value.decode() if isinstance(value, bytes) else value for value in oracle.admin_comment(case.comment.encode())
    ]
    assert tuple(found) == expected(case)


def test_an_extension_is_read_by_all_alike(tmp_path: Path) -> None:
    """adminkit-ingest's, the slow parser's and sync's own, which reads the comments of open jobs."""
    path = helper.table(tmp_path / "t.db", "nth", "asked", "last", "n")
    data = "".join(f"{nth}\x1f{comment}\x1f\n" for nth, (comment, _, _) in enumerate(EXTENSIONS)).encode()
    shape = ("--ends", "--delimiter", "\x1f", "--columns", "int,admin_comment")
    assert helper.run(data, "--db", path, *shape, "--sql", "INSERT INTO t VALUES (?1, ?9, ?10, ?11)").code == 0
    found = helper.rows(path, "SELECT asked, last, n FROM t ORDER BY nth")
    for (comment, said, why), row in zip(EXTENSIONS, found, strict=True):
        assert row == (said or (None, None, None)), why
        assert extension_of(comment) == said, why
        assert tuple(oracle.admin_comment(comment.encode())[7:]) == row, why
