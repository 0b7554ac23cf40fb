"""The record of what sacct has answered."""

from __future__ import annotations

import sqlite3

import pytest

from adminkit.trace import windows
from adminkit.trace.schema import migrate
from adminkit.trace.windows import RecordedWindow


@pytest.fixture
def db() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    return connection


@pytest.mark.parametrize(
    ("before", "recorded", "after", "why"),
    [
        ([], (0, 10, False), [(0, 10, False)], "the first"),
        ([(0, 10, False)], (8, 20, False), [(0, 10, False), (8, 20, False)], "an overlap keeps both"),
        ([(2, 5, False), (5, 8, True)], (0, 10, False), [(0, 10, False)], "what lies inside is replaced"),
        ([(0, 10, True)], (4, 6, False), [(0, 4, True), (4, 6, False), (6, 10, True)], "a settled part is taken out"),
        ([(0, 10, True)], (5, 15, False), [(0, 5, True), (5, 15, False)], "at either end"),
        ([(0, 10, False)], (5, 15, True), [(0, 10, False), (5, 15, True)], "doubt leaves what is settled"),
        ([(0, 10, True)], (0, 10, True), [(0, 10, True)], "asked again, still in doubt"),
    ],
)
def test_recording_a_window(
    db: sqlite3.Connection,
    before: list[tuple[int, int, bool]],
    recorded: tuple[int, int, bool],
    after: list[tuple[int, int, bool]],
    why: str,
) -> None:
    for since, until, provisional in before:
        windows.record(db, "a", windows.JOBS, RecordedWindow(since, until, provisional, 1))
    windows.record(db, "b", windows.JOBS, RecordedWindow(0, 1, True, 1))
    windows.record(db, "a", windows.STEPS, RecordedWindow(0, 1, True, 1))
    windows.record(db, "a", windows.JOBS, RecordedWindow(*recorded, 2))
    assert [(w.since, w.until, w.provisional) for w in windows.recorded(db, "a", windows.JOBS)] == after, why
    assert len(windows.recorded(db, "b", windows.JOBS)) == len(windows.recorded(db, "a", windows.STEPS)) == 1


def test_a_restart_of_slurmdbd_puts_the_recent_past_in_doubt(db: sqlite3.Connection) -> None:
    for since in (0, 10, 20):
        windows.record(db, "a", windows.JOBS, RecordedWindow(since, since + 10, False, 1))
    assert windows.doubt(db, "a", windows.JOBS, 15) == 2
    assert [w.provisional for w in windows.recorded(db, "a", windows.JOBS)] == [False, True, True]


def test_notes_keep_their_newest_value(db: sqlite3.Connection) -> None:
    assert windows.fact(db, "a", "k") is None
    windows.set_fact(db, "a", "k", "1", 5)
    windows.set_fact(db, "a", "k", "2", 6)
    assert windows.fact(db, "a", "k") == ("2", 6)
