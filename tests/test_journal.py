"""What is refused is said in one line, and no user can fill the journal."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest

from adminkit import journal
from adminkit.cli.main import main


@pytest.fixture(autouse=True)
def _its_own_run() -> Iterator[None]:
    journal.close()
    yield
    journal.close()


@pytest.mark.parametrize(
    ("what", "whose", "why", "line"),
    [
        ("/srv/7.toml", 994, "a link", "refused choices: /srv/7.toml of uid 994: a link"),
        ("/srv/0.toml", 0, "a link", "refused choices: /srv/0.toml of uid 0: a link"),
        ("job 7", "ada", "not asked for", "refused choices: job 7 of ada: not asked for"),
        ("job 7", None, "not asked for", "refused choices: job 7 of nobody known: not asked for"),
        ("a\nb\x1b[2J", "x\u202ey", "c\rd", "refused choices: a\\nb\\x1b[2J of x\\u202ey: c\\rd"),
        ("p" * 300, "u" * 99, "w" * 300, f"refused choices: {'p' * 199}… of {'u' * 59}…: {'w' * 199}…"),
    ],
)
def test_a_refusal_is_one_harmless_line_that_names_what_and_whose(
    what: str, whose: int | str | None, why: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.refused("choices", what, whose, why)
    assert capsys.readouterr() == ("", f"{line}\n")


def test_each_kind_has_so_many_lines_and_the_end_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(journal.MOST + 1234):
        journal.refused("links", number, 1, "it points elsewhere")
    journal.refused("tables", "t", 1, "no table")
    journal.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[: journal.MOST] == [f"refused links: {n} of uid 1: it points elsewhere" for n in range(journal.MOST)]
    assert lines[journal.MOST :] == ["refused tables: t of uid 1: no table", "refused links: and 1,234 more like these"]


def test_the_next_run_begins_from_none(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(journal.MOST + 1):
        journal.refused("links", "l", 1, "why")
    journal.close()
    capsys.readouterr()
    journal.close()
    assert capsys.readouterr().err == ""
    journal.refused("links", "l", 1, "why")
    assert capsys.readouterr().err == "refused links: l of uid 1: why\n"


def test_each_command_ends_with_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(journal.MOST + 5):
        journal.refused("links", "l", 1, "why")
    capsys.readouterr()
    main(["--version"])
    assert capsys.readouterr().err == "refused links: and 5 more like these\n"


def test_a_stderr_that_is_gone_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = io.StringIO()
    gone.close()
    monkeypatch.setattr(sys, "stderr", gone)
    journal.refused("links", "l", 1, "why")
