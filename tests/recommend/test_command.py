"""adminkit recommend walltime, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adminkit import config
from adminkit.cli.main import main
from tests.builders import HOUR, MONDAY, job, make_trace


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ADMINKIT_DB", "ADMINKIT_CONFIG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "none.toml")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    day = 24 * HOUR
    jobs = [
        job(n, submit_time=MONDAY + n * day, start_time=MONDAY + n * day, end_time=MONDAY + n * day + HOUR,
            time_limit=day, job_name="train")
        for n in range(1, 21)
    ]  # fmt: skip
    few = [job(30, user="bob", job_name="new")]
    stuck = [
        job(40 + n, user="eve", state="TIMEOUT", elapsed=4 * HOUR, submit_time=MONDAY + n * day,
            start_time=MONDAY + n * day, end_time=MONDAY + n * day + 4 * HOUR)
        for n in range(10)
    ]  # fmt: skip
    return make_trace(tmp_path / "t.db", [*jobs, *few, *stuck])


def shown(capsys: pytest.CaptureFixture[str], trace: Path, *words: str) -> dict[str, object]:
    assert main(["recommend", "walltime", "--db", str(trace), "-f", "json", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_a_limit_comes_with_a_line_to_paste(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--user", "ada", "--name", "train", "--queue", "gq", "--gpus", "1")
    (row,) = shown(capsys, trace, *words)["rows"]  # type: ignore[misc, attr-defined]
    assert row["paste"] == "#SBATCH --time=01:30:00"
    assert (row["expected"], row["limit"], row["risk"], row["similar_by"]) == (HOUR, 5400, 0.0, "name, queue and size")


@pytest.mark.parametrize(
    ("user", "note"),
    [
        ("bob", "too little history: 1 run of bob and too few like this one"),
        ("eve", "no limit recommended: too many of these runs ran into their limit"),
    ],
)
def test_where_nothing_is_recommended_it_says_why(
    trace: Path, capsys: pytest.CaptureFixture[str], user: str, note: str
) -> None:
    found = shown(capsys, trace, "--user", user)
    assert found["rows"] == []
    assert any(note in one for one in found["meta"]["notes"])  # type: ignore[index]


def test_the_backtest_is_a_table_of_five_ways(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = shown(capsys, trace, "--backtest")["rows"]
    assert [row["limit_by"] for row in rows] == [  # type: ignore[attr-defined]
        "the users' own requests", "mean of the user's last two", "expected run time", "safe limit",
        "safe limit, rounded",
    ]  # fmt: skip


@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown", "html"])
@pytest.mark.parametrize("words", [["--user", "ada"], ["--backtest"]])
def test_every_format_is_written(
    trace: Path, capsys: pytest.CaptureFixture[str], format: str, words: list[str]
) -> None:
    if format == "html":
        pytest.importorskip("matplotlib")
    assert main(["recommend", "walltime", "--db", str(trace), "-f", format, *words]) == 0
    assert "limit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["--user", "adda"], "no such user: adda", "did you mean ada?"),
        (["--user", "ada", "--time", "soon"], "no such duration: soon", "write seconds"),
        (["--backtest", "--queue", "gp"], "no such queue: gp", "did you mean gq?"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_a_hint(
    trace: Path, capsys: pytest.CaptureFixture[str], words: list[str], error: str, hint: str
) -> None:
    assert main(["recommend", "walltime", "--db", str(trace), *words]) == 2
    err = capsys.readouterr().err
    assert error in err
    assert hint in err
