"""Sync's decisions, with a Slurm that fails, lags and forgets on command; tests/cluster has the real one."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from adminkit import actions
from adminkit.errors import AdminkitError
from adminkit.ingest.sources.base import SourceFailed
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.ingest.trace_to_sync import DAY, HOUR, NOW, one, run
from tests.support.sql import change


def test_windows_grow_and_leave_no_gap(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(n, NOW - 3 * DAY + n * 97) for n in range(1, 500)]
    done = run(slurm, db, said, since=NOW - 3 * DAY)
    windows = slurm.asked()
    assert done.closed.new == 499
    assert windows[0][0] == NOW - 3 * DAY and windows[-1][1] >= NOW
    assert all(later[0] == earlier[1] for earlier, later in pairwise(windows))
    assert [until - since for since, until, _ in windows][:3] == [HOUR, HOUR, 2 * HOUR], (
        "two are asked before one is in"
    )


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_window_that_fails_is_asked_for_in_smaller_ones(
    slurm: FakeSlurm, db: Path, said: list[str], jobs: int
) -> None:
    slurm.jobs = [job(n, NOW - DAY + n * 60) for n in range(1, 1000)]
    slurm.rules = [{"program": "sacct", "wider": 2 * HOUR, "exit": 1, "says": "sacct: error: Too wide of a date range"}]
    done = run(slurm, db, said, since=NOW - DAY, jobs=jobs)
    assert done.closed.new == 999
    assert any("asking for less" in line for line in said)
    assert one(db, "SELECT max(until - since) FROM window") <= 2 * HOUR  # type: ignore[operator]


def test_a_window_that_hangs_is_given_up_and_asked_for_in_smaller_ones(
    slurm: FakeSlurm, db: Path, said: list[str]
) -> None:
    slurm.jobs = [job(n, NOW - 6 * HOUR + n * 60) for n in range(1, 100)]
    slurm.rules = [{"program": "sacct", "wider": HOUR, "sleep": 30}]
    done = run(slurm, db, said, since=NOW - 6 * HOUR, timeout=1.0)
    assert done.closed.new == 99
    assert any("no response within 1 s" in line for line in said)


def test_one_that_never_succeeds_ends_the_run_and_keeps_what_came_before(
    slurm: FakeSlurm, db: Path, said: list[str]
) -> None:
    slurm.jobs = [job(1, NOW - 5 * HOUR)]
    slurm.rules = [{"program": "sacct", "wider": 1, "exit": 1, "says": "sacct: error: broken"}]
    with pytest.raises(SourceFailed):
        run(slurm, db, said, since=NOW - 6 * HOUR)
    slurm.rules = []
    assert run(slurm, db, said, since=NOW - 6 * HOUR).closed.new == 1
    assert not list(db.parent.glob(".*spool*"))


def test_slurmdbd_away_is_not_asked_again_and_again(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.rules = [
        {"program": "sacct", "exit": 1, "says": "sacct: error: Problem talking to the database: Connection refused"}
    ]
    with pytest.raises(AdminkitError) as error:
        run(slurm, db, said, since=NOW - DAY)
    assert "slurmdbd" in error.value.hint
    assert len(slurm.asked()) <= 2


def test_a_later_run_asks_only_for_the_overlap(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    run(slurm, db, said, since=NOW - 3 * DAY)
    run(slurm, db, said)
    assert min(since for since, _, _ in slurm.asked()) >= NOW - 2 * HOUR - 60


def test_a_gap_is_asked_for(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    run(slurm, db, said, since=NOW - 3 * DAY)
    change(db, f"DELETE FROM window WHERE since < {NOW - DAY} AND until > {NOW - 2 * DAY}")
    slurm.jobs = [job(1, NOW - DAY - HOUR)]
    assert run(slurm, db, said).closed.new == 1
    assert one(db, "SELECT count(*) FROM job") == 1


def test_what_slurmctld_still_holds_makes_windows_provisional(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.backlog = 12
    assert run(slurm, db, said, since=NOW - DAY).provisional > 0
    slurm.backlog = 0
    slurm.jobs = [job(1, NOW - 20 * HOUR)]
    done = run(slurm, db, said)
    assert (done.closed.new, done.provisional) == (1, 0), "a row that came late, far before the overlap"
    assert one(db, "SELECT max(provisional) FROM window") == 0


def test_slurmctld_away_leaves_accounting_readable(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(1, NOW - HOUR)]
    slurm.rules = [
        {"program": name, "exit": 1, "says": f"{name}: error: Unable to contact slurm controller (connect failure)"}
        for name in ("scontrol", "sdiag")
    ]
    done = run(slurm, db, said, since=NOW - DAY)
    assert done.closed.new == 1 and done.provisional > 0
    assert any("queue limits are as last seen" in line for line in said)


def test_a_restarted_slurmdbd_is_asked_for_two_days_again(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    run(slurm, db, said, since=NOW - 10 * DAY)
    slurm.booted += 5000
    slurm.jobs = [job(1, NOW - 40 * HOUR)]
    assert run(slurm, db, said).closed.new == 1
    assert any("restarted" in line for line in said)


@pytest.mark.parametrize(
    ("note", "age", "ago", "why"),
    [
        ("reconciled_daily", DAY + 60, 40 * HOUR, "a day's round looks back 48 hours"),
        ("reconciled_weekly", 7 * DAY + 60, 30 * DAY, "a week's round looks back 35 days"),
    ],
)
@pytest.mark.parametrize("late", ["a new row", "a changed row"])
def test_rows_that_come_or_change_late_are_found(
    slurm: FakeSlurm, db: Path, said: list[str], note: str, age: int, ago: int, why: str, late: str
) -> None:
    end = NOW - ago
    slurm.jobs = [job(1, end - 100)]
    run(slurm, db, said, since=NOW - 60 * DAY)
    if late == "a new row":
        slurm.jobs.append(job(2, end))
    else:
        slurm.jobs[0] = job(1, end - 100, ElapsedRaw="500")
    assert run(slurm, db, said).reconciled == 0, "not due yet"
    change(db, f"UPDATE fact SET at = at - {age} WHERE key = '{note}'")
    done = run(slurm, db, said)
    assert done.reconciled == 1, why
    assert (done.closed.new, done.closed.changed) == ((1, 0) if late == "a new row" else (0, 1))
    assert run(slurm, db, said).reconciled == 0, "and once"


def test_a_vanished_run_is_looked_up_until_it_is_too_old(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(1), job(2)]
    assert run(slurm, db, said, since=NOW - DAY).open.new == 2
    time.sleep(1.1)  # the next snapshot is another moment
    slurm.jobs = [job(1, NOW - 40 * DAY, Submit=slurm.jobs[0]["Submit"])]
    done = run(slurm, db, said)
    assert done.looked_up == 2
    assert one(db, "SELECT count(*) FROM job WHERE end_time IS NULL") == 1, "the other is nowhere any more"
    change(db, f"UPDATE job SET seen_open = {NOW - 36 * DAY} WHERE end_time IS NULL")
    done = run(slurm, db, said)
    assert (done.looked_up, done.lost) == (0, 1)


def test_revoked_siblings_are_counted_and_not_stored(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(1, NOW - HOUR), job(2, NOW - HOUR, "REVOKED")]
    assert run(slurm, db, said, since=NOW - DAY).revoked == 1
    assert one(db, "SELECT group_concat(job_id_raw) FROM job") == "1"


def test_a_sibling_that_was_open_leaves_the_trace_when_it_is_revoked(
    slurm: FakeSlurm, db: Path, said: list[str]
) -> None:
    slurm.jobs = [job(1), job(2)]
    assert run(slurm, db, said, since=NOW - DAY).open.new == 2
    time.sleep(1.1)  # the next snapshot is another moment
    slurm.jobs = [slurm.jobs[0], job(2, NOW, "REVOKED", Submit=slurm.jobs[1]["Submit"])]
    assert run(slurm, db, said).revoked == 1
    assert one(db, "SELECT group_concat(job_id_raw) FROM job") == "1"


def test_a_field_this_release_lacks_is_not_asked_for(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.fields = ["JobID", "JobIDRaw", "Submit", "End", "State"]
    slurm.jobs = [job(1, NOW - HOUR)]
    assert run(slurm, db, said, since=NOW - DAY).closed.new == 1
    assert one(db, "SELECT elapsed IS NULL AND user IS NULL FROM job") == 1


def test_a_full_day_is_cut_to_the_row_budget(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(n, NOW - DAY + n * 40) for n in range(1, 2000)]
    run(slurm, db, said, since=NOW - DAY, budget=200)
    assert one(db, "SELECT count(*) FROM job") == 1999
    assert one(db, "SELECT max(rows) FROM window") <= 400  # type: ignore[operator]


def test_a_first_run_has_to_be_told_where_to_begin(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    with pytest.raises(AdminkitError, match="the trace has no data for alpha yet") as error:
        run(slurm, db, said)
    assert "--since" in error.value.hint


def test_a_round_that_is_refused_asks_in_halves_and_the_run_goes_on(
    slurm: FakeSlurm, db: Path, said: list[str]
) -> None:
    slurm.jobs = [job(1, NOW - 40 * HOUR)]
    run(slurm, db, said, since=NOW - 3 * DAY)
    slurm.jobs.append(job(2, NOW - 41 * HOUR))
    slurm.rules = [{"program": "sacct", "wider": 6 * HOUR, "exit": 1, "says": "sacct: error: Too wide of a date range"}]
    change(db, f"UPDATE fact SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
    assert run(slurm, db, said).closed.new == 1


def test_rows_that_slurmdbd_purged_are_kept_and_said_once(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(1, NOW - 40 * HOUR), job(2, NOW - 41 * HOUR)]
    run(slurm, db, said, since=NOW - 3 * DAY)
    del slurm.jobs[0]
    asked = []
    for _ in range(2):
        change(db, f"UPDATE fact SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
        assert run(slurm, db, said).reconciled == 0
        asked.append(len(slurm.asked()))
    assert asked[1] < asked[0], "the second round knows the difference"
    assert one(db, "SELECT count(*) FROM job") == 2


def test_the_steps_of_a_row_that_came_late_are_asked_for(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    run(slurm, db, said, since=NOW - 3 * DAY, steps=True, steps_pause=0.0)
    late = job(2, NOW - 40 * HOUR)
    slurm.jobs = [late, {**late, "JobID": "2.batch", "JobIDRaw": "2.batch", "MaxRSS": "4096"}]
    slurm.fields = [*slurm.fields, "MaxRSS"]
    change(db, f"UPDATE fact SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
    run(slurm, db, said, steps=True, steps_pause=0.0)
    assert one(db, "SELECT max_rss FROM job WHERE job_id_raw = 2") == 4096


def test_a_beginning_in_the_future_is_refused(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    with pytest.raises(AdminkitError, match="--since is not in the past"):
        run(slurm, db, said, since=NOW + DAY)


def test_acts_on_this_host_are_collected_once(slurm: FakeSlurm, db: Path, said: list[str], tmp_path: Path) -> None:
    log = tmp_path / "acts.jsonl"
    actions.append(log, actions.act("policy install", "3f2a9c01d2e4", None, {"head": "confirmed"}, table="policy"))
    log.write_bytes(log.read_bytes() + b'{"at": 1, "what": "\xff\\ud800"}\nno act\n{"at": "soon"}\n')
    run(slurm, db, said, since=NOW - DAY, acts=log)
    actions.append(log, actions.act("policy rollback", None, "3f2a9c01d2e4", {}))
    run(slurm, db, said, acts=log)
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute("SELECT what, generation FROM action ORDER BY at, what").fetchall()
    assert found[1:] == [("policy install", "3f2a9c01d2e4"), ("policy rollback", None)]
    assert len(found) == 3
    run(slurm, db, said, acts=tmp_path)  # a folder is no log
    assert any("its actions are not collected" in line for line in said)


def test_steps_are_never_asked_for_past_the_present(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    """The hour in which a run ended that was looked up goes on."""
    slurm.jobs = [job(1)]
    run(slurm, db, said, since=NOW - DAY, steps=True, steps_pause=0.0)
    time.sleep(1.1)
    slurm.jobs = [job(1, NOW - 1, Submit=slurm.jobs[0]["Submit"])]
    run(slurm, db, said, steps=True, steps_pause=0.0)
    assert one(db, "SELECT max(until) FROM window") <= time.time()  # type: ignore[operator]
