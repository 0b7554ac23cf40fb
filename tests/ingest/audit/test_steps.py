"""Steps, and what they say of their run."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.ingest.sync import sync
from adminkit.ingest.sync_run import Options
from tests.ingest.audit.trace_to_audit import DAY, NOW, ask, counts
from tests.ingest.fake_slurm import FakeSlurm
from tests.support.sql import change, read


def test_steps_that_were_made_up_are_found_by_their_cpu_time(slurm: FakeSlurm, db: Path) -> None:
    one = next(one for one in slurm.jobs if one["JobIDRaw"] == "7")
    batch = {**one, "JobID": "7.batch", "JobIDRaw": "7.batch", "TotalCPU": "00:00:40"}
    slurm.jobs.insert(slurm.jobs.index(one) + 1, batch)
    key = f"'alpha', 7, {one['Submit']}"
    change(
        db,
        *(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, cpu_time)"
            f" VALUES ({key}, '{step}', 'slurmdbd', {cpu})"
            for step, cpu in (("batch", 40), ("0", 9000))
        ),
        "UPDATE job SET cpu_time = 9040 WHERE job_id_raw = 7",
    )
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1), "without steps nobody asks"
    assert list(ask(slurm, db, steps=True).examples[0].differs) == ["cpu_time", "steps"]
    ask(slurm, db, steps=True, apply=True)
    assert read(db, "SELECT cpu_time FROM job WHERE job_id_raw = 7") == [(40.0,)]
    assert read(db, "SELECT step, cpu_time FROM step") == [("batch", 40.0)]
    assert read(db, "SELECT count(*) FROM step_aside") == [(2,)]


def test_steps_that_were_not_asked_for_stay_and_so_does_what_they_say(slurm: FakeSlurm, db: Path) -> None:
    change(
        db,
        "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, cpu_time)"
        " SELECT cluster, job_id_raw, submit_time, 'batch', 'slurmdbd', 40 FROM job WHERE job_id_raw = 7",
        "UPDATE job SET cpu_time = 40, max_rss = 5, disk_read = 6, disk_write = 7, energy = 8, time_limit = 60"
        " WHERE job_id_raw = 7",
    )
    assert counts(ask(slurm, db, apply=True)) == (106, 1, 0, 0, 1)
    what = "SELECT cpu_time, max_rss, disk_read, disk_write, energy, time_limit FROM job WHERE job_id_raw = 7"
    assert read(db, what) == [(40.0, 5, 6, 7, 8, 7200)]
    assert read(db, "SELECT step, cpu_time FROM step") == [("batch", 40.0)]
    assert read(db, "SELECT count(*) FROM step_aside") == [(0,)]


@pytest.mark.parametrize(
    ("statement", "contradicted", "why"),
    [
        ("UPDATE step SET gpus = gpus", 0, "as slurmdbd has it"),
        ("UPDATE step SET gpus = 4 WHERE step = '0'", 1, "it looks as wide as the run"),
        ("UPDATE step SET nodes = 2 WHERE step = '0'", 1, "nodes decide what a bundle is"),
        ("UPDATE step SET tasks = 9 WHERE step = '0'", 1, "and so do tasks"),
        ("UPDATE step SET step = '5' WHERE step = '1'", 1, "one that slurmdbd does not have, and without CPU time"),
        ("DELETE FROM step WHERE step = '1'", 1, "one is missing"),
    ],
)
def test_steps_that_were_written_over_are_slurmdbds_again(
    slurm: FakeSlurm, db: Path, statement: str, contradicted: int, why: str
) -> None:
    slurm.fields += ["NNodes", "NTasks"]
    one = next(one for one in slurm.jobs if one["JobIDRaw"] == "7")
    for step in ("0", "1"):
        cells = {"JobID": f"7.{step}", "JobIDRaw": f"7.{step}", "AllocTRES": "cpu=2,gres/gpu=1", "NTasks": "1"}
        slurm.jobs.insert(slurm.jobs.index(one) + 1, {**one, **cells, "NNodes": "1"})
    slurm.write()
    change(db, "DELETE FROM window")
    sync(Options(db, since=NOW - 20 * DAY, steps=True, steps_pause=0.0, timeout=5.0), [], lambda _: None)
    what = "SELECT step, nodes, tasks, gpus FROM step ORDER BY step"
    honest = read(db, what)
    assert len(honest) == 2
    change(db, statement)
    assert counts(ask(slurm, db, steps=True, apply=True)) == (107 - contradicted, contradicted, 0, 0, 1), why
    assert read(db, what) == honest, why


def test_the_steps_that_a_purge_has_taken_contradict_nothing(slurm: FakeSlurm, db: Path) -> None:
    one = next(one for one in slurm.jobs if one["JobIDRaw"] == "7")
    late = str(int(one["Start"]) + 100)
    steps = [{**one, "JobID": "7.1", "JobIDRaw": "7.1", "Start": late}, {**one, "JobID": "7.0", "JobIDRaw": "7.0"}]
    for step in steps:
        slurm.jobs.insert(slurm.jobs.index(one) + 1, step)
    slurm.write()
    change(db, "DELETE FROM window")
    sync(Options(db, since=NOW - 20 * DAY, steps=True, steps_pause=0.0, timeout=5.0), [], lambda _: None)
    assert read(db, "SELECT count(*) FROM step") == [(2,)]
    for step in reversed(steps):
        slurm.jobs.remove(step)
        assert counts(ask(slurm, db, steps=True)) == (107, 0, 0, 0, 1)
