"""Sync's decisions, with a Slurm that fails, lags and forgets on command; tests/cluster has the real one."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from adminkit import actions, journal
from adminkit.errors import AdminkitError
from adminkit.ingest.sources.base import SourceFailed
from adminkit.ingest.sync import sync
from adminkit.ingest.sync_run import Options, Summary
from tests.ingest.fake_slurm import FakeSlurm, job

HOUR, DAY = 3600, 86_400
NOW = int(time.time())


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    return FakeSlurm(tmp_path / "slurm", monkeypatch)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "trace" / "trace.db"


def run(slurm: FakeSlurm, db: Path, said: list[str], since: int | None = None, **options: object) -> Summary:
    slurm.write()
    chosen = {"steps": False, "timeout": 5.0, **options}
    return sync(Options(db, since=since, **chosen), [], said.append)[0]  # type: ignore[arg-type]


def one(db: Path, sql: str) -> object:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(sql).fetchone()[0]


def change(db: Path, *statements: str) -> None:
    with closing(sqlite3.connect(db)) as trace:
        for statement in statements:
            trace.execute(statement)
        trace.commit()


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
    assert any("no answer within 1 s" in line for line in said)


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
        slurm.jobs[0] = job(1, end - 100, ElapsedRaw="700")
    assert run(slurm, db, said).reconciled == 0, "not due yet"
    change(db, f"UPDATE note SET at = at - {age} WHERE key = '{note}'")
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
    with pytest.raises(AdminkitError, match="the trace knows nothing of alpha yet") as error:
        run(slurm, db, said)
    assert "--since" in error.value.hint


def test_a_round_that_is_refused_asks_in_halves_and_the_run_goes_on(
    slurm: FakeSlurm, db: Path, said: list[str]
) -> None:
    slurm.jobs = [job(1, NOW - 40 * HOUR)]
    run(slurm, db, said, since=NOW - 3 * DAY)
    slurm.jobs.append(job(2, NOW - 41 * HOUR))
    slurm.rules = [{"program": "sacct", "wider": 6 * HOUR, "exit": 1, "says": "sacct: error: Too wide of a date range"}]
    change(db, f"UPDATE note SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
    assert run(slurm, db, said).closed.new == 1


def test_rows_that_slurmdbd_purged_are_kept_and_said_once(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(1, NOW - 40 * HOUR), job(2, NOW - 41 * HOUR)]
    run(slurm, db, said, since=NOW - 3 * DAY)
    del slurm.jobs[0]
    asked = []
    for _ in range(2):
        change(db, f"UPDATE note SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
        assert run(slurm, db, said).reconciled == 0
        asked.append(len(slurm.asked()))
    assert asked[1] < asked[0], "the second round knows the difference"
    assert one(db, "SELECT count(*) FROM job") == 2


def test_the_steps_of_a_row_that_came_late_are_asked_for(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    run(slurm, db, said, since=NOW - 3 * DAY, steps=True, steps_pause=0.0)
    late = job(2, NOW - 40 * HOUR)
    slurm.jobs = [late, {**late, "JobID": "2.batch", "JobIDRaw": "2.batch", "MaxRSS": "4096"}]
    slurm.fields = [*slurm.fields, "MaxRSS"]
    change(db, f"UPDATE note SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
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
        found = trace.execute("SELECT what, generation FROM act ORDER BY at, what").fetchall()
    assert found[1:] == [("policy install", "3f2a9c01d2e4"), ("policy rollback", None)]
    assert len(found) == 3
    run(slurm, db, said, acts=tmp_path)  # a folder is no log
    assert any("its acts are not collected" in line for line in said)


def test_what_the_policy_recorded_in_an_open_job_outlives_its_end(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    """slurmctld alone has it while the job is open; at the end slurmdbd gets what another tool wrote over it."""
    submit = NOW - HOUR
    going = [job(n, Submit=str(submit), Start=str(submit + 5)) for n in (1, 2, 3)]
    slurm.jobs = going
    slurm.comments = [
        (1, submit, "ak1:lim=7200,src=e,rules=gq-max"),
        (2, submit, "a note"),
        (9, submit, "ak1:lim=1,src=e"),
    ]
    run(slurm, db, said, since=NOW - DAY)
    slurm.comments = []
    slurm.fields = [*slurm.fields, "AdminComment"]
    slurm.jobs = [{**one, "State": "COMPLETED", "End": str(NOW - 60), "AdminComment": "JS1:H4sI"} for one in going]
    run(slurm, db, said)
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute("SELECT job_id_raw, state, limit_original, limit_source FROM job ORDER BY 1").fetchall()
    assert found == [
        (1, "COMPLETED", 7200, "explicit"),
        (2, "COMPLETED", None, "unknown"),
        (3, "COMPLETED", None, "unknown"),
    ]


def test_slurmctld_that_does_not_tell_of_open_jobs_hinders_nothing(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(1, NOW - HOUR)]
    slurm.rules = [
        {"program": "squeue", "exit": 1, "says": "slurm_load_jobs error: Unable to contact slurm controller"}
    ]
    assert run(slurm, db, said, since=NOW - DAY).closed.new == 1
    assert any("read by the next run" in line for line in said)


@pytest.mark.parametrize(
    ("forged", "reason", "why"),
    [
        ({"Cluster": "beta"}, "not the one that was asked for", "a row of another cluster"),
        ({"End": str(NOW + 5 * DAY)}, "outside of what was asked for", "an end that is not in the window"),
        ({"JobID": "7.batch"}, "a step where only jobs were asked for", "a step among jobs"),
        ({"Submit": "170", "unsealed": "170"}, "not sealed", "a time that sacct did not print"),
        ({"End": "Unknown", "State": "COMPLETED"}, "required, but unknown", "no end among those that ended"),
    ],
)
def test_a_record_that_was_not_asked_for_is_set_aside_and_the_run_goes_on(
    slurm: FakeSlurm, db: Path, said: list[str], capsys: pytest.CaptureFixture[str],
    forged: dict[str, str], reason: str, why: str,
) -> None:  # fmt: skip
    slurm.jobs = [job(1, NOW - HOUR), {**job(7, NOW - HOUR), "forged": "1", **forged}, job(2, NOW - HOUR)]
    done = run(slurm, db, said, since=NOW - 2 * HOUR)
    assert (done.closed.new, one(db, "SELECT group_concat(job_id_raw) FROM job")) == (2, "1,2"), why
    assert reason in str(one(db, "SELECT reason FROM rejected")), why
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("refused records")]
    assert len(lines) == 1 and f"job {forged.get('JobID', '7')} of user1" in lines[0] and reason in lines[0], why
    journal.close()


def test_the_delimiter_and_the_seal_are_drawn_for_each_question(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(n, NOW - 3 * HOUR + n * 60) for n in range(1, 100)]
    run(slurm, db, said, since=NOW - DAY)
    marks = slurm.marks()
    assert len(marks) > 5
    assert len({one["delimiter"] for one in marks}) == len({one["seal"] for one in marks}) == len(marks)
    assert not any(one["seal"] in " ".join(one["words"]) for one in marks), "no argument has it"


def test_the_same_rows_under_other_marks_are_not_changed(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(n, NOW - HOUR + n) for n in range(1, 50)]
    run(slurm, db, said, since=NOW - DAY)
    before = one(db, "SELECT group_concat(fingerprint) FROM job")
    done = run(slurm, db, said)
    assert (done.closed.new, done.closed.changed, done.closed.unchanged) == (0, 0, 49)
    assert one(db, "SELECT group_concat(fingerprint) FROM job") == before, (
        "so a record's text is compared, not its marks"
    )


def test_a_window_of_closed_runs_ends_before_the_question(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    """Whoever reads the arguments while sacct runs can change no run that it may answer with."""
    slurm.jobs = [job(1, NOW - 30 * HOUR)]
    run(slurm, db, said, since=NOW - 3 * DAY, steps=True, steps_pause=0.0)
    for asked in slurm.marks():
        if asked["states"].startswith("CD"):
            assert asked["until"] < asked["at"]


def test_what_an_owner_changes_after_the_end_is_told(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(n, NOW - HOUR) for n in range(1, 20)]
    run(slurm, db, said, since=NOW - DAY)
    assert said == []
    slurm.jobs = [{**one, "DerivedExitCode": "85:0"} for one in slurm.jobs]
    assert run(slurm, db, said).closed.changed == 19
    assert said[0] == "job 1 of user1: derived_exit_code was 0 at its end and is 85 now"
    assert len(said) == 11 and said[10] == "and 9 more that were changed after their end"
    assert one(db, "SELECT count(*) FROM note WHERE key LIKE 'altered%'") == 0, "each is told once"


def test_a_late_change_by_an_owner_is_found_by_the_days_round(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(1, NOW - 40 * HOUR)]
    run(slurm, db, said, since=NOW - 3 * DAY)
    slurm.jobs[0]["DerivedExitCode"] = "85:0"
    change(db, f"UPDATE note SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
    assert run(slurm, db, said).reconciled == 1
    assert said == ["job 1 of user1: derived_exit_code was 0 at its end and is 85 now"]


@pytest.mark.parametrize("record", ["comment", "extra"])
def test_a_record_where_its_owner_may_write_is_asked_for_alone_and_is_stated_only(
    slurm: FakeSlurm, db: Path, said: list[str], record: str
) -> None:
    field = record.capitalize()
    slurm.fields = [*slurm.fields, "Comment", "Extra"]
    slurm.jobs = [
        job(1, NOW - HOUR, **{field: f"ak1:lim=600,src=e,rules=a ck1:at={NOW - HOUR},heard=1,rq=1,end=more"}),
        job(2, NOW - HOUR, **{field: "ak1:lim=none,src=d"}),
        job(3, NOW - HOUR, **{field: "words"}),
        job(4, **{field: "ak1:lim=60,src=e"}),
    ]
    run(slurm, db, said, since=NOW - DAY, record=record)
    sources = "SELECT group_concat(limit_source || coalesce(limit_original, '')) FROM (SELECT * FROM job ORDER BY 2)"
    assert one(db, sources) == "stated600,default,unknown,stated60"
    assert one(db, "SELECT count(ckpt_at) + count(ckpt_requeues) FROM job") == 0, "a note is read in AdminComment alone"
    slurm.jobs[0][field] = "ak1:lim=601,src=e"
    run(slurm, db, said, record=record)
    assert str(one(db, sources)).startswith("stated600"), "it stays what it was first seen to be"
    for asked in slurm.marks():
        fields = asked["fields"]
        assert field not in fields or "State" not in fields, "beside nothing that counts"
    assert one(db, "SELECT count(*) FROM rejected") == 0


def test_steps_are_never_asked_for_past_the_present(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    """The hour in which a run ended that was looked up goes on."""
    slurm.jobs = [job(1)]
    run(slurm, db, said, since=NOW - DAY, steps=True, steps_pause=0.0)
    time.sleep(1.1)
    slurm.jobs = [job(1, NOW - 1, Submit=slurm.jobs[0]["Submit"])]
    run(slurm, db, said, steps=True, steps_pause=0.0)
    assert one(db, "SELECT max(until) FROM window") <= time.time()  # type: ignore[operator]
