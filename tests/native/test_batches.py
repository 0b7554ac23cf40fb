"""Batches: with a thread that reads ahead and without one, the same rows; and no way to end leaves it hanging."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.native import helper

SPEC = "jobid!,text!^,tres,free"
INSERT = "INSERT INTO t VALUES (?6, ?1, ?8, ?13, ?17)"
REJECT = "INSERT INTO bad VALUES (?1, ?2, ?3, ?4)"
PROCESSORS = sorted(os.sched_getaffinity(0))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return helper.table(
        tmp_path / "t.db", "step TEXT", "job INTEGER NOT NULL CHECK (job % 100 <> 50)", "cluster TEXT", "types TEXT",
        "name TEXT",
    )  # fmt: skip


@pytest.fixture(params=[1, 2], ids=["one processor", "two processors"])
def processors(request: pytest.FixtureRequest) -> Iterator[int]:
    """How many of them the helper may use: a child has its parent's."""
    if len(PROCESSORS) < request.param:
        pytest.skip("not run: reading ahead needs a second processor")
    os.sched_setaffinity(0, set(PROCESSORS[: request.param]))
    yield request.param
    os.sched_setaffinity(0, set(PROCESSORS))


def records(jobs: int) -> bytes:
    """Jobs with a step each, whose texts are all made by the parser or inherited."""
    return b"".join(
        b"%d|c%d|gres/gpu:b%d=1,gres/gpu:a=2|caf\xe9 %d\n%d.0|||st\xe8p %d\n" % (n, n, n, n, n, n) for n in range(jobs)
    )


def test_a_gentle_one_gives_way_to_other_programs_with_all_its_threads(db: Path) -> None:
    process = subprocess.Popen(
        [helper.program(), "--gentle", "--db", db, "--columns", SPEC, "--sql", INSERT],
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin
    process.stdin.write(records(50000))  # more than a pipe holds: it is at work
    process.stdin.flush()
    tasks = [task / "stat" for task in Path(f"/proc/{process.pid}/task").iterdir()]
    niceness = [task.read_text().split()[18] for task in tasks]
    process.communicate()
    assert niceness == [str(min(os.nice(0) + 10, 19))] * (2 if len(PROCESSORS) > 1 else 1)


def test_texts_outlive_their_record_until_they_are_stored(db: Path, processors: int) -> None:
    ran = helper.run(
        records(20000), "--db", db, "--columns", SPEC, "--sql", INSERT, "--step-sql", INSERT, "--reject-sql", REJECT,
        "--bind", "source",
    )  # fmt: skip
    expected = [
        row
        for n in range(20000)
        if n % 100 != 50
        for row in ((None, n, f"c{n}", f"a+b{n}", f"caf\ufffd {n}"), ("0", n, f"c{n}", None, f"st\ufffdp {n}"))
    ]
    assert (ran.code, ran.error) == (0, "")
    assert helper.rows(db) == expected
    # The steps of a job that the table refused have nothing to belong to.
    assert helper.rows(db, "SELECT line, reason FROM bad")[:4] == [
        (101, "database: CHECK constraint failed: job % 100 <> 50"),
        (102, "a step that does not follow its job's row"),
        (301, "database: CHECK constraint failed: job % 100 <> 50"),
        (302, "a step that does not follow its job's row"),
    ]
    assert {name: ran.counts[name] for name in ("rows", "new", "steps_new", "rejected", "utf8", "bytes", "lines")} == {
        "rows": 40000, "new": 19800, "steps_new": 19800, "rejected": 400, "utf8": 39600, "bytes": len(records(20000)),
        "lines": 40000,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        (["--before", "PRAGMA max_page_count = 20"], "database: database or disk is full", "while storing"),
        (["--before", "nonsense"], '--before: near "nonsense": syntax error', "before the first row"),
        (["--insert-sql", "nonsense"], '--insert-sql: near "nonsense": syntax error', "preparing"),
    ],
)
def test_it_ends_at_once_when_storing_fails_although_more_would_come(
    db: Path, processors: int, options: list[str], error: str, why: str
) -> None:
    process = subprocess.Popen(
        [helper.program(), "--db", str(db), "--columns", SPEC, "--sql", INSERT, *options],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin and process.stderr

    def pour() -> None:
        assert process.stdin
        with suppress(BrokenPipeError):
            process.stdin.write(records(5000))
            process.stdin.flush()  # and then keeps the pipe open

    pouring = threading.Thread(target=pour)
    pouring.start()
    assert process.wait(60) == 1, why
    assert process.stderr.read().decode().splitlines()[-1] == f"error: {error}"
    pouring.join()
    process.stderr.close()
    with suppress(BrokenPipeError):
        process.stdin.close()
    assert helper.rows(db) == []
