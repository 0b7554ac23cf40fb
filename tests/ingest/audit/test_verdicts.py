"""What becomes of a row with an end: confirmed, contradicted, unknown; tests/cluster has a real slurmdbd."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from adminkit.job import Job, Step
from tests.ingest.audit.trace_to_audit import DAY, NOW, ask, counts, forge
from tests.ingest.fake_slurm import FakeSlurm
from tests.support.sql import change, read


def test_an_honest_trace_is_confirmed_and_only_that_is_written(slurm: FakeSlurm, db: Path) -> None:
    before = read(db, "SELECT * FROM job ORDER BY rowid")
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1)
    assert read(db, "SELECT * FROM job ORDER BY rowid") == before, "a look writes nothing"
    assert read(db, "SELECT count(*) FROM fact WHERE key = 'audited'") == [(0,)]
    done = ask(slurm, db, apply=True)
    assert counts(done) == (107, 0, 0, 0, 1)
    assert read(db, "SELECT audited, count(*) FROM job GROUP BY 1") == [(None, 1), ("confirmed", 107)]
    assert read(db, "SELECT value FROM fact WHERE key = 'audited'") == [("confirmed 107, open 1",)]
    again = ask(slurm, db, apply=True)
    assert (counts(again), again.before) == ((0, 0, 0, 0, 1), 107), "what was confirmed is not asked for again"
    assert counts(ask(slurm, db, apply=True, again=True)) == (107, 0, 0, 0, 1), "unless it is wanted"


def test_a_row_that_slurmdbd_never_had_is_set_aside_whole(slurm: FakeSlurm, db: Path) -> None:
    change(
        db, forge(),
        "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, cpu_time)"
        f" VALUES ('alpha', 990001, {NOW - 5 * DAY + 77}, 'batch', 'slurmdbd', 28000.5)",
    )  # fmt: skip
    (row,) = read(db, "SELECT * FROM job WHERE job_id_raw = 990001")
    (step,) = read(db, "SELECT * FROM step WHERE job_id_raw = 990001")
    seen = ask(slurm, db)
    assert counts(seen) == (107, 0, 1, 0, 1)
    assert (seen.examples[0].verdict, seen.examples[0].stored.user, seen.users) == (
        "unknown",
        "news",
        {"unknown": {"news"}},
    )
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)]
    assert counts(ask(slurm, db, apply=True)) == (107, 0, 1, 0, 1)
    assert read(db, "SELECT count(*) FROM job WHERE job_id_raw = 990001") == [(0,)]
    assert read(db, "SELECT count(*) FROM step") == [(0,)]
    why, _, *kept = read(db, "SELECT * FROM job_aside")[0]
    assert (why, tuple(kept)) == ("unknown", row), "nothing of it is lost"
    assert tuple(read(db, "SELECT * FROM step_aside")[0][2:]) == step
    assert counts(ask(slurm, db, apply=True, again=True)) == (107, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("statement", "differs", "why"),
    [
        ("elapsed = 100, time_limit = 100", ["elapsed", "time_limit"], "a perfect limit"),
        ("uid = 1002", ["uid"], "somebody else's run"),
        ("gpus = 8", ["gpus"], "more weight"),
        ("gpu_parts = 'shard=4'", ["gpu_parts"], "shards that it never had"),
        ("req_gpu_parts = 'shard=4'", ["req_gpu_parts"], "shards that it never asked for"),
        ("state = 'TIMEOUT'", ["state"], "another's miss"),
        ("job_name = 'I_waste_everything'", ["job_name"], "words for a letter"),
        ("end_time = end_time - 86400, start_time = start_time - 86400", ["start_time", "end_time"], "another day"),
        ("end_time = CAST(strftime('%s') AS INTEGER) + 2592000", ["end_time"], "a day to come"),
        ("array_job = 5", ["array_job"], "a task of another array"),
        ("limit_kind = 'unlimited', time_limit = NULL", ["time_limit", "limit_kind"], "no limit at all"),
    ],
)
def test_a_row_that_was_written_over_gets_slurmdbds_word_back(
    slurm: FakeSlurm, db: Path, statement: str, differs: Sequence[str], why: str
) -> None:
    (honest,) = read(db, "SELECT * FROM job WHERE job_id_raw = 7")
    change(db, f"UPDATE job SET {statement}, fingerprint = 1 WHERE job_id_raw = 7")
    (forged,) = read(db, "SELECT * FROM job WHERE job_id_raw = 7")
    seen = ask(slurm, db)
    assert counts(seen) == (106, 1, 0, 0, 1), why
    assert list(seen.examples[0].differs) == differs, why
    ask(slurm, db, apply=True)
    (back,) = read(db, "SELECT * FROM job WHERE job_id_raw = 7")
    place = [row[1] for row in read(db, "PRAGMA table_info(job)")].index("audited")
    assert back[:place] + back[place + 1 :] == honest[:place] + honest[place + 1 :], why
    assert back[place] == "confirmed"
    assert read(db, "SELECT why FROM job_aside") == [("contradicted",)]
    assert tuple(read(db, "SELECT * FROM job_aside")[0][2:]) == forged, "nothing of it is lost"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("user = 'renamed', \"group\" = 'x', qos = 'old'", "sacctmgr and the directory may rename these"),
        ("reason = 'Priority', eligible_time = 5, flags = 'x'", "what was seen while it waited"),
        ("admin_comment = 'JS1:x', energy = 5, cpu_time = 4.5", "other tools and the steps write these"),
        ("limit_source = 'explicit', limit_original = 7200", "the policy's record, which squeue showed while it ran"),
    ],
)
def test_what_may_honestly_differ_contradicts_nothing(slurm: FakeSlurm, db: Path, statement: str, why: str) -> None:
    change(db, f"UPDATE job SET {statement} WHERE job_id_raw = 7")
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1), why


def test_a_record_that_slurmdbd_still_has_is_compared(slurm: FakeSlurm, db: Path) -> None:
    slurm.fields += ["AdminComment"]
    slurm.jobs[6]["AdminComment"] = "ak1:lim=259200,src=e"
    change(db, "UPDATE job SET limit_source = 'explicit', limit_original = 600 WHERE job_id_raw = 7")
    assert list(ask(slurm, db).examples[0].differs) == ["limit_original"]


@pytest.mark.parametrize(
    ("comment", "forged", "differs", "why"),
    [
        (
            "xt1:asked=3600,lim=259200,n=2",
            "ext_asked = 7200, ext_limit = 259200, ext_times = 2",
            True,
            "more asked for",
        ),
        ("xt1:asked=3600,lim=259200,n=2", "ext_asked = NULL", True, "nothing was given"),
        ("ak1:lim=259200,src=e", "ext_asked = 60, ext_limit = 259200, ext_times = 1", True, "nobody gave anything"),
        ("JS1:x", "ext_asked = 60, ext_limit = 259200, ext_times = 1", False, "another tool wrote over the word"),
    ],
)
def test_what_a_job_was_given_is_compared(
    slurm: FakeSlurm, db: Path, comment: str, forged: str, differs: bool, why: str
) -> None:
    slurm.fields += ["AdminComment"]
    slurm.jobs[6]["AdminComment"] = comment
    change(db, f"UPDATE job SET {forged} WHERE job_id_raw = 7")
    found = [one.differs for one in ask(slurm, db).examples]
    assert ("ext_limit" in found[0] if found else False) == differs, why


def test_rows_of_files_are_nobodys_to_confirm(slurm: FakeSlurm, db: Path) -> None:
    change(db, forge(), "UPDATE job SET source = 'trusted' WHERE job_id_raw = 990001")
    change(db, forge(990002), "UPDATE job SET source = 'text' WHERE job_id_raw = 990002")
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1)


def test_clocks_that_were_set_back_change_nothing(slurm: FakeSlurm, db: Path) -> None:
    """sacct is asked in UTC: the hour that occurs twice at the end of summer time is two hours."""
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1)
    for zone in ("Europe/Berlin", "America/New_York"):
        os.environ["TZ"] = zone
        time.tzset()
        try:
            assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1), zone
        finally:
            del os.environ["TZ"]
            time.tzset()


def test_a_table_for_what_is_set_aside_has_every_column(db: Path) -> None:
    for table, record in (("job", Job), ("step", Step)):
        names = [row[1] for row in read(db, f"PRAGMA table_info({table}_aside)")]
        assert names == ["why", "aside_at", *(row[1] for row in read(db, f"PRAGMA table_info({table})"))]
        assert set(names[2:]) == set(record.__dataclass_fields__)
