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


def test_hours_are_those_of_gpus_and_of_cpus_without(tmp_path: Path) -> None:
    jobs = [
        job(1, gpus=4, elapsed=HOUR, time_limit=10 * HOUR),
        job(2, gpus=0, cpus=3, elapsed=2 * HOUR, time_limit=10 * HOUR, user="bob"),
        job(3, gpus=1, elapsed=5 * HOUR, time_limit=4 * HOUR, state="TIMEOUT"),  # past its limit
        job(4, queue="other"),
        job(5, cluster="other", time_limit=10 * HOUR),
    ]
    with reader(make_trace(tmp_path / "t.db", jobs, [QUEUE])) as db:
        first, *others = queue_habits(db, Filter(checkpoint_code=85), MONDAY)
    assert (first.resource, first.everything) == ("gpu", Part(2, 1, (40 + 4) * HOUR, (4 + 4) * HOUR))
    assert first.at_maximum == Part(1, 1, 40 * HOUR, 4 * HOUR)
    assert first.unused_weight(first.everything) == first.everything.unused == 36 * HOUR
    cpu, *others = others
    assert (cpu.resource, cpu.everything) == ("cpu", Part(1, 1, 30 * HOUR, 6 * HOUR)), "never added to GPU-hours"
    assert cpu.unused_weight(cpu.everything) == 24 * HOUR / 16
    assert [(one.cluster, one.queue, one.max_limit, one.at_maximum) for one in others] == [
        ("aaic", "other", None, NOTHING), ("other", "gq", None, NOTHING),
    ], "of which no limits are known"  # fmt: skip


def test_where_neither_gpus_nor_cpus_are_known_there_are_no_hours(tmp_path: Path) -> None:
    jobs = [job(n, gpus=None, req_gpus=None, cpus=None, req_cpus=None, elapsed=HOUR) for n in (1, 2)]
    with reader(make_trace(tmp_path / "t.db", jobs, [QUEUE])) as db:
        (found,) = queue_habits(db, Filter(checkpoint_code=85), MONDAY)
    assert (found.resource, found.everything.used_fraction) == (None, 0.25), "a run counts as one"


def test_no_job_no_queue(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db", [], [QUEUE])) as db:
        assert queue_habits(db, Filter(checkpoint_code=85), MONDAY) == []
