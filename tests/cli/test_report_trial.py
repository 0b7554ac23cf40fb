"""`report trial` and `trial result`, of a copy of the trial's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.deploy.trial import Placed, Trial, trial_table
from adminkit.stats.switchback import calendar
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY = 24 * HOUR


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A trace of four weeks, in which jobs waited half as long on B's days, and the trial's file."""
    days = calendar(range(MONDAY, MONDAY + 29 * DAY, DAY), 7)
    placed = [Placed(day.since, "b" if day.on else "a") for day in days]
    made = Trial("aaic", MONDAY, 7, HOUR, days, names=("A", "<b>B</b>"), placed=placed)
    jobs = []
    for nth, day in enumerate(days):
        at, wait = day.since + 12 * HOUR, (600 + 90 * (nth * 5 % 11)) * (2 if day.on else 4)
        jobs.append(job(nth, eligible_time=at, start_time=at + wait, end_time=at + wait + HOUR))
    (tmp_path / "trial.json").write_text(json.dumps(trial_table(made)))
    return make_trace(tmp_path / "t.db", jobs), tmp_path / "trial.json"


@pytest.mark.parametrize("command", [["report", "trial"], ["trial", "result"]])
def test_both_commands_say_the_same(
    files: tuple[Path, Path], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    db, copy = files
    assert main([*command, "--db", str(db), "--from", str(copy), "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    first = said["rows"][0]
    assert (first["jobs"], first["measure"], first["pairs"], first["verdict"]) == ("all", "mean wait", 14, "less")
    assert first["low"] < first["change"] < first["high"] < 0


def test_the_page_quotes_the_names_and_has_the_picture(files: tuple[Path, Path], tmp_path: Path) -> None:
    db, copy = files
    page = tmp_path / "trial.html"
    assert main(["report", "trial", "--db", str(db), "--from", str(copy), "-f", "html", "--output", str(page)]) == 0
    text = page.read_text()
    assert "&lt;b&gt;B&lt;/b&gt; the mean wait is" in text and "<b>B</b>" not in text
    assert "<svg" in text


def test_a_file_that_is_not_there_is_named(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "trial", "--db", str(files[0]), "--from", str(tmp_path / "none.json")]) == 1
    assert "none.json: no such file or directory" in capsys.readouterr().err


def test_a_damaged_file_is_refused(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    files[1].write_text("{}")
    assert main(["report", "trial", "--db", str(files[0]), "--from", str(files[1])]) == 1
    assert "not a trial as adminkit writes it" in capsys.readouterr().err
