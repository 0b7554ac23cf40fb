"""A policy over a small trace whose numbers can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import UsageError
from adminkit.job import Job
from adminkit.lua.runtime import Decision
from adminkit.policy import replay
from adminkit.policy.replay import Count, Replayed, replay_trace
from adminkit.render import text
from adminkit.reports.policy import replay_report, rules_at_note
from adminkit.slurm.site import Site
from adminkit.stats.replay import Submission, excluded, one_cluster, queue_limits, submissions
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.policies import LUAS, STRICT, policy

DAY = 24 * HOUR
QUEUES = [
    ("aaic", "gq", 0, HOUR, 48 * HOUR),
    ("aaic", "gq", 100, HOUR, 72 * HOUR),
    ("aaic", "gq-short", 0, HOUR, 3 * HOUR),
    ("beta", "gq", 0, 60, 60),
]


def jobs() -> list[Job]:
    return [
        *[job(n, time_limit=72 * HOUR, elapsed=2 * HOUR) for n in (1, 2)],  # a day would do: amended
        job(3, time_limit=72 * HOUR, elapsed=30 * HOUR),  # amended, and too long for it
        job(4, time_limit=100 * HOUR, gpus=2),  # refused
        job(5, time_limit=60 * HOUR, gpus=2, user="bob"),  # restartable? cannot tell
        job(6, time_limit=HOUR, limit_source="default"),  # gets the default, which it had
        job(7, queue="gq-middle", gpus=2, account="other", user="bob"),  # refused
        job(8, queue="gq-short", time_limit=3 * HOUR, user="bob"),  # refused once the date has come
        job(9, user="grace", time_limit=90 * DAY),  # exempt
        job(10, gpus=None, nodes=1, user=None, time_limit=30 * HOUR),  # class unknown
        job(11, limit_source="unknown", user="eve"),
        job(12, time_limit=None, limit_kind="unknown", limit_source="unknown", user="eve"),
        job(13, state="REQUEUED"),
        job(14, time_limit=2 * HOUR, limit_original=72 * HOUR),  # what was asked counts
        job(15, time_limit=None, limit_kind="unlimited", user="eve", gpus=2),  # refused
    ]


def replayed(path: Path, text_: str = STRICT, rules_at: int | None = None, version: Any = "lua51") -> Replayed:
    with reader(path) as db:
        return replay_trace(db, policy(text_), None, Filter(clusters=("aaic",), checkpoint_code=85), rules_at, version)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return make_trace(tmp_path / "t.db", jobs(), QUEUES)


@pytest.mark.parametrize("version", LUAS)
def test_every_job_is_counted_once_and_by_its_verdict(trace: Path, version: Any) -> None:
    found = replayed(trace, version=version).counts
    total = found.total
    assert (total.jobs, total.accepted, total.amended, total.rejected) == (14, 5, 5, 4)
    assert total.freed == 4 * 48 * HOUR  # 1, 2, 3 and 14; the default changed nothing
    assert total.cut == 1
    assert sum(count.jobs for count in found.queues.values()) == total.jobs
    assert sum(count.jobs for count in found.users.values()) == total.jobs


def test_each_rule_says_what_it_did_and_what_it_could_not_tell(trace: Path) -> None:
    rules = replayed(trace).counts.rules
    assert rules["single-day"] == Count(jobs=4, amended=4, untold=2, freed=4 * 48 * HOUR, cut=1)
    assert rules["gq-max"] == Count(jobs=2, rejected=2, untold=1)
    assert rules["gq-middle-one-gpu"] == Count(jobs=1, rejected=1)
    assert rules["gq-short-later"] == Count(jobs=1, rejected=1, untold=0)
    assert rules["gq-default"].amended == 1
    assert rules["long-jobs-restartable"].untold >= 3


def test_a_date_that_is_ahead_only_warns_at_a_day_before_it(trace: Path) -> None:
    found = replayed(trace, rules_at=MONDAY).counts
    assert found.rules["gq-short-later"] == Count(jobs=1, warned=1)
    assert found.queues["gq-short"] == Count(jobs=1, accepted=1, warned=1)


def test_the_same_request_is_decided_once(trace: Path) -> None:
    assert replayed(trace).counts.requests == 11


def test_people_are_told_apart_only_where_the_policy_does() -> None:
    seen: list[str | None] = []

    def decide(request: Any) -> Decision:
        seen.append(request["user"])
        return Decision("accept")

    site = Site("a", uids={"grace": 7}, privileged=frozenset({0, 9}))
    decided = replay.judge(decide, policy(STRICT), site, 0)
    plain = Submission("carol", 1, "x", "gq", "normal", "finite", 3600, 1, 1, 1, None, 0)
    for user, uid in [("carol", 1), ("dave", 2), ("carol", 1), ("ada", 3), ("grace", 4), ("erin", 9), (None, 5)]:
        decided(plain._replace(user=user, uid=uid))
    assert seen == ["carol", "ada", "grace", "erin", None]


def test_what_is_kept_is_summed_up_before_it_grows(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = replayed(trace).counts
    monkeypatch.setattr(replay, "MOST_KEPT", 2)
    parts = replayed(trace).counts
    assert (parts.total, parts.rules, parts.queues, parts.users) == (
        whole.total, whole.rules, whole.queues, whole.users,
    )  # fmt: skip


def test_progress_is_told(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "TICK", 5)
    ticks: list[tuple[int, int]] = []
    with reader(trace) as db:
        chosen = Filter(clusters=("aaic",), checkpoint_code=85)
        replay_trace(db, policy(STRICT), None, chosen, None, tick=lambda done, total: ticks.append((done, total)))
    assert ticks == [(5, 15), (10, 15)]


def test_the_jobs_are_those_of_the_filter(trace: Path) -> None:
    chosen = Filter(clusters=("aaic",), users=("bob",), since=MONDAY, checkpoint_code=85)
    with reader(trace) as db:
        rows = [Submission(*row[:-3]) for row in submissions(db, chosen)]
        without = excluded(db, chosen, len(rows))
    assert len(rows) == 3
    assert {row.user for row in rows} == {"bob"}
    assert (without["window"], without["state"], without["user"]) == (0, 0, 12)


def test_the_queues_have_the_limits_last_seen(trace: Path) -> None:
    with reader(trace) as db:
        assert queue_limits(db, "aaic") == {"gq": (HOUR, 72 * HOUR), "gq-short": (HOUR, 3 * HOUR)}


def test_a_policy_is_for_one_cluster(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "two.db", [job(1), job(2, cluster="beta")])) as db:
        with pytest.raises(UsageError, match="aaic, beta"):
            one_cluster(db, Filter(checkpoint_code=85))
        assert one_cluster(db, Filter(clusters=("beta",), checkpoint_code=85)).clusters == ("beta",)
    with reader(make_trace(tmp_path / "none.db")) as db:
        assert one_cluster(db, Filter(checkpoint_code=85)).clusters == ()


@pytest.mark.parametrize(
    ("suffix", "shown"),
    [
        ("txt", lambda report: text.table(report, UTC, None, colour=False, ascii_only=False)),
        ("json", text.as_json),
        ("csv", text.as_csv),
    ],
)
def test_the_report_is_as_reviewed(
    trace: Path, golden: Callable[[str, str], None], suffix: str, shown: Callable[[Any], str]
) -> None:
    found = replayed(trace)
    names = [rule.name for rule in policy(STRICT).rules]
    chosen = Filter(clusters=("aaic",), checkpoint_code=85)
    notes = ["policy strict.toml", rules_at_note(None)]
    report = replay_report(found, chosen, "/var/lib/adminkit/trace.db", names, notes)
    golden(f"policy-replay.{suffix}", shown(report))
