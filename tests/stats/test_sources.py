"""What each source's rows count for: everything in reports, and for people only what slurmdbd or an operator says."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.job import SOURCES, Job
from adminkit.stats import due, incentives, parallelism
from adminkit.stats.finished import tasks
from adminkit.stats.runs import runs
from adminkit.stats.select import Filter
from adminkit.stats.sources import by_source, refuse_demo
from adminkit.stats.waiting import waiting
from adminkit.stats.weeks import weeks
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

END = MONDAY + 60 + HOUR
LATER = END + HOUR


def counted(db: sqlite3.Connection) -> dict[str, int]:
    """How often the one run of the trace is counted, by everything that counts runs."""
    asked = incentives.Criteria("aaic", MONDAY - HOUR, LATER, unknown_counts=True, checkpoint_code=85)
    week = Filter(["aaic"], MONDAY, LATER, acting=True, checkpoint_code=85)
    return {
        "report": parallelism.parallelism(db, Filter(checkpoint_code=85)).jobs,
        "recommend": len(list(runs(db, checkpoint_code=85))),
        "points": len(list(incentives.sums(db, asked))),
        "explained": len(list(incentives.scored(db, asked, 1001))),
        "letter": len(list(due.ended(db, "aaic", MONDAY, LATER, 85))),
        "habit": len(due.habits(db, week)),
        "digest": len(due.active(db, week)),
        "digest's weeks": weeks(db, week, 1, by_user=False)[None][0].runs,
        "letter's tasks": len(found.elapsed) if (found := tasks(db, "aaic", 1, 0, LATER)) else 0,
        "letter's advice and hints": len(list(runs(db, acting=True, checkpoint_code=85))),
        "somebody else waited": len(waiting(db, MONDAY, LATER)),
    }


REPORTS = {"report", "recommend"}


@pytest.mark.parametrize(
    ("changes", "acts", "why"),
    [
        ({"source": "slurmdbd"}, True, "slurmdbd itself told us"),
        ({"source": "slurmdbd", "audited": "confirmed"}, True, "and said so again"),
        ({"source": "slurmdbd", "audited": "beyond"}, False, "nobody can say any more whether it did"),
        ({"source": "trusted"}, True, "an operator vouched for it"),
        ({"source": "text"}, False, "anybody may have written it"),
        ({"source": "swf"}, False, "nor is a trace of somebody else's"),
        ({"source": "demo"}, True, "in previews; installing and sending refuse"),
    ],
)
def test_what_a_row_counts_for(tmp_path: Path, changes: dict[str, Any], acts: bool, why: str) -> None:
    one = job(
        1, uid=1001, req_gpus=1, array_job=1, array_task=1, eligible_time=MONDAY, submitted_by="sbatch", **changes
    )
    with reader(make_trace(tmp_path / "t.db", [one])) as db:
        found = counted(db)
    assert {what for what, many in found.items() if many} == (set(found) if acts else REPORTS), why


def test_every_source_has_its_rule() -> None:
    assert set(SOURCES) == {"slurmdbd", "trusted", "text", "swf", "demo"}


def test_a_lower_row_takes_no_points_from_an_honest_one(tmp_path: Path) -> None:
    """An earlier run of the same job that was requeued makes it a checkpoint run; a file may claim one."""
    honest = job(1, uid=1001)
    forged = replace(honest, source="text", submit_time=honest.submit_time - 500, state="REQUEUED")
    asked = incentives.Criteria("aaic", MONDAY - HOUR, LATER, unknown_counts=True, checkpoint_code=85)
    for path, jobs, reason in (
        ("text.db", [honest, forged], "counted"),
        ("slurmdbd.db", [honest, replace(forged, source="slurmdbd")], "checkpoint"),
    ):
        with reader(make_trace(tmp_path / path, jobs)) as db:
            assert reason in {row.reason for row in incentives.sums(db, replace(asked, unknown_counts=True))}, path


@pytest.mark.parametrize(("source", "interactive"), [("slurmdbd", 1), ("text", 0)])
def test_a_step_counts_with_a_run_of_its_own_source(tmp_path: Path, source: str, interactive: int) -> None:
    path = make_trace(tmp_path / "t.db", [one := job(1, uid=1001, submitted_by="sbatch")])
    with closing(sqlite3.connect(path)) as db, db:
        key = (one.cluster, one.job_id_raw, one.submit_time)
        db.execute(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, source) VALUES (?, ?, ?, 'interactive', ?)",
            (*key, source),
        )
    with reader(path) as db:
        (found,) = due.ended(db, "aaic", MONDAY, LATER, 85)
    assert found.interactive == interactive


def test_the_points_say_what_they_passed_over(tmp_path: Path) -> None:
    rows = [job(1, uid=1), job(2, uid=None), job(3, uid=1, source="text"), job(4, uid=1, audited="beyond")]
    with reader(make_trace(tmp_path / "t.db", rows)) as db:
        found = incentives.passed_over(db, incentives.Criteria("aaic", MONDAY - HOUR, LATER, checkpoint_code=85))
    assert found == {"source": 2, "uid_unknown": 1}


@pytest.fixture
def mixed(tmp_path: Path) -> Callable[..., Path]:
    def make(*rows: Job) -> Path:
        return make_trace(tmp_path / "mixed.db", rows)

    return make


def test_the_demo_is_refused_by_name(mixed: Callable[..., Path]) -> None:
    with reader(mixed(job(1), job(2, cluster="other", source="demo"))) as db:
        refuse_demo(db, ["aaic"], "no letter is sent")
        with pytest.raises(AdminkitError, match="other has rows of `adminkit demo`, whose jobs never ran") as error:
            refuse_demo(db, ["aaic", "other"], "no letter is sent")
        assert "preview" in error.value.hint
        plan = " ".join(
            row[3]
            for row in db.execute("EXPLAIN QUERY PLAN SELECT 1 FROM job WHERE cluster = ? AND source = 'demo'", "a")
        )
    assert "job_demo" in plan, "ten million rows are not read for it"


def test_a_users_runs_are_told_by_source(mixed: Callable[..., Path]) -> None:
    with reader(mixed(job(1), job(2), job(3, source="text"), job(4, user="bob", source="swf"))) as db:
        assert by_source(db, ["ada"], ["aaic"]) == {"slurmdbd": 2, "text": 1}
        assert by_source(db) == {"slurmdbd": 2, "swf": 1, "text": 1}
