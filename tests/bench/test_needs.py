"""What is missing for the measurements is said before the first of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.bench import __main__ as bench


@pytest.mark.parametrize(
    ("words", "absent", "why"),
    [
        (["parse"], ["duckdb", "taskset"], "one part"),
        (["import", "snapshot"], ["cc", "sqlite3", "taskset"], "of two parts, each once"),
        (["--against", "HEAD"], ["git", "make", "taskset"], "against a revision"),
        ([], ["cc", "duckdb", "sqlite3", "taskset"], "all of them"),
    ],
)
def test_all_that_is_missing_is_said_at_once_with_the_command(
    words: list[str],
    absent: list[str],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    assert bench.main(words) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"error: no {', no '.join(absent)}", why
    assert said[1:] == [f"hint: {bench.SOURCES[name]}" for name in absent]


def test_what_is_named_can_be_got() -> None:
    assert {name for names in bench.NEEDS.values() for name in names} == set(bench.SOURCES)
    assert set(bench.NEEDS) <= {*bench.PARTS, "against"}


def test_every_part_is_a_file_and_every_file_a_part() -> None:
    files = {path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")}
    assert files == set(bench.PARTS)
