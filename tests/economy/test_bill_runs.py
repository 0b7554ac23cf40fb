"""Bills of jobs with several runs: each run is charged by itself, whatever becomes of its job."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.budgets import Budget, spent_of
from adminkit.job import Job
from adminkit.stats.ledger import lines, sums
from tests.support.builders import job
from tests.support.charges import at, billed, closed, fresh, ran, schemes


def pieces() -> list[Job]:
    """One job in three runs, of which a node failed the second; then another job with the same number."""
    return [
        ran(1, "2026-01-05T00:00", 1000, state="REQUEUED", nodes=2, time_limit=2000),
        ran(1, "2026-01-06T00:00", 500, state="NODE_FAIL", nodes=2, time_limit=9000),
        ran(1, "2026-01-07T00:00", 3000, state="TIMEOUT", nodes=3, time_limit=4000),
        ran(1, "2026-01-09T00:00", 7, state="COMPLETED"),
    ]


PIECES = [
    ("elapsed", ["1000", "3000", "7"], "each run that is not free; the next job of the number is another one"),
    ("requested", ["2000", "4000", "14400"], "each asked for its own limit"),
    ("nodes", ["2", "3", "1"], "each by its own size"),
    ("node_hours * 3600", ["2000", "9000", "7"], "and hours"),
    ("max(elapsed, 300)", ["1000", "3000", "300"], "the least is asked of each run, as of a job of its own"),
]


@pytest.mark.parametrize(("formula", "amounts", "why"), PIECES)
def test_each_run_of_a_job_is_charged_by_itself(tmp_path: Path, formula: str, amounts: list[str], why: str) -> None:
    trace = fresh(pieces())
    assert [line[4] for line in closed(trace, schemes(tmp_path, formula), "2026-01")] == amounts, why
    jobs = trace.execute("SELECT DISTINCT submit_time, runs FROM ledger WHERE kind <> 'close' ORDER BY n").fetchall()
    assert [runs for _, runs in jobs] == [1, 3, 1], "the run's place in its job"
    assert len({submit for submit, _ in jobs}) == 2, "an entry names its job by the first submission"


OPEN = [
    ({"state": "PENDING", "start_time": None}, 0, "held, as by `scontrol requeuehold` in the last line of the script"),
    ({"state": "REQUEUE_HOLD", "start_time": None}, 0, "the same, as slurmctld calls it"),
    ({"state": "RUNNING"}, 1, "or it runs again"),
]


@pytest.mark.parametrize(("changes", "running", "why"), OPEN)
def test_a_run_that_is_over_is_charged_though_its_job_is_open(
    tmp_path: Path, changes: dict[str, Any], running: int, why: str
) -> None:
    again = ran(1, "2026-01-06T00:00", None, **{"end_time": None, **changes})
    trace, file = fresh([*pieces()[:1], again]), schemes(tmp_path)
    assert billed(trace, file, "2026-01").running == running
    assert closed(trace, file, "2026-01") == [("2026-01", "charge", "2026-01", 1, "1000")], why
    assert closed(trace, file, "2026-02") == [], "once"
    trace.execute("UPDATE job SET state = 'TIMEOUT', start_time = ?, elapsed = 500, end_time = ? WHERE elapsed IS NULL",
                  (at("2026-03-02T00:00"), at("2026-03-02T00:00") + 500))  # fmt: skip
    assert closed(trace, file, "2026-03") == [("2026-03", "charge", "2026-03", 1, "500")]


def test_a_run_that_is_gone_keeps_its_charge(tmp_path: Path) -> None:
    trace, file = fresh(pieces()), schemes(tmp_path)
    closed(trace, file, "2026-01")
    trace.execute("DELETE FROM job WHERE state = 'REQUEUED'")
    assert closed(trace, file, "2026-02") == []


def test_a_run_that_cannot_be_charged_frees_no_other(tmp_path: Path) -> None:
    """One more second on GPUs that nobody knows, after days that were paid for by nobody."""
    trace, file = fresh(pieces()), schemes(tmp_path, "gpu_hours * 3600")
    trace.execute("UPDATE job SET gpus = NULL WHERE state = 'TIMEOUT'")
    found = billed(trace, file, "2026-01")
    assert [due.amount for due in found.dues] == ["1000", "7"]
    assert {why: one.jobs for why, one in found.refused.items()} == {"gpu_hours is not known": 1}
    closed(trace, file, "2026-01")
    trace.execute("UPDATE job SET gpus = NULL WHERE state = 'REQUEUED'")
    assert billed(trace, file, "2026-02").kept == 1
    trace.execute("UPDATE job SET gpus = 1")
    assert closed(trace, file, "2026-02") == [("2026-02", "late", "2026-01", 1, "3000")]


#: (parts of a resized run: nodes, seconds; amounts by nodes × requested, why); the limit is 4 hours, 7 s are free
RESIZED = [
    ([(4, 100), (2, 200)], [4 * 14400, 2 * 200], "one that shrinks asked for its limit once"),
    ([(1, 100), (4, 200)], [100, 4 * 14400], "one that grows, for its largest size"),
    ([(2, 100), (4, 200), (1, 300)], [200, 4 * 14400, 300], "the largest in the middle"),
    ([(2, 100), (2, 200)], [2 * 14400, 2 * 200], "of two alike the first"),
    ([(2, 100), (4, 7)], [2 * 14400], "one that is free asked for nothing"),
    ([(4, 0), (2, 200)], [2 * 14400], "nor did one that never ran"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "amounts", "why"), RESIZED)
def test_a_resized_run_asked_for_its_limit_once(
    tmp_path: Path, parts: list[tuple[int, int]], amounts: list[int], why: str
) -> None:
    begin, jobs = at("2026-01-05T00:00"), []
    for nodes, seconds in parts:
        state = "RESIZING" if len(jobs) + 1 < len(parts) else "NODE_FAIL" if seconds == 7 else "COMPLETED"
        times = {"submit_time": begin, "start_time": begin, "end_time": begin + seconds}
        jobs.append(job(1, elapsed=seconds, nodes=nodes, state=state, **times))
        begin += max(seconds, 1)
    found = [int(line[4]) for line in closed(fresh(jobs), schemes(tmp_path, "nodes * requested"), "2026-01")]
    assert found == amounts, why


#: (queue of the row, weights of queues, amount of 1000 s, None where it cannot be charged, why)
LISTS = [
    ("dear,cheap", {"dear": 3, "cheap": 1}, "3000", "the dearest"),
    ("cheap,dear", {"dear": 3, "cheap": 1}, "3000", "whichever comes first"),
    ("cheap,dear", {"cheap": 1, "*": 3}, "3000", "one without a weight of its own"),
    ("dear,cheap", {"dear": 3, "*": 1}, "3000", "the list is no other queue"),
    ("dear,new", {"dear": 3}, "3000", "a queue without a weight frees no other"),
    ("new,newer", {"dear": 3}, None, "none has a weight"),
]


@pytest.mark.parametrize(("queue", "weights", "amount", "why"), LISTS, ids=[case[-1] for case in LISTS])
def test_a_run_with_a_list_of_queues_is_charged_by_the_dearest(
    tmp_path: Path, queue: str, weights: dict[str, int], amount: str | None, why: str
) -> None:
    """slurmdbd has all of the list of a run that was put back, and not the queue it ran in."""
    file = schemes(tmp_path, "elapsed * weight")
    table = "".join(f'"{name}" = {weight}\n' for name, weight in weights.items())
    file.write_text(f"{file.read_text()}\n[schemes.test.weights.queue]\n{table}")
    found = billed(fresh([ran(1, "2026-01-05T00:00", 1000, state="REQUEUED", queue=queue)]), file, "2026-01")
    assert [due.amount for due in found.dues] == ([amount] if amount else []), why


OWN = [
    ({"qos": "low"}, "QOS"), ({"gpu_type": "old"}, "type of GPU"), ({"queue": "cheap"}, "queue"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "what"), OWN)
def test_each_run_has_its_own_weight(tmp_path: Path, changes: dict[str, str], what: str) -> None:
    """`scontrol requeue`, a change to a tenth of the price, and one second more: 9600 stays 9600."""
    dear = {"qos": "high", "gpu_type": "new", "queue": "gq"}
    trace = fresh([
        ran(1, "2026-01-05T00:00", 9600, state="REQUEUED", **dear),
        ran(1, "2026-01-06T00:00", 1, **{**dear, **changes}),
    ])  # fmt: skip
    file = schemes(tmp_path, "elapsed * weight", rounding="'up'")
    tables = (("qos", "low"), ("gpu_type", "old"), ("queue", "cheap"))
    file.write_text(
        file.read_text() + "".join(f'\n[schemes.test.weights.{kind}]\n{name} = 0.1\n"*" = 1' for kind, name in tables)
    )
    assert [line[4] for line in closed(trace, file, "2026-01")] == ["9600", "1"], what


def test_each_run_is_charged_to_its_own_account(tmp_path: Path) -> None:
    trace = fresh([
        ran(1, "2026-01-05T00:00", 9600, state="REQUEUED", account="physics"),
        ran(1, "2026-01-06T00:00", 5, account="guests"),
    ])  # fmt: skip
    closed(trace, schemes(tmp_path), "2026-01")
    found = {account: one.amount for (_, _, account, _, _), one in sums(lines(trace)).items()}
    assert found == {"physics": 9600, "guests": 5}
    budgets = [Budget(name, Decimal(10_000), "2026-01", None) for name in found]
    assert {one.budget.account: one.amount for one in spent_of(trace, budgets, (), "points")} == found


def test_a_thousand_jobs_of_seconds_cost_more_than_nothing(tmp_path: Path) -> None:
    jobs = [ran(n, "2026-01-05T00:00", 17) for n in range(1, 1001)]
    with_defaults = tmp_path / "charge.toml"
    lines = ["version = 1", 'scheme = "s"', "[schemes.s]", 'formula = "node_hours"', 'unit = "points"']
    for digits, total in ((2, "10.00"), (4, "4.8000"), (6, "4.723000")):
        with_defaults.write_text("\n".join([*lines, f"digits = {digits}"]))
        assert str(billed(fresh(jobs), with_defaults, "2026-01").total()) == total
