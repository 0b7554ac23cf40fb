"""The view `run`: what is derived of a run, the same in SQLite and DuckDB."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

import pytest

from adminkit.job import CKPT_ENDS, CLASSES, LIMIT_KINDS, LIMIT_SOURCES, SERVER_NAME, SOURCES, Job, Step
from adminkit.stats.select import Filter, select
from adminkit.trace import gpu_words, schema, sight
from adminkit.trace.run_view import RUN_VIEW, TOO_LONG
from tests.support.builders import HOUR, MONDAY, job, make_trace

#: What the view adds to the columns of job, in its order.
DERIVED: Final = (
    "req_limit class size_nodes size_cpus size_gpus size_units interactive checkpoint wait soft_limit acting"
    " study_counted iterations gpu_kind continues previous_submit continued tasks last_limit more_given more_used"
).split()


#: A record that names a soft limit.
SOFT: Final = {"admin_comment": "ak1:lim=14400,src=e,soft=1800 mine", "limit_original": 4 * HOUR}

#: A job that asked for four hours, and was given two more.
EXTENDED: Final = {"time_limit": 6 * HOUR, "ext_asked": 4 * HOUR, "ext_limit": 6 * HOUR, "ext_times": 2}


def step(of: Job, name: str = "batch", **changes: Any) -> Step:
    return Step(of.cluster, of.job_id_raw, of.submit_time, name, **{"source": of.source, **changes})


#: What words make on the cluster aaic, and when its queue `blind` had no GPUs in accounting.
WORDS = [
    ("aaic", "shard=2", "shard", 0, 2, 0, 0.5),
    ("aaic", "slice:1g.5gb=14", "slice", 14, 0, 0, 2.0),
    ("aaic", "shard:odd=1", "shard", 0, 1, 0, None),
    ("aaic", "?", None, None, None, None, None),
]
UNTRACKED = [("aaic", "blind", MONDAY, MONDAY + 9 * HOUR), ("aaic", "", MONDAY, MONDAY + 9 * HOUR)]


UNTYPED = [("aaic", "mig", MONDAY, MONDAY + 9 * HOUR)]


def filled(db: Any, jobs: Sequence[Job], steps: Sequence[Step] = ()) -> Any:
    """The tables of an SQLite or DuckDB connection, with the view over them."""
    strict = isinstance(db, sqlite3.Connection)
    for table, rows in ((schema._JOB, jobs), (schema._STEP, steps)):
        db.execute(table if strict else table.replace("INTEGER", "BIGINT").replace(") STRICT", ")"))
        for row in rows:
            names = ", ".join(f'"{field.name}"' for field in fields(row))
            marks = ", ".join("?" * len(fields(row)))
            name = "job" if isinstance(row, Job) else "step"
            db.execute(f"INSERT INTO {name} ({names}) VALUES ({marks})", list(asdict(row).values()))
    for statement in gpu_words.CREATE[:3]:
        db.execute(statement if strict else statement.replace("INTEGER", "BIGINT").replace(") STRICT", ")"))
    for table, gpus in (("gpu_words", WORDS), ("gpu_untracked", UNTRACKED), ("gpu_untyped", UNTYPED)):
        for values in gpus:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", list(values))
    db.execute(RUN_VIEW)
    return db


def derived(jobs: Sequence[Job], steps: Sequence[Step] = ()) -> list[dict[str, Any]]:
    """What SQLite derives of each job, in the order of submission."""
    with closing(sqlite3.connect(":memory:")) as db:
        found = filled(db, jobs, steps).execute(f"SELECT {', '.join(DERIVED)} FROM run ORDER BY submit_time, cluster")
        return [dict(zip(DERIVED, row, strict=True)) for row in found]


@pytest.mark.parametrize(
    ("changes", "expected", "why"),
    [
        ({}, {"req_limit": 4 * HOUR, "class": "single-gpu", "checkpoint": 0, "acting": 1, "study_counted": 1}, "plain"),
        ({"limit_original": 9 * HOUR}, {"req_limit": 9 * HOUR}, "lowered later: the most that was asked for"),
        ({"limit_original": HOUR}, {"req_limit": 4 * HOUR}, "raised later: so much was reserved"),
        ({"time_limit": None, "limit_original": HOUR}, {"req_limit": HOUR}, "only what was typed is known"),
        ({"time_limit": None}, {"req_limit": None, "study_counted": 0}, "no finite limit"),
        ({"time_limit": 0}, {"req_limit": None}, "nothing can be divided by zero"),
        ({"time_limit": TOO_LONG}, {"req_limit": None, "study_counted": 0}, "68 years are nonsense"),
        ({"limit_original": TOO_LONG}, {"req_limit": None}, "nor is the other one what was asked for"),
        (
            {**EXTENDED, "elapsed": 5 * HOUR},
            {"req_limit": 4 * HOUR, "last_limit": 6 * HOUR, "more_given": 2 * HOUR, "more_used": HOUR},
            "it was given two hours, and asked for none of them",
        ),
        (
            {**EXTENDED, "elapsed": 3 * HOUR},
            {"req_limit": 4 * HOUR, "more_given": 2 * HOUR, "more_used": 0},
            "it ended within what it asked for",
        ),
        (
            {**EXTENDED, "elapsed": 6 * HOUR + 20, "state": "TIMEOUT"},
            {"req_limit": 4 * HOUR, "last_limit": 6 * HOUR, "more_used": 2 * HOUR},
            "Slurm ends jobs some seconds late: those were not given",
        ),
        (
            {**EXTENDED, "time_limit": 4 * HOUR, "ext_limit": 4 * HOUR, "ext_times": 0},
            {"req_limit": 4 * HOUR, "last_limit": 4 * HOUR, "more_given": None, "more_used": None},
            "all was taken back",
        ),
        (
            {**EXTENDED, "limit_original": 9 * HOUR},
            {"req_limit": 9 * HOUR, "last_limit": 6 * HOUR, "more_given": 2 * HOUR},
            "a policy had lowered it before",
        ),
        ({**EXTENDED, "limit_original": HOUR}, {"req_limit": 4 * HOUR}, "an operator had raised it before"),
        (
            {**EXTENDED, "time_limit": 3 * HOUR},
            {"req_limit": 4 * HOUR, "last_limit": 3 * HOUR, "more_given": 2 * HOUR},
            "its owner lowered it later: nobody looks better by that",
        ),
        (
            {**EXTENDED, "time_limit": 8 * HOUR, "elapsed": 7 * HOUR},
            {"req_limit": 8 * HOUR, "last_limit": 8 * HOUR, "more_given": 2 * HOUR, "more_used": 2 * HOUR},
            "an operator raised it later, as today: so much was reserved",
        ),
        (
            {**EXTENDED, "time_limit": None, "limit_kind": "unlimited"},
            {"req_limit": None, "last_limit": None, "more_given": 2 * HOUR},
            "an operator took the limit away",
        ),
        ({**EXTENDED, "elapsed": None}, {"more_given": 2 * HOUR, "more_used": None}, "how long it ran is not known"),
        (
            {**EXTENDED, "ext_asked": 6 * HOUR},
            {"req_limit": 6 * HOUR, "more_given": None, "more_used": None},
            "a word that gives nothing",
        ),
        ({**EXTENDED, "ext_asked": 0}, {"req_limit": 6 * HOUR, "more_given": None}, "nobody asked for nothing"),
        ({**EXTENDED, "ext_limit": TOO_LONG}, {"req_limit": 6 * HOUR, "more_given": None}, "68 years are nonsense"),
        ({**EXTENDED, "ext_times": None}, {"req_limit": 6 * HOUR, "more_given": None}, "half a word"),
        ({"nodes": None, "req_nodes": 2}, {"class": "multi-node", "size_nodes": 2}, "requested, where not allocated"),
        ({"gpus": 4, "req_gpus": 1}, {"class": "multi-gpu", "size_gpus": 4, "size_units": 4}, "the allocation wins"),
        ({"gpus": 0, "nodes": 3, "cpus": 6}, {"class": "multi-node", "size_units": 6}, "without GPUs CPUs are counted"),
        ({"gpus": None, "cpus": 6}, {"class": None, "size_gpus": None, "size_units": 6}, "unknown GPUs are not none"),
        ({"gpus": 0, "cpus": None, "nodes": 3}, {"size_units": None}, "nodes are no CPUs"),
        ({"gpus": 0, "cpus": 0}, {"size_units": None}, "a run without a CPU is none"),
        ({"gpus": 0}, {"class": "cpu", "gpu_kind": None}, "none is known to be none"),
        ({"gpus": 2}, {"class": "multi-gpu", "gpu_kind": "whole"}, "whole GPUs"),
        (
            {"gpus": 0, "gpu_parts": "shard=2"},
            {"class": "single-gpu", "size_gpus": 0.5, "size_units": 0.5, "gpu_kind": "shard"},
            "half a GPU",
        ),
        ({"gpus": 1, "gpu_parts": "shard=2"}, {"class": "multi-gpu", "size_gpus": 1.5, "gpu_kind": "mixed"}, "both"),
        (
            {"gpus": 0, "gpu_parts": "slice:1g.5gb=14"},
            {"class": "multi-gpu", "size_gpus": 2.0, "gpu_kind": "slice"},
            "as many slices as two GPUs",
        ),
        (
            {"gpus": 0, "gpu_parts": "shard:odd=1"},
            {"class": None, "size_gpus": None, "gpu_kind": "shard", "size_units": 8},
            "a share that is not known: CPUs are counted",
        ),
        ({"gpus": 0, "gpu_parts": "mps=1"}, {"class": None, "size_gpus": None}, "words that were not looked up yet"),
        (
            {"gpus": None, "gpu_parts": "?", "req_gpus": 0},
            {"class": None, "size_gpus": None, "gpu_kind": None},
            "what cannot be read is not what was asked for",
        ),
        (
            {"gpus": None, "req_gpus": 0, "req_gpu_parts": "shard=2"},
            {"size_gpus": 0.5, "gpu_kind": "shard"},
            "asked for, where nothing is allocated",
        ),
        (
            {"gpus": 0, "req_gpus": 0, "req_gpu_parts": "shard=2"},
            {"size_gpus": 0, "gpu_kind": None},
            "the allocation wins here too",
        ),
        ({"gpus": 0, "queue": "blind"}, {"class": None, "size_gpus": None}, "accounting did not name GPUs then"),
        ({"gpus": 2, "queue": "blind"}, {"class": "multi-gpu", "size_gpus": 2}, "but what it names is so"),
        ({"gpus": 0, "queue": "blind", "nodes": 2}, {"class": "multi-node", "size_gpus": None}, "its class is known"),
        ({"gpus": 0, "queue": None}, {"class": None, "size_gpus": None}, "of no queue"),
        ({"gpus": 0, "queue": "blind", "start_time": MONDAY + 9 * HOUR}, {"class": "cpu"}, "from then on it did"),
        ({"gpus": 0, "queue": "blind", "cluster": "beta"}, {"class": "cpu"}, "another cluster's"),
        ({"cpus": None, "req_cpus": 7}, {"size_cpus": 7}, "as with nodes"),
        ({"eligible_time": MONDAY}, {"wait": 60}, "from when it could have started"),
        ({"eligible_time": None}, {"wait": None}, "unknown since when"),
        ({"start_time": None, "eligible_time": MONDAY}, {"wait": None}, "it never started"),
        ({"job_name": "interactive"}, {"interactive": 1}, "as salloc names it"),
        (
            {"job_name": SERVER_NAME, "submitted_by": "sbatch"},
            {"interactive": 1},
            "a server of a hub",
        ),
        ({"submitted_by": "srun"}, {"interactive": 1}, "by its command line"),
        ({"submitted_by": "sbatch"}, {"interactive": 0}, "a batch job"),
        ({"submitted_by": None}, {"interactive": 0}, "nothing known: for all we know a batch job"),
        ({}, {"soft_limit": None}, "backfill plans with the limit"),
        (
            {**SOFT, "limit_source": "explicit"},
            {"soft_limit": 1800, "req_limit": 4 * HOUR},
            "and with the policy's number",
        ),
        ({**SOFT, "limit_source": "stated"}, {"soft_limit": None}, "no record that anybody vouches for"),
        ({}, {"iterations": None}, "the program said nothing"),
        ({"admin_comment": "pf1:it=12345"}, {"iterations": 12345}, "the word alone"),
        ({"admin_comment": "ak1:lim=60,src=e pf1:it=7 mine"}, {"iterations": 7}, "among others"),
        ({"admin_comment": "pf1:it=0"}, {"iterations": 0}, "nothing is done yet"),
        ({"admin_comment": "pf1:it=99999999999999999999"}, {"iterations": 2**63 - 1}, "20 digits: SQLite's largest"),
        ({"admin_comment": "pf1:it=100000000000000000000"}, {"iterations": None}, "21 digits are no such word"),
        ({"admin_comment": "pf1:it=7x"}, {"iterations": None}, "no number"),
        ({"admin_comment": "pf1:it="}, {"iterations": None}, "nothing"),
        ({"admin_comment": "pf1:it=-7"}, {"iterations": None}, "no digits"),
        ({"admin_comment": "xpf1:it=7"}, {"iterations": None}, "another word"),
        ({"admin_comment": "pf1:it=7,at=9"}, {"iterations": None}, "a key that nobody knows yet"),
        ({"source": "text"}, {"acting": 0, "study_counted": 1}, "a file may say anything; reports count it"),
        ({"audited": "beyond"}, {"acting": 0}, "slurmdbd cannot say any more"),
        ({"audited": "confirmed"}, {"acting": 1}, "slurmdbd said it twice"),
        ({"state": "FAILED"}, {"study_counted": 0}, "the study counts what ended as it should, or at its limit"),
        ({"state": None}, {"study_counted": 0}, "unknown"),
        ({"elapsed": 60}, {"study_counted": 0}, "a minute is not more than a minute"),
        ({"elapsed": 61}, {"study_counted": 1}, "a second more is"),
        ({"elapsed": None}, {"study_counted": 0}, "unknown is not more"),
        ({"array_job": 5, "array_task": 3, "array_tasks": 12}, {"tasks": 1}, "the last of them has the row by now"),
        ({"array_job": 5, "array_tasks": 12, "start_time": None}, {"tasks": 12}, "they wait, or were cancelled"),
        ({"array_job": 5, "start_time": None}, {"tasks": None}, "sacct cut the list"),
        ({"array_job": 5}, {"tasks": 1}, "it ran: a table without the numbers of tasks"),
        ({}, {"tasks": 1}, "no array"),
        ({"restarts": 1, "ckpt_heard": 1}, {"study_counted": 1}, "the study had no checkpoints; that stands beside it"),
    ],
)
def test_what_is_derived_of_a_run(changes: dict[str, Any], expected: dict[str, Any], why: str) -> None:
    (found,) = derived([job(**changes)])
    assert {name: found[name] for name in expected} == expected, why


@pytest.mark.parametrize(
    ("changes", "carried_on", "why"),
    [
        ({}, 0, "a run like any other"),
        ({"state": "REQUEUED"}, 1, "put back into the queue, by whomever"),
        ({"restarts": 1}, 1, "a later run of the same job"),
        ({"restarts": 0}, 0, "its first"),
        ({"ckpt_requeues": 1}, 1, "adminkit had put it back"),
        ({"ckpt_requeues": 0, "ckpt_heard": 1}, 1, "it heard the signal, and may have ended for it"),
        ({"ckpt_requeues": 0, "ckpt_heard": 0, "ckpt_at": MONDAY}, 0, "nothing heard it"),
        ({"ckpt_asked": 1}, 0, "it can be carried on, and was not"),
        ({"exit_code": 85}, 0, "with which code a run says that it has more to do is a setting, beside the view"),
    ],
)
def test_a_run_that_was_carried_on_or_a_piece_of_such_a_job(changes: dict[str, Any], carried_on: int, why: str) -> None:
    assert derived([job(**changes)])[0]["checkpoint"] == carried_on, why


@pytest.mark.parametrize(
    ("earlier", "later", "carried_on", "why"),
    [
        ({"state": "REQUEUED"}, {}, 1, "sacct before 24.11 has no Restarts: the run before says it"),
        ({"state": "REQUEUED"}, {"restarts": 0}, 0, "Slurm says it is the first run: the number was used again"),
        ({"state": "COMPLETED"}, {}, 0, "a number that was used again"),
        ({"state": "REQUEUED", "cluster": "beta"}, {}, 0, "another cluster's job"),
        ({"state": "REQUEUED", "submit_time": MONDAY + 9 * HOUR}, {}, 0, "a later run of it"),
        ({"state": "REQUEUED", "source": "text"}, {}, 0, "a file takes no points from what slurmdbd says"),
        ({"state": "REQUEUED", "audited": "beyond"}, {}, 0, "nor does what slurmdbd cannot confirm"),
        ({"state": "REQUEUED", "source": "trusted"}, {}, 1, "an operator vouched for it"),
        ({"state": "REQUEUED", "source": "text"}, {"source": "text"}, 1, "both are of a file"),
    ],
)
def test_a_piece_is_known_by_an_earlier_one(
    earlier: dict[str, Any], later: dict[str, Any], carried_on: int, why: str
) -> None:
    first, last = job(7, **{"submit_time": MONDAY - HOUR, **earlier}), job(7, **later)
    order = sorted([first, last], key=lambda one: one.submit_time)
    assert derived([first, last])[order.index(last)]["checkpoint"] == carried_on, why


@pytest.mark.parametrize(
    ("changes", "steps", "interactive", "why"),
    [
        ({"submitted_by": "sbatch"}, ["interactive"], 1, "salloc's shell on a node"),
        ({}, ["0", "extern"], 1, "steps but no batch script: srun by itself"),
        ({}, ["0", "batch"], 0, "a batch script"),
        ({"submitted_by": "sbatch"}, ["0"], 0, "its command line says so; not every step is gathered"),
    ],
)
def test_steps_tell_who_sat_before_a_run(changes: dict[str, Any], steps: list[str], interactive: int, why: str) -> None:
    one = job(**changes)
    assert derived([one], [step(one, name) for name in steps])[0]["interactive"] == interactive, why
    if "interactive" in steps:
        forged = [step(one, name, source="text") for name in steps]
        assert derived([one], forged)[0]["interactive"] == 0, "a step counts with a run of its own source"


def test_the_view_has_jobs_columns_first() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        found = [row[0] for row in filled(db, [job()]).execute("SELECT * FROM run").description]
    assert found == [*(field.name for field in fields(Job)), *DERIVED]


def test_what_the_study_counts_is_what_a_report_counts_but_for_runs_that_were_carried_on() -> None:
    counted = select(Filter(checkpoint_code=85), limits=True)
    with closing(sqlite3.connect(":memory:")) as db:
        filled(db, jobs := _some_jobs(400))
        rows = db.execute(
            f"SELECT {counted.reason} = 0, study_counted AND NOT checkpoint AND exit_code IS NOT 85 FROM run",
            counted.params,
        ).fetchall()
    assert all(report == study for report, study in rows)
    assert 0 < sum(report for report, _ in rows) < len(jobs)


def test_duckdb_derives_the_same_of_the_same_rows() -> None:
    """The view in its own words, as it will stand over archived files."""
    duckdb = pytest.importorskip("duckdb", reason="not run: no duckdb (pip install -e '.[dev]')")
    jobs = _some_jobs(500)
    steps = [
        step(one, name, source="text" if name == "interactive" else one.source)
        for one in jobs[::3]
        for name in _steps(one)
    ]
    query = f"SELECT cluster, job_id_raw, submit_time, {', '.join(DERIVED)} FROM run ORDER BY 1, 2, 3"
    with closing(sqlite3.connect(":memory:")) as db, closing(duckdb.connect()) as other:
        ours, theirs = (filled(one, jobs, steps).execute(query).fetchall() for one in (db, other))
    assert theirs == ours
    for place, name in enumerate(DERIVED, start=3):
        assert len({row[place] for row in ours}) > 1, f"{name} has one value only: says nothing"


def _steps(one: Job) -> tuple[str, ...]:
    return (("batch", "0"), ("0", "extern"), ("interactive",), ("extern",))[one.job_id_raw % 4]


def _some_jobs(many: int) -> list[Job]:
    """Runs of few values each, many of them unknown or odd, several of one job."""
    pick = random.Random(3)
    some = {
        "state": ("COMPLETED", "COMPLETED", "TIMEOUT", "REQUEUED", "FAILED", None),
        "elapsed": (None, -1, 0, 60, 61, HOUR, HOUR, TOO_LONG, 2**40),
        "time_limit": (None, 0, -5, 60, HOUR, HOUR, 4 * HOUR, TOO_LONG - 1, TOO_LONG, 2**40),
        "limit_original": (None, None, None, 0, HOUR, 9 * HOUR, TOO_LONG),
        "ext_asked": (None, HOUR, HOUR, 0, 4 * HOUR),
        "ext_limit": (None, HOUR, 2 * HOUR, 4 * HOUR, 4 * HOUR, TOO_LONG),
        "ext_times": (None, 0, 1, 2, 2),
        "limit_kind": LIMIT_KINDS,
        "limit_source": LIMIT_SOURCES,
        "admin_comment": (
            None,
            "ak1:lim=60,src=e",
            "ak1:lim=60,src=e,soft=600,rules=a",
            "ak1:lim=60,src=e,soft=1800 x",
            "ak1:lim=60,src=e pf1:it=12",
            "pf1:it=12345678901234567890 x",
            "pf1:it=1x",
        ),
        **dict.fromkeys(("nodes", "gpus", "cpus", "req_nodes", "req_gpus", "req_cpus"), (None, 0, 1, 2, 8)),
        **dict.fromkeys(("gpu_parts", "req_gpu_parts"), (None, None, None, None, *(row[1] for row in WORDS), "mps=1")),
        "queue": ("gq", "blind", None),
        **dict.fromkeys(("ckpt_requeues", "ckpt_heard", "restarts"), (None, None, None, None, 0, 0, 1)),
        **{"array_job": (None, None, 5), "array_task": (None, 3), "array_tasks": (None, 12)},
        "ckpt_end": (None, *CKPT_ENDS),
        "exit_code": (None, 0, 0, 85),
        "source": tuple(SOURCES),
        "audited": (None, None, "confirmed", "beyond"),
        "job_name": (None, "train", "interactive", SERVER_NAME),
        "submitted_by": (None, None, "sbatch", "srun"),
        "start_time": (None, MONDAY, MONDAY + 60),
        "eligible_time": (None, MONDAY, MONDAY - 60),
    }
    return [
        job(
            number // 3,
            **{"submit_time": MONDAY + number, **{name: pick.choice(values) for name, values in some.items()}},
        )
        for number in range(many)
    ]


def test_its_classes_are_jobs_classes() -> None:
    assert {row["class"] for row in derived(_some_jobs(300))} == {*CLASSES, None}


def test_who_shadows_job_shadows_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of the trace file never sees temporary ones, so the view run is shadowed with the table."""
    monkeypatch.setattr(sight, "name_of", lambda uid: "ada")
    path = make_trace(tmp_path / "trace.db", [job(1, user="ada", uid=None), job(2, user="bob", uid=None)])
    with closing(sqlite3.connect(path)) as db:
        sight.shadow(db, own=True, as_of=None)
        assert db.execute("SELECT user FROM run").fetchall() == [("ada",)]
        assert db.execute("SELECT count(*) FROM main.run").fetchone() == (2,)
