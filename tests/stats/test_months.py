"""Months of a trace, and what came when: tables of small traces and what is measured of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats.moments import Change, Limits, changes
from adminkit.stats.months import BEFORE, Months, months
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, add_letters, job, letter, make_trace

DAY = 24 * HOUR


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def ended(number: int, end: str, **changes: Any) -> Job:
    """A job of one hour of four that ended at noon of that day, having waited for a minute."""
    end_time = at(end) + 12 * HOUR
    start = end_time - changes.get("elapsed", HOUR)
    given = {"end_time": end_time, "start_time": start, "eligible_time": start - 60, "submit_time": start - 60}
    return job(number, **{**given, **changes})


def measured(folder: Path, jobs: Sequence[Job], until: str, **chosen: Any) -> Months:
    with reader(make_trace(folder / "t.db", jobs)) as db:
        return months(db, Filter(checkpoint_code=85, **chosen), at(until))


def test_a_month_has_its_jobs_per_day_its_limits_its_waits_and_its_failures(tmp_path: Path) -> None:
    jobs = [ended(n, f"2026-03-{n:02}", gpus=2) for n in range(1, 11)]
    jobs += [ended(20 + n, "2026-03-20", state="FAILED", elapsed=30) for n in range(2)]
    found = measured(tmp_path, jobs, "2026-03-31")
    (only,) = found.clusters["aaic"]
    assert (found.names, found.edges) == (["2026-03"], [at("2026-03-01") + 12 * HOUR, at("2026-03-31")])
    assert (only.jobs, only.ended, only.failed, only.waited) == (10, 12, 2, 11), (
        "one started before the trace's first end"
    )
    days = 29.5
    assert only.values() == {
        "jobs_a_day": pytest.approx(10 / days), "accuracy": 0.25, "used_fraction": 0.25,
        "unused_gpu_hours_a_day": pytest.approx(10 * 3 * 2 / days), "unused_cpu_hours_a_day": 0.0,
        "wait_median": 60.0, "wait_p95": 60.0, "failed_share": pytest.approx(2 / 12),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("first", "until", "names", "why"),
    [
        ("2025-01-01", "2026-03-31", ["2025-03", "2026-03"], "a year before and this month"),
        ("2025-11-20", "2026-01-31", ["2025-11", "2026-01"], "the trace begins later"),
        ("2025-11-20", "2026-01-05", ["2025-11", "2025-12"], "five days are no month yet"),
        ("2026-01-01", "2026-01-05", ["2026-01", "2026-01"], "unless there is no other"),
        ("2025-11-20", "2026-01-08", ["2025-11", "2026-01"], "seven are"),
        ("2025-11-20", "2026-01-01", ["2025-11", "2025-12"], "the end is not in its month"),
    ],
)
def test_which_months_there_are(tmp_path: Path, first: str, until: str, names: list[str], why: str) -> None:
    found = measured(tmp_path, [ended(1, first), ended(2, "2026-01-02")], until)
    assert [found.names[0], found.names[-1]] == names, why
    assert len(found.edges) == len(found.names) + 1 <= BEFORE + 2
    assert all(len(some) == len(found.names) for some in found.clusters.values())


def test_few_jobs_say_nothing_of_limits_and_waits_and_no_trace_has_no_month(tmp_path: Path) -> None:
    (some,) = measured(tmp_path, [ended(1, "2026-03-02")], "2026-03-31").clusters.values()
    assert {name for name, value in some[-1].values().items() if value is None} == {
        "accuracy", "used_fraction", "unused_gpu_hours_a_day", "unused_cpu_hours_a_day", "wait_median", "wait_p95",
        "failed_share",
    }  # fmt: skip
    (tmp_path / "empty").mkdir()
    assert measured(tmp_path / "empty", [], "2026-03-31") == Months((), ())


def test_two_clusters_are_apart_and_a_job_without_anything_known_harms_nothing(tmp_path: Path) -> None:
    bare = Job(cluster="b", job_id_raw=9, submit_time=at("2026-03-05"))
    late = job(3, cluster="b", user=None, queue=None, gpus=None, cpus=None, nodes=None, time_limit=None,
        limit_kind="unknown", end_time=at("2026-03-05"), start_time=None)  # fmt: skip
    found = measured(tmp_path, [ended(1, "2026-03-02"), ended(2, "2026-03-03"), bare, late], "2026-03-31")
    assert {name: some[-1].jobs for name, some in found.clusters.items()} == {"aaic": 2, "b": 1}


def test_a_cluster_that_joins_later_has_no_days_before(tmp_path: Path) -> None:
    late = [ended(n, f"2026-03-{n:02}", cluster="new") for n in range(10, 20)]
    found = measured(tmp_path, [ended(1, "2025-11-02"), *late], "2026-03-31").clusters
    assert [one.values()["jobs_a_day"] for one in found["new"][:-1]] == [None] * 4
    assert found["new"][-1].values()["jobs_a_day"] == pytest.approx(10 / 21, rel=0.03), "from the tenth on"
    assert found["aaic"][-1].days == 30


@pytest.mark.parametrize(
    ("changes", "gpu", "cpu", "why"),
    [
        ({"gpus": None, "cpus": 2}, None, 2, "CPU-hours are known without GPUs"),
        ({"gpus": 0, "cpus": 2}, 0, 2, "no GPUs"),
        ({"gpus": 0, "cpus": None}, 0, None, "CPUs are unknown, not none"),
        ({"gpus": None, "cpus": None, "nodes": 2}, None, None, "nodes are no CPUs"),
        ({"gpus": 3, "cpus": 8}, 3, 0, "those of a run on GPUs are GPU-hours"),
    ],
)
def test_unused_hours_are_known_or_said_to_be_unknown(
    tmp_path: Path, changes: dict[str, Any], gpu: int | None, cpu: int | None, why: str
) -> None:
    none = {"req_gpus": None, "req_cpus": None}
    some = [ended(n, "2026-03-05", **none, **changes) for n in range(1, 11)]
    (found,) = measured(tmp_path, some, "2026-03-31").clusters.values()
    month, values = found[-1], found[-1].values()
    told = (values["unused_gpu_hours_a_day"], values["unused_cpu_hours_a_day"])
    hours = month.reserved / 3600 - month.used / 3600
    wanted = [None if size is None else pytest.approx(hours * size / month.days) for size in (gpu, cpu)]
    assert told == tuple(wanted), why


def test_what_came_is_found_where_it_changed_something(tmp_path: Path) -> None:
    queues = [
        ("aaic", "gq", 0, HOUR, 72 * HOUR), ("aaic", "gq", 200, HOUR, 72 * HOUR),  # more nodes, no other limit
        ("aaic", "gq", 300, HOUR, 24 * HOUR), ("aaic", "gq", 400, None, None), ("b", "q", 350, 60, 60),
        ("b", "q", 360, 1, 60),
    ]  # fmt: skip
    path = make_trace(tmp_path / "t.db", [job()], queues)
    add_letters(path, [letter(1001, sent_at=500), letter(1002, sent_at=450), letter(1003, cluster="b", sent_at=None)])
    acts: list[tuple[int, str, str | None, dict[str, Any]]] = [
        (310, "policy install", "a", {"before": None}), (311, "policy install", "a", {"before": "a"}),
        (320, "policy install", "b", {"before": "a", "table": "policy"}),
        (320, "policy install", "x", {"before": "w", "table": "hints"}),  # two tables of one act
        (330, "policy rollback", "a", {"before": "b"}), (335, "policy install", "b", {"before": "a"}),
        (340, "policy refresh", "c", {"before": "a"}), (345, "soft-limits trial", None, {"did": "trial begun"}),
        (346, "soft-limits trial", None, {"did": "trial ended"}),
        (347, "soft-limits trial", None, {"did": "trial begun"}),
        (348, "feedback run", None, {}),
    ]  # fmt: skip
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO action (at, what, generation, line) VALUES (?, ?, ?, ?)",
            [
                (at, what, generation, json.dumps({"at": at, "what": what, **more}))
                for at, what, generation, more in acts
            ],
        )
        db.execute("INSERT INTO action (at, what, generation, line) VALUES (349, 'policy install', 'z', 'cut')")
    with reader(path) as db:
        found = changes(db, 0, 1000)
        assert found == [
            Change(300, "limits", "aaic", limits=Limits("gq", HOUR, 24 * HOUR, HOUR, 72 * HOUR)),
            Change(310, "rules", what="policy install"),
            Change(320, "rules", what="policy install"),
            Change(330, "rules", what="policy rollback"),
            Change(335, "rules", what="policy install"),
            Change(345, "soft_limits", what="soft-limits trial"),
            Change(347, "soft_limits", what="soft-limits trial"),
            Change(360, "limits", "b", limits=Limits("q", 1, 60, 60, 60)),
            Change(400, "limits", "aaic", limits=Limits("gq", None, None, HOUR, 24 * HOUR)),
            Change(450, "letters", "aaic"),
        ]
        assert changes(db, 311, 400) == found[2:8], "the window"
        assert [one.kind for one in changes(db, 0, 1000, ["b"])] == [*["rules"] * 4, *["soft_limits"] * 2, "limits"]
        assert not [one for one in changes(db, 0, 1000, (), ["other"]) if one.kind == "limits"]
