"""How much more time a running job was given, as it arrives from sacct at the end and from slurmctld before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.cli.main import main
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.ingest.trace_to_sync import DAY, HOUR, NOW, run

FIELDS = "JobID|JobIDRaw|Cluster|Submit|Start|End|State|TimelimitRaw|AdminComment"
START = 1_790_000_000
RECORD = "ak1:lim=3600,src=e,ext=auto"
COLUMNS = "time_limit, limit_original, ext_asked, ext_limit, ext_times, req_limit"


def imported(folder: Path, *comments: str) -> list[tuple[object, ...]]:
    """The columns of a run that sacct shows with each of these comments in turn; its last limit was 90 minutes."""
    text, db = folder / "jobs.txt", folder / "t.db"
    for comment in comments:
        text.write_text(f"{FIELDS}\n7|7|alpha|{START - 50}|{START}|{START + 4000}|COMPLETED|90|{comment}\n")
        assert main(["import", str(text), "--db", str(db)]) == 0
    return rows(db)


def rows(db: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(f"SELECT {COLUMNS} FROM run ORDER BY job_id_raw").fetchall()


@pytest.mark.parametrize(
    ("comments", "found", "why"),
    [
        ([f"{RECORD} xt1:asked=3600,lim=5400,n=2"], (5400, 3600, 3600, 5400, 2, 3600), "behind the policy's record"),
        (["xt1:asked=3600,lim=5400,n=2 mine"], (5400, None, 3600, 5400, 2, 3600), "by itself"),
        ([f"{RECORD} xt1:asked=3600,lim=3600,n=0"], (5400, 3600, 3600, 3600, 0, 5400), "taken back, raised by hand"),
        ([RECORD], (5400, 3600, None, None, None, 5400), "raised by hand"),
        ([f"{RECORD} xt1:asked=3600,lim=,n=2"], (5400, 3600, None, None, None, 5400), "half a word says nothing"),
        (
            [f"{RECORD} xt1:asked=3600,lim=4500,n=1", f"{RECORD} xt1:asked=3600,lim=5400,n=2"],
            (5400, 3600, 3600, 5400, 2, 3600),
            "a later word",
        ),
        (
            [f"{RECORD} xt1:asked=3600,lim=5400,n=2", "JS1:abc"],
            (5400, 3600, 3600, 5400, 2, 3600),
            "another tool wrote over it",
        ),
    ],
)  # fmt: skip
def test_a_run_has_the_word_that_was_left_in_it(
    tmp_path: Path, comments: list[str], found: tuple[object, ...], why: str
) -> None:
    assert imported(tmp_path, *comments) == [found], why


def test_what_was_given_to_an_open_job_is_known_before_its_end_and_outlives_it(
    slurm: FakeSlurm, db: Path, said: list[str]
) -> None:
    submit = NOW - HOUR
    going = [job(n, Submit=str(submit), Start=str(submit + 5), TimelimitRaw="90") for n in (1, 2, 3)]
    slurm.jobs = going
    slurm.comments = [
        (1, submit, f"{RECORD} xt1:asked=3600,lim=4500,n=1"),
        (2, submit, f"{RECORD} xt1:asked=3600,lim=4500,n=x"),
        (3, submit, "xt1:asked=3600,lim=5400,n=2"),
    ]
    run(slurm, db, said, since=NOW - DAY)
    assert rows(db) == [
        (5400, 3600, 3600, 4500, 1, 5400),
        (5400, 3600, None, None, None, 5400),
        (5400, None, 3600, 5400, 2, 3600),
    ]
    slurm.comments = [(1, submit, f"{RECORD} xt1:asked=3600,lim=5400,n=2"), (3, submit, "xt1:asked=3600,lim=3600,n=0")]
    run(slurm, db, said)
    slurm.comments = []
    slurm.fields = [*slurm.fields, "AdminComment"]
    slurm.jobs = [{**one, "State": "COMPLETED", "End": str(NOW - 60), "AdminComment": "JS1:H4sI"} for one in going]
    run(slurm, db, said)
    assert rows(db) == [
        (5400, 3600, 3600, 5400, 2, 3600),
        (5400, 3600, None, None, None, 5400),
        (5400, None, 3600, 3600, 0, 5400),
    ]
