"""What the limits of a queue could be, by hand-made jobs of users whose run times are known."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.job import Job
from adminkit.recommend.menu import MENU
from adminkit.recommend.queues import QueueAdvice, queue_advice
from adminkit.stats.queue_fit import queue_jobs
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.reports import HOSTILE

QUEUES = [("aaic", "gq", 0, 24 * HOUR, 72 * HOUR), ("aaic", "short", 0, HOUR, 3 * HOUR)]


def jobs_of(queue: str, minutes: list[int], first: int = 1, **changes: Any) -> list[Job]:
    """Ten users, each with a job of every one of these run times."""
    given = {"queue": queue, "time_limit": 72 * HOUR, **changes}
    return [
        job(first + 1000 * user + n, user=f"u{user}", elapsed=60 * ran, **given)
        for user in range(10)
        for n, ran in enumerate(minutes)
    ]


def advised(path: Path, jobs: list[Job], risk: float = 0.1) -> dict[str | None, QueueAdvice]:
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        every = queue_jobs(db, Filter(checkpoint_code=85), MONDAY)
    return {one.queue: queue_advice(one, every, MENU, risk) for one in every}


@pytest.mark.parametrize(
    ("minutes", "risk", "expected", "why"),
    [
        ([50] * 10, 0.1, (1, 0), "the least of the menu that all jobs fit"),
        ([50] * 19 + [300], 0.1, (1, 10), "one in twenty is longer: within the risk"),
        ([50] * 19 + [300], 0.05, (1, 10), "the risk itself, of every user alike"),
        ([50] * 19 + [300], 0.04, (6, 0), "above it"),
        ([50] * 5 + [4000] * 5, 0.1, "its jobs need the current maximum", "half need nearly the maximum"),
        ([50] * 9, 0.1, "fewer than 100 jobs", "ninety"),
    ],
)
def test_the_maximum_is_the_least_limit_within_the_risk(
    tmp_path: Path, minutes: list[int], risk: float, expected: tuple[int, int] | str, why: str
) -> None:
    one = advised(tmp_path, jobs_of("gq", minutes), risk)["gq"]
    if isinstance(expected, str):
        assert (one.maximum, one.why) == (None, expected), why
    else:
        assert one.maximum is not None, why
        assert (one.maximum.limit, one.maximum.longer.jobs) == (expected[0] * HOUR, expected[1]), why


def test_what_a_maximum_would_have_done(tmp_path: Path) -> None:
    jobs = jobs_of("gq", [50] * 19 + [300], gpus=2)
    # Of two users another run of the name caught the signal, and of one in another queue.
    seen = {"ckpt_heard": 1, "ckpt_requeues": 0, "state": "CANCELLED", "job_name": "train"}
    jobs = [*jobs_of("gq", [50] * 19 + [300], gpus=2, job_name="train"), job(90_001, user="u1", **seen)]
    jobs.append(job(90_002, user="u2", queue="short", **seen))
    jobs.append(job(90_003, user="u3", **{**seen, "job_name": "other"}))
    most = advised(tmp_path, jobs)["gq"].maximum
    assert most is not None
    assert (most.limit, most.longer.jobs, most.users, most.restartable) == (HOUR, 10, 10, 2)
    assert most.ran == (10 * 300 * 60 * 2, None), "what the longer jobs ran, by GPU"
    assert (most.lowered, most.freed) == (200, (200 * 71 * HOUR * 2, None)), "all asked for the old maximum"


@pytest.mark.parametrize(
    ("changes", "expected", "why"),
    [
        ({"limit_source": "explicit"}, (1, 200, 90, False), "nobody took it: half of all jobs end within an hour"),
        ({"limit_source": "default", "time_limit": 24 * HOUR}, (6, 200, 10, True), "95 % of those who took it do"),
        ({"limit_source": "unknown", "time_limit": 24 * HOUR}, (6, 200, 10, True), "their limit is the default's"),
        ({"limit_source": "unknown"}, (1, 200, 90, False), "it is another"),
    ],
)
def test_the_default(tmp_path: Path, changes: dict[str, Any], expected: tuple[Any, ...], why: str) -> None:
    one = advised(tmp_path, jobs_of("gq", [50] * 11 + [300] * 8 + [3000], **changes))["gq"].default
    assert one is not None
    assert (one.limit // HOUR, one.jobs, one.longer, one.took) == expected, why


def test_a_default_that_is_right_is_not_advised(tmp_path: Path) -> None:
    assert advised(tmp_path, jobs_of("short", [50] * 20, time_limit=3 * HOUR))["short"].default is None


def test_jobs_that_a_shorter_queue_would_have_taken(tmp_path: Path) -> None:
    jobs = [*jobs_of("gq", [50] * 12 + [300] * 8), *jobs_of("short", [20] * 2, 50_000)]
    advice = advised(tmp_path, jobs)
    (move,) = advice["gq"].moves
    assert (move.to, move.share.jobs, move.share.share, move.users) == ("short", 120, 0.6, 10)
    assert move.ran == (120 * 50 * 60, None)
    assert not advice["short"].moves, "no queue is shorter"


@pytest.mark.parametrize(
    ("minutes", "expected", "why"),
    [
        ([60] * 19 + [4000], 60, "beyond an hour there is nearly nothing"),
        ([400 * n for n in range(1, 11)], 400, "evenly spread: no knee is above the line, the first is as good"),
        ([60] * 20, None, "all are as long"),
    ],
)
def test_the_knee(tmp_path: Path, minutes: list[int], expected: int | None, why: str) -> None:
    found = advised(tmp_path, jobs_of("gq", minutes))["gq"].knee
    assert (None if found is None else found // 60) == expected, why


@pytest.mark.usefixtures("no_settings")
def test_the_rules_are_a_policy_that_replay_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Two queues whose names become one rule's name, and one that is hostile.
    jobs = [
        one
        for place, queue in enumerate(("g q", "g-q", HOSTILE))
        for one in jobs_of(queue, [50] * 20, place * 100_000 + 1)
    ]
    known = [("aaic", queue, 0, HOUR, 72 * HOUR) for queue in ("g q", "g-q", HOSTILE)]
    trace, rules = make_trace(tmp_path / "t.db", jobs, known), tmp_path / "rules.toml"
    assert main(["recommend", "queues", "--db", str(trace), "--rules", str(rules), "-f", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    written = tomllib.loads(rules.read_text())
    assert written["rules"] == shown["rules"]
    assert {rule["queues"][0] for rule in written["rules"]} == {"g q", "g-q", HOSTILE}
    assert {rule["max_limit"] for rule in written["rules"]} == {"01:00:00"}
    assert len({rule["name"] for rule in written["rules"]}) == 3
    plain = tmp_path / "plain.toml"
    with closing(sqlite3.connect(trace)) as db, db:
        db.execute("UPDATE job SET queue = 'gq' WHERE queue = ?", (HOSTILE,))
        db.execute("UPDATE job SET queue = 'short' WHERE queue = 'g q'")
        db.execute("UPDATE queue SET queue = 'gq' WHERE queue = ?", (HOSTILE,))
        db.execute("UPDATE queue SET queue = 'short' WHERE queue = 'g q'")
    assert main(["recommend", "queues", "--db", str(trace), "--rules", str(plain)]) == 0
    capsys.readouterr()
    assert main(["policy", "replay", "--db", str(trace), "--policy", str(plain), "-f", "json"]) == 0
    total = json.loads(capsys.readouterr().out)["rows"][-1]
    assert (total["rejected"], total["jobs"]) == (600, 600), "all had asked for 72 hours"


@pytest.mark.usefixtures("no_settings")
def test_rows_of_moves_have_no_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = make_trace(tmp_path / "t.db", jobs_of("gq", [50]), QUEUES)
    assert main(["recommend", "queues", "--db", str(trace), "--by", "move", "--rules", str(tmp_path / "r")]) == 2
    assert "leave out one of the two" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


@pytest.mark.usefixtures("no_settings")
@pytest.mark.parametrize("rows", [[], [job(1)], [job(1, queue=None, user=None, elapsed=None)]])
def test_a_trace_with_hardly_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[Job]) -> None:
    trace = make_trace(tmp_path / "t.db", rows)
    for part in ("queue", "move"):
        assert main(["recommend", "queues", "--db", str(trace), "--by", part, "--plot"]) == 0
    assert "What the limits of queues could be" in capsys.readouterr().out
