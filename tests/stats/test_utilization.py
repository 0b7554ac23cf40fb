"""Hours in use and the capacity beside them: what belongs to a part of the window, what is down, what is unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from adminkit.job import Job
from adminkit.stats.select import Filter
from adminkit.stats.utilization import PARTS, Hours, Utilization, utilization
from adminkit.trace.connect import create, reader, writer
from adminkit.trace.windows import MAX_PROCS, set_fact
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.hours import add_nodes

ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)
#: The six hours that most tests look at.
SIX = replace(ALL, since=MONDAY, until=MONDAY + 6 * HOUR)
NOW = MONDAY + 90 * 86_400
UTC = ZoneInfo("UTC")


def measured(path: Path, chosen: Filter = SIX, part: str = "hour", now: int = NOW, tz: ZoneInfo = UTC) -> Utilization:
    """The trace at `path` knows all until `now`, as after a sync."""
    with writer(path) as db:
        db.execute("INSERT OR IGNORE INTO window VALUES ('aaic', 'job', 0, ?, 0, 0, 0, 0, 0, 0, 0, 0)", (now,))
    with reader(path) as db:
        return utilization(db, chosen, part, now, tz)


def ran(start: float, end: float | None, number: int = 1, **changes: Any) -> Job:
    """A run of one GPU and eight CPUs, its times in hours after MONDAY."""
    begin, over = MONDAY + int(start * HOUR), None if end is None else MONDAY + int(end * HOUR)
    elapsed = None if over is None else over - begin
    return job(number, **{"start_time": begin, "end_time": over, "elapsed": elapsed, **changes})


def used(found: Utilization, name: str = "gpu") -> list[float | None]:
    """Hours in use of each part."""
    return [None if (hours := part.hours[name].used) is None else hours / HOUR for part in found.parts]


@pytest.mark.parametrize(
    ("one", "hours", "why"),
    [
        (ran(1, 3), [0, 1, 1, 0, 0, 0], "two whole hours"),
        (ran(1.5, 3.25), [0, 0.5, 1, 0.25, 0, 0], "parts of hours"),
        (ran(-5, 1), [1, 0, 0, 0, 0, 0], "began before the window"),
        (ran(5, 500), [0, 0, 0, 0, 0, 1], "ends after it"),
        (ran(-5, 500), [1] * 6, "all of it"),
        (ran(-5, 0), [0] * 6, "ended as it began"),
        (ran(0, 4, elapsed=HOUR), [0.25] * 4 + [0, 0], "what was suspended is spread evenly"),
        (ran(2, 2, elapsed=HOUR), [0, 0, 1, 0, 0, 0], "an end that is not after the start"),
        (
            ran(1, 2, gpus=None, req_gpus=4, cpus=None, req_cpus=32),
            [0, 4, 0, 0, 0, 0],
            "what was asked for, where that is all",
        ),
        (ran(1, 2, state="FAILED"), [0, 1, 0, 0, 0, 0], "however it ended"),
    ],
)
def test_a_run_is_used_in_the_hours_in_which_it_ran(tmp_path: Path, one: Job, hours: list[float], why: str) -> None:
    found = measured(make_trace(tmp_path / "t.db", [one]))
    assert used(found) == pytest.approx(hours, abs=1e-6), why
    assert used(found, "cpu") == pytest.approx([8 * hour for hour in hours], abs=1e-5), why


@pytest.mark.parametrize(
    ("changes", "hours", "why"),
    [
        ({"seen_open": MONDAY + 3 * HOUR, "elapsed": 2 * HOUR}, 3, "the snapshot was of an hour ago: it runs on"),
        ({"seen_open": MONDAY + 3 * HOUR, "elapsed": HOUR, "suspended": HOUR}, 2, "an hour of it was suspended"),
        ({"seen_open": MONDAY + 3 * HOUR, "elapsed": HOUR, "state": "SUSPENDED"}, 1, "suspended now"),
        ({"seen_open": MONDAY + 3 * HOUR}, 3, "the snapshot had no elapsed"),
        ({"seen_open": None}, None, "never seen: nobody knows until when"),
    ],
)
def test_an_open_run_is_counted_up_to_now(tmp_path: Path, changes: dict[str, Any], hours: float, why: str) -> None:
    path = make_trace(tmp_path / "t.db", [ran(1, None, **{"state": "RUNNING", **changes})])
    found = measured(path, now=MONDAY + 4 * HOUR)
    if hours is None:
        assert (found.jobs, found.excluded["no_end"]) == (0, 1), why
    else:
        assert (found.jobs, found.open) == (1, 1)
        assert found.parts[-1].end == MONDAY + 4 * HOUR  # a window ends now at the latest
        assert sum(hour or 0 for hour in used(found)) == pytest.approx(hours), why


def test_a_run_that_was_lost_is_counted_as_long_as_it_was_seen(tmp_path: Path) -> None:
    lost = ran(1, None, state="RUNNING", seen_open=MONDAY + 3 * HOUR)
    assert used(measured(make_trace(tmp_path / "t.db", [lost]))) == [0, 1, 1, 0, 0, 0]


def test_what_is_left_out_has_a_name(tmp_path: Path) -> None:
    jobs = [
        ran(1, 2),
        ran(1, 2, 2, start_time=None, elapsed=0, state="CANCELLED"),
        ran(1, 2, 3, elapsed=-1),
        ran(1, 2, 4, elapsed=2**31),
        ran(7, 8, 5),
        ran(1, 2, 6, user="bob"),
    ]
    found = measured(make_trace(tmp_path / "t.db", jobs), replace(SIX, users=("ada",)))
    assert found.jobs == 1
    assert found.excluded == {"window": 1, "not_started": 1, "user": 1, "no_end": 0, "elapsed_unknown": 2}


def test_sizes_that_are_unknown_add_nothing_and_are_counted(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", [ran(0, 6), ran(0, 6, 2, gpus=None, cpus=None), ran(0, 6, 3, cpus=None)])
    found = measured(path, part="day")
    assert found.unknown == {"gpu": 1, "cpu": 2, "node": 0}
    assert (used(found), used(found, "cpu"), used(found, "node")) == ([12], [48], [18])
    nothing = measured(make_trace(tmp_path / "other.db", [ran(0, 6, gpus=None)]), part="day")
    assert (used(nothing), nothing.overall and nothing.overall.hours["gpu"].used) == ([None], None)


NODES = [("n1", MONDAY - HOUR, 1, 64, 8, "gq"), ("n2", MONDAY - HOUR, 1, 64, 8, ",gq,debug,")]


@pytest.mark.parametrize(
    ("nodes", "events", "whole", "down", "kinds", "why"),
    [
        (NODES, [], [16] * 6, [0] * 6, (0, 0, 0), "both, all the time"),
        (NODES, [("n1", 1, 3, "DOWN*")], [16] * 6, [0, 8, 8, 0, 0, 0], (0, 0, 2), "down"),
        (NODES, [("n1", 1, 3, "DRAIN")], [16] * 6, [0, 8, 8, 0, 0, 0], (0, 2, 0), "drained"),
        (NODES, [("n1", 1, 3, "DOWN$")], [16] * 6, [0, 8, 8, 0, 0, 0], (2, 0, 0), "in a maintenance reservation"),
        (NODES, [("n1", 1, 3, "MAINT")], [16] * 6, [0, 8, 8, 0, 0, 0], (2, 0, 0), "Slurm's other word for it"),
        (NODES, [("n1", 5, None, "DRNG")], [16] * 6, [0] * 5 + [8], (0, 1, 0), "it lasts"),
        (NODES, [("n1", -9, 1, "DOWN"), ("n1", 1, 2, "DRAIN")], [16] * 6, [8, 8] + [0] * 4, (0, 1, 1), "one by one"),
        (NODES, [("n1", 0, None, "DOWN"), ("n1", 1, 2, "DRAIN")], [16] * 6, [8, 8] + [0] * 4, (0, 1, 1), "ended by it"),
        (NODES, [("n9", 0, None, "DOWN")], [16] * 6, [0] * 6, (0, 0, 0), "of a node that nobody knows"),
        ([*NODES, ("n2", MONDAY + 2 * HOUR, 0, None, None, None)], [], [16, 16] + [8] * 4, [0] * 6, (0, 0, 0), "gone"),
        ([*NODES, ("n3", MONDAY + 3 * HOUR, 1, 8, 4, "gq")], [], [16] * 3 + [20] * 3, [0] * 6, (0, 0, 0), "new"),
        ([*NODES, ("n2", MONDAY + 3 * HOUR, 1, 8, 0, "gq")], [], [16] * 3 + [8] * 3, [0] * 6, (0, 0, 0), "no GPUs"),
        ([*NODES, ("n3", MONDAY, 1, 8, None, "gq")], [], [None] * 6, [0] * 6, (0, 0, 0), "one that does not say"),
        ([], [], [None] * 6, [None] * 6, (), "nobody knows a node"),
    ],
)  # fmt: skip
def test_capacity_is_that_of_the_nodes_that_were_there(
    tmp_path: Path, nodes: list[Any], events: list[Any], whole: list[Any], down: list[Any], kinds: Any, why: str
) -> None:
    at = [(name, MONDAY + a * HOUR, None if b is None else MONDAY + b * HOUR, state) for name, a, b, state in events]
    found = measured(add_nodes(make_trace(tmp_path / "t.db", [ran(0, 1)]), nodes, at))
    hours = [part.hours["gpu"] for part in found.parts]
    assert [None if one.capacity is None else one.capacity / HOUR for one in hours] == whole, why
    assert [None if one.down is None else one.down / HOUR for one in hours] == down, why
    assert tuple(seconds / HOUR for seconds in found.capacity.kinds.values()) == kinds, why


def test_before_the_nodes_were_known_the_capacity_is_unknown(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", [ran(0, 6)])
    found = measured(add_nodes(path, [("n1", MONDAY + 2 * HOUR + 1, 1, 64, 8, "gq")]))
    assert [part.hours["gpu"].share for part in found.parts] == [None, None, None, 0.125, 0.125, 0.125]
    assert found.overall is not None
    assert found.overall.hours["gpu"] == Hours(6 * HOUR, None, None)


def test_a_queue_has_its_own_nodes_and_says_which_it_shares(tmp_path: Path) -> None:
    path = add_nodes(make_trace(tmp_path / "t.db", [ran(0, 6, queue="gq")]), NODES)
    assert measured(path, part="day").parts[0].hours["node"].capacity == 12 * HOUR
    for queue, nodes, shared in (("gq", 2, 1), ("debug", 1, 1)):
        found = measured(path, replace(SIX, queues=(queue,)), "day")
        assert (found.parts[0].hours["node"].capacity, found.capacity.shared) == (nodes * 6 * HOUR, shared), queue


def test_a_machine_without_nodes_may_state_its_processors(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", [ran(0, 3)])
    with writer(path) as db:
        set_fact(db, "aaic", MAX_PROCS, "16", 0)
    hours = measured(path, part="day").parts[0].hours
    assert (hours["cpu"].share, hours["gpu"].capacity, hours["cpu"].down) == (0.25, None, None)


def test_shared_nodes_are_told_by_more_node_hours_than_there_are(tmp_path: Path) -> None:
    jobs = [ran(0, 6, number, cpus=64) for number in (1, 2, 3)]
    assert not measured(add_nodes(make_trace(tmp_path / "a.db", jobs[:2]), NODES)).nodes_shared
    assert measured(add_nodes(make_trace(tmp_path / "b.db", jobs), NODES)).nodes_shared


ENDS = [
    (None, None, 3, "the last run"),
    (6, None, 3, "the last run: what came later nobody knows"),
    (6, 5, 5, "sync has asked further: nothing ran"),
    (4, 5, 4, "a window that ends before"),
    (2, None, 2, "or before the last run"),
]


@pytest.mark.parametrize(("until", "asked", "hours", "why"), ENDS)
def test_the_window_ends_where_the_trace_does(
    tmp_path: Path, until: int | None, asked: int | None, hours: int, why: str
) -> None:
    path = add_nodes(make_trace(tmp_path / "t.db", [ran(0, 1), ran(1, 3, 2)]), NODES)
    if asked:
        with writer(path) as db:
            row = (MONDAY + asked * HOUR,)
            db.execute("INSERT INTO window VALUES ('aaic', 'job', 0, ?, 0, 0, 0, 0, 0, 0, 0, 0)", row)
    chosen = replace(ALL, until=None if until is None else MONDAY + until * HOUR)
    with reader(path) as db:
        found = utilization(db, chosen, "hour", NOW, UTC)
    assert [part.hours["gpu"].capacity for part in found.parts] == [16 * HOUR] * hours, why


SHARING = [
    ({"cpus": 64}, False, "all CPUs of its node"),
    ({"cpus": 8}, True, "fewer: another may have been beside it"),
    ({"cpus": 128, "nodes": 2}, False, "all of two"),
    ({"cpus": 64, "nodes": 2}, True, "half of two"),
    ({"cpus": None}, False, "unknown"),
]


@pytest.mark.parametrize(("size", "shared", "why"), SHARING)
def test_a_run_without_all_cpus_of_its_nodes_may_share_them(
    tmp_path: Path, size: dict[str, int | None], shared: bool, why: str
) -> None:
    path = add_nodes(make_trace(tmp_path / "t.db", [ran(0, 6, **size)]), NODES)
    assert measured(path).nodes_shared is shared, why


@pytest.mark.parametrize("part", PARTS)
def test_parts_add_up_to_the_whole(tmp_path: Path, part: str) -> None:
    jobs = [ran(n * 31 / 7, n * 31 / 7 + n, n, gpus=n % 9, elapsed=n * 3000) for n in range(1, 200)]
    path = add_nodes(make_trace(tmp_path / "t.db", jobs), NODES, [("n1", MONDAY + 50 * HOUR, None, "DOWN")])
    found = measured(path, ALL, part, tz=ZoneInfo("Europe/Berlin"))
    assert found.overall is not None
    assert sum(one.hours["gpu"].used or 0 for one in found.parts) == pytest.approx(
        sum((one.gpus or 0) * (one.elapsed or 0) for one in jobs), abs=0.01
    )
    length = found.parts[-1].end - found.parts[0].begin
    assert found.overall.hours["gpu"].capacity == pytest.approx(16 * length)
    assert [a.end for a in found.parts[:-1]] == [b.begin for b in found.parts[1:]]


def test_nothing_in_use_is_zero_without_a_sign(tmp_path: Path) -> None:
    jobs = [ran(n / 10, 4, n, elapsed=100 * n + 1) for n in range(1, 30)]
    assert [str(hours) for hours in used(measured(make_trace(tmp_path / "t.db", jobs)))[4:]] == ["0.0", "0.0"]


def test_runs_in_a_part_are_those_that_ran_in_it(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", [ran(0, 2), ran(1, 1, 2, elapsed=0), ran(2, 6, 3), ran(1.5, 2.5, 4)])
    assert [part.jobs for part in measured(path).parts] == [1, 3, 2, 1, 1, 1]


@pytest.mark.parametrize("part", PARTS)
def test_an_empty_trace_has_no_parts(tmp_path: Path, part: str) -> None:
    create(tmp_path / "t.db")
    found = measured(tmp_path / "t.db", ALL, part)
    assert (found.parts, found.overall, found.jobs) == ([], None, 0)


def test_too_many_hours_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="more than"):
        measured(make_trace(tmp_path / "t.db", [ran(0, 1), ran(-400_000, 1, 2)]), ALL)
