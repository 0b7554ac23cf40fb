"""doctor's lines about time: clocks that differ, windows in time to come, a sync that stands still."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from adminkit.doctor import clocks
from adminkit.slurm import cluster
from adminkit.trace.connect import writer
from adminkit.trace.windows import RecordedWindow, record
from tests.support.builders import make_trace

NOW = 1_800_000_000
HOUR = 3600


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: float(NOW))


@pytest.mark.parametrize(
    ("theirs", "status", "says", "why"),
    [
        (NOW - 2, "ok", "agree", "two seconds are nothing"),
        (NOW - 3 * 24 * HOUR, "warn", "72 h ahead of slurmctld's", "the clock was fast"),
        (NOW + 2 * HOUR, "warn", "2 h behind slurmctld's", "the clock is slow"),
        (None, None, "", "slurmctld does not say"),
    ],
)
def test_this_hosts_clock_is_compared_with_slurmctlds(
    monkeypatch: pytest.MonkeyPatch, theirs: int | None, status: str | None, says: str, why: str
) -> None:
    monkeypatch.setattr(cluster, "clock", lambda: theirs)
    found = [(one.status, says in one.found, bool(one.hint)) for one in clocks.clock()]
    assert found == ([] if status is None else [(status, True, status == "warn")]), why


@pytest.mark.parametrize(
    ("windows", "expected", "why"),
    [
        ([(-HOUR, -60, -60)], [("ok", "1 min ago")], "an hourly timer"),
        ([(-9 * HOUR, -7 * HOUR, -7 * HOUR)], [("warn", "7 h ago")], "six hourly runs are missing"),
        (
            [(-HOUR, -60, -60), (-60, 72 * HOUR, 72 * HOUR)],
            [("ok", "1 min ago"), ("warn", "in the future")],
            "a run with a clock that was three days fast",
        ),
        (
            [(-60, HOUR, HOUR)],
            [("warn", "every run so far is dated in the future"), ("warn", "in the future")],
            "only that",
        ),
        ([], [], "an import"),
    ],
)
def test_a_sync_that_stands_still_or_was_in_time_to_come_is_said(
    tmp_path: Path, windows: list[tuple[int, int, int]], expected: list[tuple[str, str]], why: str
) -> None:
    path = make_trace(tmp_path / "t.db", [])
    with writer(path) as db:
        for since, until, asked_at in windows:
            record(db, "aaic", "job", RecordedWindow(NOW + since, NOW + until, False, NOW + asked_at))
    found = list(clocks.synced(path))
    assert [one.status for one in found] == [status for status, _ in expected], why
    assert all(says in one.found for one, (_, says) in zip(found, expected, strict=True)), found
    assert all(one.hint for one in found if one.status == "warn")
