"""What sync believes of an answer: which records count, what the policy recorded, what owners change."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit import journal
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.ingest.trace_to_sync import DAY, HOUR, NOW, one, run
from tests.support.sql import change


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
    assert any("the next run reads" in line for line in said)


@pytest.mark.parametrize(
    ("forged", "reason", "why"),
    [
        ({"Cluster": "beta"}, "not the value that was asked for", "a row of another cluster"),
        ({"End": str(NOW + 5 * DAY)}, "outside the range that was asked for", "an end that is not in the window"),
        ({"JobID": "7.batch"}, "a step, although only jobs were asked for", "a step among jobs"),
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
    assert one(db, "SELECT count(*) FROM fact WHERE key LIKE 'altered%'") == 0, "each is told once"


def test_a_late_change_by_an_owner_is_found_by_the_days_round(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.jobs = [job(1, NOW - 40 * HOUR)]
    run(slurm, db, said, since=NOW - 3 * DAY)
    slurm.jobs[0]["DerivedExitCode"] = "85:0"
    change(db, f"UPDATE fact SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
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
