"""Bills: whole jobs, months, late and corrected rows, what cannot be charged; and what no order or kill may change."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.bill import check_month
from adminkit.economy.charges import charge
from adminkit.economy.close import close
from adminkit.economy.schemes import ROUNDINGS, Scheme, load_schemes, scheme_of
from adminkit.errors import AdminkitError
from adminkit.job import Job
from adminkit.stats.charged_jobs import WholeJob, whole_jobs
from adminkit.stats.ledger import lines
from adminkit.trace.connect import reader, writer
from tests.support.builders import HOUR, job, make_trace
from tests.support.charges import NOW, add_jobs, billed, closed, fresh, ledger, ran, schemes

OVER = ran(1, "2026-01-31T22:00", 6 * HOUR)


def test_a_job_is_charged_once_in_the_months_in_which_it_ran(tmp_path: Path) -> None:
    trace, file = fresh([OVER]), schemes(tmp_path)
    assert closed(trace, file, "2026-01") == [("2026-01", "charge", "2026-01", 1, "7200")]
    assert closed(trace, file, "2026-02") == [("2026-02", "charge", "2026-02", 1, "14400")]
    assert closed(trace, file, "2026-03") == []


def test_a_job_that_outlives_its_month_is_charged_in_the_month_in_which_it_ended(tmp_path: Path) -> None:
    trace, file = fresh([job(9)]), schemes(tmp_path)
    add_jobs(trace, [ran(1, "2026-01-31T22:00", None, end_time=None, state="RUNNING")])
    found = billed(trace, file, "2026-01")
    assert (len(found.dues), found.running) == (1, 1)
    closed(trace, file, "2026-01")
    trace.execute(f"UPDATE job SET end_time = start_time + {6 * HOUR}, elapsed = {6 * HOUR} WHERE job_id_raw = 1")
    assert closed(trace, file, "2026-02") == [
        ("2026-02", "late", "2026-01", 1, "7200"),
        ("2026-02", "charge", "2026-02", 1, "14400"),
    ]


def test_an_account_of_the_users_own_name_is_in_the_chain_as_the_person(tmp_path: Path) -> None:
    """In clear it could never be taken out; a later correction goes the same way, and readers see the name."""
    trace, file = fresh([ran(1, "2026-01-10T00:00", HOUR, user="ada", account="ada")]), schemes(tmp_path)
    closed(trace, file, "2026-01")
    trace.execute("UPDATE job SET elapsed = 1800 WHERE job_id_raw = 1")
    assert [(due.user, due.account) for due in billed(trace, file, "2026-02").dues] == [("ada", "ada")]
    closed(trace, file, "2026-02")
    entries = trace.execute("SELECT person, account FROM ledger WHERE kind <> 'close'").fetchall()
    assert len(entries) == 2 and all(person == account != "ada" for person, account in entries)
    assert {(line.user, line.account) for line in lines(trace)} == {("ada", "ada")}


def test_what_ran_before_the_first_month_that_was_closed_is_never_charged(tmp_path: Path) -> None:
    trace, file = fresh([OVER, ran(2, "2025-12-01T00:00", HOUR)]), schemes(tmp_path)
    assert closed(trace, file, "2026-02") == [("2026-02", "charge", "2026-02", 1, "14400")]


LATER = [
    ("UPDATE job SET elapsed = 3000, end_time = start_time + 3000", ["-600"], "a corrected row gives back"),
    ("UPDATE job SET elapsed = 4000, end_time = start_time + 4000", ["400"], "or costs more"),
    ("UPDATE job SET state = 'NODE_FAIL'", ["-3600"], "what turns out to be free is given back"),
    ("UPDATE job SET elapsed = NULL", [], "what is unknown now stays as it was"),
    ("UPDATE job SET user = 'eve', account = 'other'", [], "a charge stays with whom it was first"),
    ("DELETE FROM job", [], "a row that is gone changes nothing"),
    ("UPDATE job SET source = 'text'", [], "nor does one that lost its rank"),
    ("INSERT INTO job_aside SELECT 'unknown', 1, * FROM job", [], "nor a copy set aside of a row that is there"),
]


@pytest.mark.parametrize(("sql", "entries", "why"), LATER)
def test_a_change_after_the_close_is_an_entry_of_the_next_month(
    tmp_path: Path, sql: str, entries: list[str], why: str
) -> None:
    trace, file = fresh([ran(1, "2026-01-05T00:00", HOUR)]), schemes(tmp_path)
    closed(trace, file, "2026-01")
    trace.execute(sql)
    wanted = [("2026-02", "correction", "2026-01", 1, amount) for amount in entries]
    assert closed(trace, file, "2026-02") == wanted, why
    assert closed(trace, file, "2026-03") == [], "and only once"


def test_what_an_audit_takes_out_is_given_back_and_charged_again_when_it_is_restored(tmp_path: Path) -> None:
    one = ran(1, "2026-01-05T00:00", HOUR)
    trace, file = fresh([one]), schemes(tmp_path)
    closed(trace, file, "2026-01")
    trace.execute("INSERT INTO job_aside SELECT 'unknown', 1, * FROM job")
    trace.execute("DELETE FROM job")
    assert closed(trace, file, "2026-02") == [("2026-02", "correction", "2026-01", 1, "-3600")]
    assert closed(trace, file, "2026-03") == []
    add_jobs(trace, [one])
    trace.execute("DELETE FROM job_aside")
    assert closed(trace, file, "2026-04") == [("2026-04", "correction", "2026-01", 1, "3600")]


def test_a_late_row_is_an_entry_of_the_next_month(tmp_path: Path) -> None:
    trace, file = fresh([ran(1, "2026-01-05T00:00", HOUR)]), schemes(tmp_path)
    closed(trace, file, "2026-01")
    add_jobs(trace, [ran(2, "2026-01-06T00:00", 50)])
    assert closed(trace, file, "2026-02") == [("2026-02", "late", "2026-01", 2, "50")]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("gpus", {"gpus": None}, "gpus is not known"),
    ("requested", {"time_limit": None, "limit_kind": "unlimited"}, "requested is not known"),
    ("energy_kwh", {"energy": 0}, "energy_kwh is not known"),
    ("elapsed", {"elapsed": None}, "elapsed is not known"),
    ("elapsed", {"user": None}, "its user is not known"),
    ("elapsed", {"source": "text"}, "its rows are from a file that nobody vouched for"),
    ("elapsed", {"start_time": -5}, "when it ran is not known"),
    ("elapsed - 99999", {}, "the formula comes to less than 0"),
    ("elapsed * 999999999999999", {}, "the formula comes to more than 1000000000000000000"),
    ("1 / (nodes - 1)", {}, "the formula divides by zero"),
]


@pytest.mark.parametrize(("formula", "changes", "reason"), REFUSED)
def test_what_is_unknown_is_listed_and_never_nothing(
    tmp_path: Path, formula: str, changes: dict[str, Any], reason: str
) -> None:
    trace = fresh([ran(number, "2026-01-05T00:00", HOUR, **changes) for number in (1, 2, 3)])
    found = billed(trace, schemes(tmp_path, formula), "2026-01")
    assert found.dues == []
    assert {why: one.jobs for why, one in found.refused.items()} == {reason: 3}


def test_a_job_that_never_ran_costs_nothing_whatever_the_formula(tmp_path: Path) -> None:
    never = ran(1, "2026-01-05T00:00", 0, state="CANCELLED")
    trace = fresh([never])
    found = billed(trace, schemes(tmp_path, "max(elapsed, 300)"), "2026-01")
    assert (found.dues, found.free, found.refused) == ([], 1, {})


WEIGHTS = '[schemes.test.weights.gpu_type]\na100 = 2.5\n[schemes.test.weights.qos]\nhigh = 2\n"*" = 0.5\n'
WEIGHED: list[tuple[dict[str, Any], str | None, str]] = [
    ({"gpu_type": "a100", "qos": "high"}, "5.0", "both"),
    ({"gpu_type": "a100", "qos": "low"}, "1.3", "any other QOS"),
    ({"gpu_type": "a100", "qos": None}, "1.3", "nor is an unknown one named"),
    ({"gpus": 0, "qos": "high"}, "2.0", "a job without GPUs has no type of them"),
    ({"gpu_type": "v100"}, None, "gpu_weight has no weight for v100"),
    ({"gpu_type": None}, None, "gpu_weight has no weight for an unknown one"),
    ({"gpus": None}, None, "gpus is not known"),
]


@pytest.mark.parametrize(("changes", "amount", "why"), WEIGHED)
def test_weights_are_of_what_the_run_had(tmp_path: Path, changes: dict[str, Any], amount: str | None, why: str) -> None:
    trace = fresh([ran(1, "2026-01-05T00:00", HOUR, **changes)])
    file = schemes(tmp_path, "weight", digits=1)
    file.write_text(file.read_text() + "\n" + WEIGHTS)
    found = billed(trace, file, "2026-01")
    assert [due.amount for due in found.dues] == ([amount] if amount else [])
    assert amount or list(found.refused) == [why]


def test_a_bundle_of_single_tasks_is_not_parallel(tmp_path: Path) -> None:
    trace = fresh([ran(n, "2026-01-05T00:00", HOUR, nodes=2, gpus=2) for n in (1, 2)])
    for step in "01":  # of job 1: two of one GPU, side by side
        trace.execute(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, nodes, gpus, start_time, end_time)"
            " SELECT cluster, 1, submit_time, ?, source, 1, 1, start_time, end_time FROM job WHERE job_id_raw = 1",
            (step,),
        )
    lines = closed(trace, schemes(tmp_path, "node_hours * (0.7 if parallel else 1)", digits=1), "2026-01")
    assert [(line[3], line[4]) for line in lines] == [(1, "2.0"), (2, "1.4")]


def test_a_scheme_that_changes_leaves_what_it_charged(tmp_path: Path) -> None:
    trace = fresh([OVER, ran(2, "2026-02-03T00:00", HOUR)])
    closed(trace, schemes(tmp_path), "2026-01")
    lines = closed(trace, schemes(tmp_path, "elapsed * 10"), "2026-02")
    assert [(line[3], line[4]) for line in lines] == [(1, "14400"), (2, "36000")], "job 1 by the scheme that began it"


ORDER = [
    ("2026-03", "2026-02", "the next one is 2026-02"),
    ("2026-01", "2026-02", "2026-01 is not the month to close"),
    ("2031-01", "2026-02", "2031-01 is not over"),
]


@pytest.mark.parametrize(("month", "wanted", "says"), ORDER)
def test_months_close_in_order_when_they_are_over(tmp_path: Path, month: str, wanted: str, says: str) -> None:
    trace, file = fresh([OVER]), schemes(tmp_path)
    closed(trace, file, "2026-01")
    with pytest.raises(AdminkitError) as caught:
        check_month(trace, month, load_schemes(file).named(None), NOW, preview=False)
    assert says in f"{caught.value.message} {caught.value.hint}"


def test_a_bill_that_another_close_has_overtaken_is_not_written(tmp_path: Path) -> None:
    trace, file = fresh([OVER]), schemes(tmp_path)
    stale = billed(trace, file, "2026-01")
    closed(trace, file, "2026-01")
    before = ledger(trace)
    with pytest.raises(AdminkitError, match="has grown"):
        close(trace, stale, NOW)
    assert ledger(trace) == before


# what holds for all


def shuffled(seed: int) -> list[Job]:
    luck = random.Random(seed)
    found: list[Job] = []
    for number in range(1, 41):
        day, hours = luck.randrange(1, 29), luck.choice([0.3, 2, 30, 300, 1500])
        start = f"2026-0{luck.randrange(1, 4)}-{day:02}T{luck.randrange(24):02}:00"
        first = ran(number, start, int(hours * HOUR) + luck.randrange(60), user=f"u{number % 5}")
        found.append(first)
        if luck.random() < 0.3:
            begin = (first.end_time or 0) + luck.randrange(1, 5 * 24 * HOUR)
            again = {"submit_time": (first.end_time or 0) + 1, "start_time": begin, "end_time": begin + 5000}
            found[-1] = ran(number, start, first.elapsed, user=first.user, state="REQUEUED")
            found.append(job(number, **{"elapsed": 5000, "user": first.user, **again}))
    return found


FORMULA = "node_hours / 7 + 0.001 * requested / 3"


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("seed", range(3))
def test_the_shares_of_a_charge_add_up_to_it(tmp_path: Path, seed: int, rounding: str) -> None:
    file = schemes(tmp_path, FORMULA, digits=2, rounding=f"'{rounding}'")
    scheme = load_schemes(file).named(None)
    jobs = [*whole_jobs(fresh(shuffled(seed)), (), 0)]
    assert len(jobs) == 40 and any(len(one.pieces) > 1 for one in jobs)
    for one in jobs:
        owed = [charge(one, place, scheme) for place in range(len(one.pieces))]
        shares = [share for of in owed for share in of.shares]
        assert sum(share.amount for share in shares) == sum(of.amount for of in owed) == whole(one, scheme)
        assert sum(share.seconds for share in shares) == sum(piece.elapsed or 0 for piece in one.pieces)
        assert min(share.amount for share in shares) >= 0


def whole(one: WholeJob, scheme: Scheme) -> int:
    """The charge by hand: all jobs of shuffled() ask for four hours of a node."""
    exact = (Fraction(run.elapsed or 0, 3600 * 7) + Fraction(4 * HOUR, 3000) for run in one.pieces)
    return sum(ROUNDINGS[scheme.rounding](value * 100) for value in exact)


@pytest.mark.parametrize("seed", range(3))
def test_neither_the_order_of_rows_nor_when_they_came_changes_what_each_owes(tmp_path: Path, seed: int) -> None:
    file, jobs, luck = schemes(tmp_path, FORMULA, digits=2), shuffled(seed), random.Random(seed)
    months = [f"2026-{month:02}" for month in range(1, 8)]
    sums = []
    for turn in range(3):
        luck.shuffle(jobs)
        trace = fresh(jobs[: 40 * turn])
        for number, month in enumerate(months):
            if number == turn:
                add_jobs(trace, jobs[40 * turn :])
            closed(trace, file, month)
        found = Counter[tuple[int | None, str]]()
        for _, kind, period, number_of_job, amount in ledger(trace):
            if kind != "close":
                found[number_of_job, period] += Decimal(amount)  # type: ignore[assignment]
        sums.append({key: amount for key, amount in found.items() if amount})
    assert sums[0] == sums[1] == sums[2]


def test_a_scheme_is_the_same_after_it_was_kept(tmp_path: Path) -> None:
    file = schemes(tmp_path, "weight * elapsed", rounding="'up'")
    file.write_text(file.read_text() + "\n" + WEIGHTS)
    scheme = load_schemes(file).named(None)
    assert scheme_of(scheme.text).text == scheme.text
    assert scheme_of(scheme.text).weights == scheme.weights


# a close that is killed


def close_killed_at(trace: Path, file: Path, statement: int) -> bool:
    """Close January in a child that SIGKILL ends before that statement; False where it has fewer."""
    with reader(trace) as db:
        found = billed(db, file, "2026-01")
    child = os.fork()
    if child == 0:
        left = [statement]

        def counted(text: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            with writer(trace) as db:
                db.set_trace_callback(counted)
                close(db, found, NOW)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("kills", [pytest.param(3, id="3"), pytest.param(100, id="100", marks=pytest.mark.soak)])
def test_a_close_that_is_killed_loses_and_doubles_nothing(tmp_path: Path, kills: int) -> None:
    jobs, file = [ran(n, "2026-01-05T00:00", n * 60, user=f"u{n}") for n in range(1, 31)], schemes(tmp_path)
    wanted = closed(fresh(jobs), file, "2026-01")
    trace, luck = make_trace(tmp_path / "t.db", jobs), random.Random(kills)
    for _ in range(kills):
        assert close_killed_at(trace, file, luck.randrange(1, 120))
        with closing(sqlite3.connect(trace)) as db:
            left = [db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("ledger", "action", "person")]
            assert left == [0, 0, 0], "all of a bill or none of it"
    with writer(trace) as db:
        assert closed(db, file, "2026-01") == wanted
        assert len(ledger(db)) == 31
