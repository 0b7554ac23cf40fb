"""Progress: plain lines where there is no terminal."""

from __future__ import annotations

import pytest

from adminkit.cli.progress import PLAIN_EVERY, progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be moved by hand."""
    now = [1000.0]
    monkeypatch.setattr("adminkit.cli.progress.time.monotonic", lambda: now[0])
    return now


def test_the_last_line_says_how_it_ended(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress("simulating") as tick:
        tick(10, 100, 10)
        clock[0] += PLAIN_EVERY
        tick(48, 100, 48)
        clock[0] += 1
        tick(100, 100, 100)
        tick(100, 100, 100)
    assert capsys.readouterr().err == "simulating: 48 jobs, 48%\nsimulating: 100 jobs, 100%\n"


def test_what_was_short_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("simulating") as tick:
        tick(100, 100, 100)
    with progress("nothing"):
        pass
    assert capsys.readouterr().err == ""


def test_what_failed_does_not_look_finished(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError), progress("reading") as tick:
        clock[0] += PLAIN_EVERY
        tick(10, None, 10)
        tick(20, None, 20)
        raise OSError
    assert capsys.readouterr().err == "reading: 10 jobs\n"


@pytest.mark.parametrize(
    ("thing", "number", "expected"),
    [
        ("report", 1, "reading: 1 report, 5%\n"),
        ("report", 2, "reading: 2 reports, 10%\n"),
        ("job", 0, "reading: 0 jobs, 0%\n"),
        ("run", 1234, "reading: 1,234 runs, 6170%\n"),
    ],
)
def test_one_thing_is_not_several(
    clock: list[float], capsys: pytest.CaptureFixture[str], thing: str, number: int, expected: str
) -> None:
    with progress("reading", thing) as tick:
        clock[0] += PLAIN_EVERY
        tick(number, 20, number)
    assert capsys.readouterr().err == expected
