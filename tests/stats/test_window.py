"""What is left of a window: no further than the trace goes, and than now."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.stats.select import Filter
from adminkit.stats.window import Known, clamped, known_times
from adminkit.trace.connect import reader, writer
from tests.support.builders import HOUR, MONDAY, job, make_trace

NOW = MONDAY + 40 * 24 * HOUR


@pytest.mark.parametrize(
    ("since", "until", "there", "expected", "why"),
    [
        (None, None, Known(10, 20, 30), (10, 20), "open: from the first moment to the last"),
        (5, None, Known(10, 20, 30), (5, 20), "from where it was asked for"),
        (5, 15, Known(10, 20, 30), (5, 15), "within what is known"),
        (5, 50, Known(10, 20, 30), (5, 30), "nothing is known from 30 on"),
        (5, 50, Known(10, 20, 20), (5, 20), "… or from the last moment on, where nobody asked for more"),
        (5, 200, Known(10, 20, 300), (5, 100), "now is 100"),
        (30, 50, Known(10, 20, 30), None, "begins where the trace ends"),
        (30, None, Known(10, 20, 40), None, "begins after the last moment"),
        (5, 50, Known(None, None, None), None, "an empty trace"),
        (None, 50, Known(None, None, 30), None, "sync asked, and there was nothing"),
    ],
)
def test_a_window_ends_where_the_trace_does(
    since: int | None, until: int | None, there: Known, expected: tuple[int, int] | None, why: str
) -> None:
    assert clamped(Filter(since=since, until=until, checkpoint_code=85), there, 100) == expected, why


@pytest.mark.parametrize(
    ("clusters", "asked", "expected", "why"),
    [
        ((), None, (0, 9, 9), "of all clusters"),
        (("aaic",), None, (0, 4, 4), "of the one that was named"),
        (("aaic",), 7, (0, 4, 7), "sync asked up to then, and nothing ran any more"),
        (("other",), 7, (2, 9, 9), "sync asked another one"),
    ],
)
def test_what_a_trace_knows_ends_with_its_last_run_or_what_sync_asked_for(
    tmp_path: Path, clusters: tuple[str, ...], asked: int | None, expected: tuple[int, ...], why: str
) -> None:
    path = make_trace(
        tmp_path / "t.db",
        [
            job(1, start_time=MONDAY, end_time=MONDAY + 2 * HOUR),
            job(2, start_time=MONDAY + HOUR, end_time=None, state="RUNNING", seen_open=MONDAY + 4 * HOUR),
            job(3, start_time=None, end_time=MONDAY + 20 * HOUR, state="CANCELLED"),
            job(4, start_time=MONDAY + 2 * HOUR, end_time=MONDAY + 9 * HOUR, cluster="other"),
        ],
    )
    if asked is not None:
        with writer(path) as db:
            until = MONDAY + asked * HOUR
            db.execute("INSERT INTO window VALUES ('aaic', 'job', 0, ?, 0, 0, 0, 0, 0, 0, 0, 0)", (until,))
    with reader(path) as db:
        chosen = Filter(clusters, checkpoint_code=85)
        assert known_times(db, chosen, NOW) == Known(*(MONDAY + hours * HOUR for hours in expected)), why
