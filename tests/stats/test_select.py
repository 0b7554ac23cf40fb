"""Which jobs count."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import UsageError
from adminkit.job import CLASSES
from adminkit.stats import due, incentives
from adminkit.stats.accuracy import accuracy
from adminkit.stats.runs import runs
from adminkit.stats.select import (
    ENDED_STATES,
    Filter,
    LeftOut,
    by_window,
    check_words,
    clusters,
    left_out,
    select,
    span,
)
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace


def counts(path: Path, chosen: Filter, *, limits: bool = True) -> tuple[int, dict[str, int]]:
    selection = select(chosen, limits=limits)
    with reader(path) as db:
        jobs = db.execute(f"SELECT count(*) FROM run WHERE {selection.where}", selection.params).fetchone()[0]
        excluded = left_out(db, selection, jobs)
        counted = LeftOut(db, selection)
        taken = db.execute(f"SELECT job_id FROM run WHERE {selection.counting}", selection.params).fetchall()
        assert (len(taken), counted.counts(jobs)) == (jobs, excluded), "counted while the others are read"
        return jobs, excluded


@pytest.mark.parametrize(
    ("changes", "rule", "why"),
    [
        ({}, None, "a plain job counts"),
        ({"state": "TIMEOUT", "elapsed": 4 * HOUR + 20}, None, "so does one beyond its limit"),
        ({"state": "FAILED"}, "state", "failed jobs do not"),
        ({"state": None}, "state", "nor those of unknown state"),
        ({"elapsed": 60}, "elapsed", "a minute is not more than a minute"),
        ({"elapsed": 61}, None, "a second more is"),
        ({"elapsed": None}, "elapsed", "unknown is not more either"),
        ({"elapsed": 2**33}, "elapsed", "272 years are nonsense"),
        (
            {"ckpt_at": MONDAY, "ckpt_heard": 1, "ckpt_requeues": 0},
            "checkpoint",
            "it ran until it was warned, which is no estimate",
        ),
        (
            {"ckpt_heard": 2, "ckpt_requeues": 0, "state": "TIMEOUT", "elapsed": 4 * HOUR},
            "checkpoint",
            "unheeded or not",
        ),
        ({"ckpt_requeues": 1}, "checkpoint", "the last piece of a job that was put back"),
        ({"ckpt_at": MONDAY, "ckpt_heard": 0, "ckpt_requeues": 0}, None, "nothing heard it: a run like any other"),
        ({"time_limit": None, "limit_kind": "unlimited"}, "limit_unlimited", "no limit, no ratio"),
        ({"time_limit": None, "limit_kind": "partition"}, "limit_partition", "the partition's is not known"),
        ({"time_limit": None, "limit_kind": "unknown"}, "limit_unknown", "unknown"),
        ({"time_limit": 0}, "limit_unknown", "nothing can be divided by zero"),
        ({"time_limit": None, "limit_kind": "unlimited", "limit_original": HOUR}, None, "what was asked for is known"),
    ],
)
def test_each_job_counts_or_one_rule_leaves_it_out(
    tmp_path: Path, changes: dict[str, object], rule: str | None, why: str
) -> None:
    jobs, excluded = counts(make_trace(tmp_path / "t.db", [job(**changes)]), Filter(checkpoint_code=85))
    assert jobs == (rule is None), why
    assert {name for name, number in excluded.items() if number} == ({rule} if rule else set()), why


def test_a_filter_that_asks_for_nothing_takes_every_run_also_those_that_wait(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", [job(1), job(2, state="PENDING", elapsed=None), job(3, elapsed=2**33)])
    everything = select(Filter(states=(), min_elapsed=None, checkpoint_code=85), limits=False)
    with reader(path) as db:
        assert db.execute(f"SELECT count(*) FROM run WHERE {everything.where}", everything.params).fetchone() == (3,)
    assert "elapsed" not in Filter(min_elapsed=None, checkpoint_code=85).described()


def test_rules_are_counted_in_the_order_applied_and_each_job_once(tmp_path: Path) -> None:
    path = make_trace(
        tmp_path / "t.db",
        [
            job(1),
            job(2, cluster="other", queue="x"),
            job(3, end_time=MONDAY - 1, state="FAILED"),
            job(4, end_time=None, state="RUNNING"),
            job(5, queue="x"),
            job(6, user="bob", elapsed=5),
            job(7, account=None),
            job(8, gpus=None),
            job(9, gpus=4),
            job(10, limit_source="default"),
        ],
    )
    chosen = Filter(
        clusters=["aaic"],
        since=MONDAY,
        until=MONDAY + 7 * 86_400,
        queues=["gq"],
        users=["ada"],
        accounts=["vision"],
        classes=["single-gpu"],
        limit_source="explicit",
        checkpoint_code=85,
    )
    jobs, excluded = counts(path, chosen)
    assert jobs == 1
    assert list(excluded.items()) == [
        ("window", 2), ("cluster", 1), ("queue", 1), ("user", 1), ("account", 1), ("class_unknown", 1), ("class", 1),
        ("state", 0), ("elapsed", 0), ("checkpoint", 0), ("limit_unlimited", 0), ("limit_partition", 0),
        ("limit_unknown", 0), ("limit_source", 1),
    ]  # fmt: skip
    assert jobs + sum(excluded.values()) == 10


def test_the_window_takes_its_first_second_and_not_its_last(tmp_path: Path) -> None:
    ends = [MONDAY - 1, MONDAY, MONDAY + 9, MONDAY + 10]
    path = make_trace(tmp_path / "t.db", [job(n, end_time=end) for n, end in enumerate(ends)])
    assert counts(path, Filter(since=MONDAY, until=MONDAY + 10, checkpoint_code=85))[0] == 2
    assert counts(path, Filter(since=MONDAY, checkpoint_code=85))[0] == 3
    assert counts(path, Filter(until=MONDAY, checkpoint_code=85))[0] == 1


@pytest.mark.parametrize(
    ("changes", "expected", "why"),
    [
        ({"nodes": 2, "gpus": 0}, "multi-node", "nodes come first"),
        ({"nodes": 1, "gpus": 2}, "multi-gpu", "several GPUs of one node"),
        ({"nodes": None, "gpus": None, "req_nodes": 4, "req_gpus": 4}, "multi-node", "what was requested, else"),
        ({"nodes": 1, "gpus": 1, "req_gpus": 8}, "single-gpu", "the allocation wins"),
        ({"gpus": 0}, "cpu", "no GPU"),
        ({"gpus": None}, None, "unknown is not none"),
    ],
)
def test_every_job_has_one_class(tmp_path: Path, changes: dict[str, object], expected: str | None, why: str) -> None:
    with reader(make_trace(tmp_path / "t.db", [job(**changes)])) as db:
        (found,) = db.execute("SELECT class FROM run").fetchone()
    assert found == expected, why
    assert expected is None or expected in CLASSES


@pytest.mark.parametrize(
    ("chosen", "message", "hint"),
    [
        (Filter(queues=["gq-shrt"], checkpoint_code=85), "no such queue: gq-shrt", "did you mean gq-short?"),
        (Filter(users=["adda"], checkpoint_code=85), "no such user: adda", "did you mean ada?"),
        (Filter(accounts=["x"], checkpoint_code=85), "no such account: x", "known: vision"),
        (Filter(clusters=["aiac"], checkpoint_code=85), "no such cluster: aiac", "did you mean aaic?"),
        (Filter(states=["COMPLETE"], checkpoint_code=85), "no such state: COMPLETE", "did you mean COMPLETED?"),
        (Filter(classes=["single"], checkpoint_code=85), "no such class: single", "did you mean single-gpu?"),
        (Filter(limit_source="explict", checkpoint_code=85), "no such limit source: explict", "did you mean explicit?"),
        (Filter(queues=["' OR 1=1 --"], checkpoint_code=85), "no such queue: ' OR 1=1 --", "known: gq, gq-short"),
    ],
)
def test_unknown_words_are_refused_with_the_nearest_one(
    tmp_path: Path, chosen: Filter, message: str, hint: str
) -> None:
    path = make_trace(tmp_path / "t.db", [job(1), job(2, queue="gq-short")])
    with reader(path) as db, pytest.raises(UsageError) as caught:
        check_words(db, chosen)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_words_that_are_known_pass(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", [job(1, state="ODD")], [("aaic", "idle", 0, None, None)])
    with reader(path) as db:
        checked = check_words(db, Filter(queues=["idle"], states=["completed", "odd", "odd"], checkpoint_code=85))
        everything = check_words(db, Filter(states=["all"], checkpoint_code=85))
    assert checked.states == ("COMPLETED", "ODD")
    assert everything.states == ENDED_STATES


def test_nothing_a_person_typed_is_in_the_sql() -> None:
    word = "x' OR '1'='1"
    selection = select(
        Filter(clusters=[word], queues=[word], users=[word], accounts=[word], classes=[word], states=[word],
               limit_source=word, checkpoint_code=85),
        limits=True,
    )  # fmt: skip
    assert word not in selection.where
    assert list(selection.params.values()).count(word) == 7


def test_clusters_and_span_are_those_of_the_jobs(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", [job(1, cluster="b"), job(2, cluster="a"), job(3, cluster="b", end_time=None)])
    with reader(path) as db:
        assert clusters(db) == ["a", "b"]
        assert span(db) == (MONDAY + 60 + HOUR, MONDAY + 120 + HOUR)
    with reader(make_trace(tmp_path / "empty.db")) as db:
        assert clusters(db) == []
        assert span(db) == (None, None)


@pytest.mark.parametrize(
    ("final", "original", "asked", "why"),
    [
        (2 * HOUR, None, 2 * HOUR, "the final one where no other is known"),
        (2 * HOUR, 5 * HOUR, 5 * HOUR, "lowered later"),
        (5 * HOUR, 2 * HOUR, 5 * HOUR, "raised later"),
        (None, 5 * HOUR, 5 * HOUR, "only the original is known"),
    ],
)
def test_what_was_asked_is_one_fact_to_reports_letters_recommendations_and_points(
    tmp_path: Path, final: int | None, original: int | None, asked: int, why: str
) -> None:
    one = job(uid=1001, elapsed=HOUR, time_limit=final, limit_original=original)
    assert one.end_time is not None
    with reader(make_trace(tmp_path / "t.db", [one])) as db:
        (run,) = runs(db, checkpoint_code=85)
        (ended,) = due.ended(db, "aaic", one.end_time, one.end_time, 85)
        criteria = incentives.Criteria("aaic", one.end_time, one.end_time + 1, unknown_counts=True, checkpoint_code=85)
        (scored,) = incentives.scored(db, criteria, 1001)
        (habit,) = due.habits(db, Filter(acting=True, checkpoint_code=85)).values()
        share = accuracy(db, Filter(checkpoint_code=85), MONDAY).overall.spread.mean
    assert (run.kind.req_limit, ended.req_limit, scored.req_limit, habit.reserved) == (asked, asked, asked, asked), why
    assert share == pytest.approx(HOUR / asked), why


@pytest.mark.parametrize(
    ("changes", "code", "carried_on", "letter", "why"),
    [
        ({}, 85, False, False, "a run like any other"),
        ({"state": "REQUEUED"}, 85, True, True, "carried on"),
        ({"restarts": 1}, 85, True, True, "a piece of a job that was"),
        ({"ckpt_requeues": 1}, 85, True, True, "by adminkit"),
        ({"ckpt_requeues": 0, "ckpt_heard": 1}, 85, True, True, "warned before its limit"),
        ({"exit_code": 99}, 85, False, False, "an exit code like any other"),
        ({"exit_code": 99}, 99, True, True, "the site's code for more to do"),
        (
            {"ckpt_asked": 1},
            85,
            False,
            True,
            "it can be carried on, so no letter says to ask for less; it ran to its end",
        ),
        ({"ckpt_at": MONDAY, "ckpt_heard": 0, "ckpt_requeues": 0}, 85, False, True, "nothing heard it: as above"),
    ],
)
def test_a_checkpoint_run_is_one_fact_to_reports_habits_letters_recommendations_and_points(
    tmp_path: Path, changes: dict[str, object], code: int, carried_on: bool, letter: bool, why: str
) -> None:
    one = job(uid=1001, **changes)
    assert one.end_time is not None
    chosen = Filter(["aaic"], states=ENDED_STATES, checkpoint_code=code)
    with reader(make_trace(tmp_path / "t.db", [one])) as db:
        criteria = incentives.Criteria(
            "aaic", one.end_time, one.end_time + 1, unknown_counts=True, checkpoint_code=code
        )
        found = {
            "accuracy": accuracy(db, chosen, MONDAY).excluded["checkpoint"] == 1,
            "habits": not due.habits(db, chosen),
            "recommend": not list(runs(db, checkpoint_code=code)),
            "points": [group.reason for group in incentives.sums(db, criteria)] == ["checkpoint"],
        }
        (ended,) = due.ended(db, "aaic", one.end_time, one.end_time, code)
    assert found == dict.fromkeys(found, carried_on), why
    assert bool(ended.checkpoint) == letter, why


@pytest.mark.parametrize(
    ("since", "until", "scanned", "why"),
    [
        (None, None, True, "no window"),
        (MONDAY, None, True, "from before the first end on"),
        (MONDAY + 60 * HOUR, None, False, "the last 40 hours of 100"),
        (MONDAY + 40 * HOUR, None, True, "the last 60"),
        (None, MONDAY + 20 * HOUR, False, "the first 20"),
        (MONDAY + 1000 * HOUR, None, False, "later than all"),
    ],
)
def test_a_window_of_most_of_the_trace_is_scanned(
    tmp_path: Path, since: int | None, until: int | None, scanned: bool, why: str
) -> None:
    jobs = [job(n, end_time=MONDAY + n * HOUR) for n in range(101)]
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        chosen = by_window(db, Filter(since=since, until=until, checkpoint_code=85))
        selection = select(chosen, limits=False)
        query = f"FROM run WHERE {selection.where}"
        plan = db.execute(f"EXPLAIN QUERY PLAN SELECT elapsed {query}", selection.params).fetchall()
        (many,) = db.execute(f"SELECT count(*) {query}", selection.params).fetchone()
    assert (chosen.scanned, plan[0][3] == "SCAN job", "job_end" in plan[0][3]) == (scanned, scanned, not scanned), why
    begin = MONDAY if since is None else since
    end = MONDAY + 101 * HOUR if until is None else until
    assert many == len([n for n in range(101) if begin <= MONDAY + n * HOUR < end]), why


def test_an_empty_trace_has_no_window_to_scan(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db", [])) as db:
        assert not by_window(db, Filter(checkpoint_code=85)).scanned
