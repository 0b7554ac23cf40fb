"""What the jobs of a queue reserve and use: all, those at its maximum, those at its default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.stats.queue_habits import Part, queue_habits
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

#: (cluster, queue, since, default, maximum): four hours by default, ten at most.
QUEUE = ("aaic", "gq", 0, 4 * HOUR, 10 * HOUR)
NOTHING = Part(0, 0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "at_maximum", "at_default", "why"),
    [
        ({"time_limit": 10 * HOUR}, True, False, "the maximum itself"),
        ({"time_limit": 11 * HOUR}, True, False, "more than the maximum, by an operator"),
        ({"time_limit": 10 * HOUR - 1}, False, False, "a second less"),
        ({"time_limit": 4 * HOUR}, False, False, "the default, but typed"),
        (
            {"time_limit": 4 * HOUR, "limit_source": "unknown"},
            False,
            True,
            "the default, and nobody knows who chose it",
        ),
        ({"time_limit": 4 * HOUR, "limit_source": "stated"}, False, True, "a word of the user's own proves nothing"),
        ({"time_limit": 5 * HOUR, "limit_source": "default"}, False, True, "a default of another day"),
        ({"time_limit": 2 * HOUR, "limit_original": 10 * HOUR}, True, False, "asked for the maximum, lowered since"),
    ],
)
def test_which_part_a_job_is_of(
    tmp_path: Path, changes: dict[str, Any], at_maximum: bool, at_default: bool, why: str
) -> None:
    with reader(make_trace(tmp_path / "t.db", [job(1, **changes)], [QUEUE])) as db:
        (found,) = queue_habits(db, Filter(checkpoint_code=85), MONDAY)
    assert (found.at_maximum.jobs, found.at_default.jobs) == (at_maximum, at_default), why
    assert (found.default_limit, found.max_limit) == (4 * HOUR, 10 * HOUR)


def test_hours_are_those_of_gpus_and_of_nodes_without(tmp_path: Path) -> None:
    jobs = [
        job(1, gpus=4, elapsed=HOUR, time_limit=10 * HOUR),
        job(2, gpus=0, nodes=3, elapsed=2 * HOUR, time_limit=10 * HOUR, user="bob"),
        job(3, gpus=1, elapsed=5 * HOUR, time_limit=4 * HOUR, state="TIMEOUT"),  # past its limit
        job(4, queue="other"),
        job(5, cluster="other", time_limit=10 * HOUR),
    ]
    with reader(make_trace(tmp_path / "t.db", jobs, [QUEUE])) as db:
        first, *others = queue_habits(db, Filter(checkpoint_code=85), MONDAY)
    assert first.everything == Part(3, 2, (40 + 30 + 4) * HOUR, (4 + 6 + 4) * HOUR)
    assert first.at_maximum == Part(2, 2, 70 * HOUR, 10 * HOUR)
    assert first.everything.unused == 60 * HOUR
    assert [(one.cluster, one.queue, one.max_limit, one.at_maximum) for one in others] == [
        ("aaic", "other", None, NOTHING), ("other", "gq", None, NOTHING),
    ], "of which no limits are known"  # fmt: skip


def test_no_job_no_queue(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db", [], [QUEUE])) as db:
        assert queue_habits(db, Filter(checkpoint_code=85), MONDAY) == []
