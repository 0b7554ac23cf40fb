"""Letters about a row that is set aside, and how it comes back."""

from __future__ import annotations

from pathlib import Path

from adminkit.trace import connect, outbox
from adminkit.trace.audit import aside, restore
from tests.ingest.audit.trace_to_audit import DAY, NOW, ask, counts, forge
from tests.ingest.fake_slurm import FakeSlurm
from tests.support.builders import letter
from tests.support.sql import change, read


def test_letters_about_it_are_cancelled_and_those_that_left_are_named(slurm: FakeSlurm, db: Path) -> None:
    submit = NOW - 5 * DAY + 77
    change(
        db,
        forge(),
        forge(990002, submit=submit + 1),
        "UPDATE job SET array_job = 990000 WHERE job_id_raw = 990002",
    )
    with connect.writer(db) as trace:
        outbox.put(trace, [
            letter(9, cluster="alpha", run=f"990001@{submit}", job_id_raw=990001, submit_time=submit, state="due"),
            letter(9, cluster="alpha", run=f"990000@{submit}", job_id_raw=990000, submit_time=submit, is_array=1,
                   state="sent"),
            letter(9, cluster="alpha", run="7@1", job_id_raw=7, submit_time=1, state="due"),
        ])  # fmt: skip
    seen = ask(slurm, db)
    assert (seen.due, [(one.run, one.user) for one in seen.sent]) == (1, [(f"990000@{submit}", "ada")])
    done = ask(slurm, db, apply=True)
    assert (done.due, len(done.sent)) == (1, 1)
    states = {row[0]: row[1:] for row in read(db, "SELECT run, state, said FROM outbox")}
    assert states[f"990001@{submit}"] == ("expired", "an audit set its run aside")
    assert states[f"990000@{submit}"] == ("sent", None) and states["7@1"] == ("due", None)


def test_the_letter_of_an_array_is_cancelled_with_its_last_task(slurm: FakeSlurm, db: Path) -> None:
    submit = NOW - 5 * DAY
    change(
        db, forge(), forge(990002), "UPDATE job SET array_job = 300 WHERE job_id_raw = 990001",
        "UPDATE job SET array_job = 777 WHERE job_id_raw = 990002",
    )  # fmt: skip
    with connect.writer(db) as trace:
        outbox.put(trace, [
            letter(9, cluster="alpha", run=f"{n}@{submit}", job_id_raw=n, submit_time=submit, is_array=1, state="due")
            for n in (300, 777)
        ])  # fmt: skip
    assert ask(slurm, db).due == 1, "a look says so"
    assert ask(slurm, db, apply=True).due == 1
    assert read(db, "SELECT job_id_raw, state FROM outbox ORDER BY 1") == [(300, "due"), (777, "expired")]


def test_what_was_set_aside_can_be_put_back_as_the_operators_word(slurm: FakeSlurm, db: Path) -> None:
    change(db, forge(), "UPDATE job SET gpus = 8 WHERE job_id_raw = 7")
    ask(slurm, db, apply=True)
    with connect.writer(db) as trace:
        found = aside(trace)
        assert sorted((one.job_id_raw, one.why) for one in found) == [(7, "contradicted"), (990001, "unknown")]
        assert restore(trace, found) == 1, "slurmdbd's own row of job 7 stays"
    assert read(db, "SELECT source, audited, gpus FROM job WHERE job_id_raw = 990001") == [("trusted", None, 8)]
    assert read(db, "SELECT gpus FROM job WHERE job_id_raw = 7") == [(1,)]
    assert read(db, "SELECT job_id_raw FROM job_aside") == [(7,)]
    assert counts(ask(slurm, db, again=True)) == (107, 0, 0, 0, 1)
