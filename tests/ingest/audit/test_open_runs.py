"""Runs without an end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from adminkit.ingest.sync import sync
from adminkit.ingest.sync_run import Options
from tests.ingest.audit.trace_to_audit import HOUR, NOW, ask, counts
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.support.sql import change, read


def test_a_run_that_slurmdbd_says_still_runs_is_open_again_and_looked_up(slurm: FakeSlurm, db: Path) -> None:
    change(db, f"UPDATE job SET state = 'COMPLETED', end_time = {NOW - HOUR}, elapsed = 50 WHERE job_id_raw = 400")
    assert counts(ask(slurm, db, apply=True)) == (107, 1, 0, 0, 0)
    assert read(db, "SELECT state, end_time FROM job WHERE job_id_raw = 400") == [("RUNNING", None)]
    slurm.jobs[-1] = job(400, NOW - 60, UID="1001", Submit=slurm.jobs[-1]["Submit"])
    slurm.write()
    sync(Options(db, steps=False, timeout=5.0), [], lambda _: None)
    assert read(db, "SELECT state FROM job WHERE job_id_raw = 400") == [("COMPLETED",)]


@pytest.mark.parametrize(
    ("statement", "differs", "why"),
    [
        ("uid = 4242", ["uid"], "somebody else's"),
        ("array_job = 77", ["array_job"], "a task of another's array"),
        ("state = 'PENDING', start_time = NULL, nodes = NULL, cpus = 1", [], "it has begun since"),
        ("queue = 'old', job_name = 'old', time_limit = 5", [], "scontrol may change these"),
    ],
)
def test_an_open_run_is_never_confirmed_and_loses_what_is_not_slurmdbds(
    slurm: FakeSlurm, db: Path, statement: str, differs: Sequence[str], why: str
) -> None:
    record = "limit_source = 'explicit', limit_original = 60"
    change(db, f"UPDATE job SET {statement}, {record} WHERE job_id_raw = 400")
    done = ask(slurm, db, apply=True)
    assert counts(done) == ((107, 1, 0, 0, 0) if differs else (107, 0, 0, 0, 1)), why
    assert [list(one.differs) for one in done.examples if one.verdict == "contradicted"] == (
        [differs] if differs else []
    )
    ((uid, array, source, limit, audited, seen),) = read(
        db,
        "SELECT uid, array_job, limit_source, limit_original, audited, seen_open IS NOT NULL FROM job"
        " WHERE job_id_raw = 400",
    )
    assert (uid, array, audited, seen) == (1001, None, None, 1), why
    assert (source, limit) == (("unknown", None) if differs else ("explicit", 60)), why
