"""`adminkit import` of SWF traces: queues, partitions, and what lacks."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.typed import typed


def adminkit(*words: str | Path, code: int = 0) -> str:
    done = typed(*words)
    assert done.returncode == code, done.stderr
    return done.stdout


def row(job: int, queue: object = -1, partition: object = -1, wait: int = 5, user: int = 7, elapsed: int = 60) -> str:
    """A job of 60 s on 4 processors whose limit is two minutes."""
    return f"{job} {job * 100} {wait} {elapsed} 4 -1 -1 4 120 -1 1 {user} 2 3 {queue} {partition} -1 -1"


def swf(path: Path, header: str, *rows: str) -> Path:
    path.write_text("\n".join(["; Version: 2.2", header, *rows]) + "\n")
    return path


def queues(tmp_path: Path, header: str, *pairs: tuple[object, object]) -> list[str | None]:
    """The queues of jobs with these (queue, partition), in order."""
    path, db = tmp_path / "trace.swf", tmp_path / "trace.db"
    swf(path, header, *(row(number, *pair) for number, pair in enumerate(pairs, start=1)))
    assert f"read {len(pairs)}, " in adminkit("import", path, "--cluster", "swf", "--db", db)
    with closing(sqlite3.connect(db)) as trace:
        return [name for (name,) in trace.execute("SELECT queue FROM job ORDER BY job_id_raw")]


NAMES = "; Queue: 1 batch\n; Queue: 2 long\n; Partition: 0 gpu\n; Partition: 1 fat"


CALLED = [  # queue, partition, what the trace calls it, why
    (1, -1, "batch", "the queue's name"),
    (-1, 0, "gpu", "the partition, where there is no queue"),
    (1, 0, "batch@gpu", "both: neither queues nor partitions become one"),
    (9, 3, "queue9@partition3", "without names"),
    (-1, -1, None, "neither"),
    (-2, "-1.0", None, "negative numbers say nothing"),
    ("1.00", "-1", "batch", "whole, if written otherwise"),
    ("1e300", -1, "queue9223372036854775807", "a number beyond all"),
]


def test_a_queue_is_called_by_its_name_its_partition_or_both(tmp_path: Path) -> None:
    found = queues(tmp_path, NAMES, *((queue, partition) for queue, partition, _, _ in CALLED))
    assert found == [name for _, _, name, _ in CALLED], "\n".join(why for *_, why in CALLED)


def test_partitions_of_a_trace_without_queues_stay_apart(tmp_path: Path) -> None:
    assert queues(tmp_path, "", (-1, 0), (-1, 1), (-1, 2), (-1, 3)) == [f"partition{n}" for n in range(4)]


def test_a_header_that_is_no_header_breaks_nothing(tmp_path: Path) -> None:
    header = '; Queue: 1 \');DROP TABLE job;--\n; Partition: 0 "},{"\n; UnixStartTime: ' + "9" * 5000
    assert queues(tmp_path, header, (1, 0)) == ["queue1@partition0"]


def test_a_name_that_a_later_header_gives_replaces_the_number(tmp_path: Path) -> None:
    assert queues(tmp_path, "", (1, -1)) == ["queue1"]
    assert queues(tmp_path, "; Queue: 1 batch", (1, -1)) == ["batch"]
    assert queues(tmp_path, "; Queue: 1 express", (1, -1)) == ["express"]


def test_runs_without_waits_are_left_out_of_recommendations_and_not_blamed_on_jobs(tmp_path: Path) -> None:
    """The run times and limits are there, but what had ended before a submission cannot be said."""
    path = swf(tmp_path / "model.swf", "", *(row(number, wait=-1) for number in range(1, 51)))
    path.write_text(path.read_text() + row(51, wait=-1, user=-1) + "\n")
    db = tmp_path / "trace.db"
    adminkit("import", path, "--cluster", "model", "--db", db)
    recommend = ("recommend", "walltime", "--db", db, "--format", "json")
    said = json.loads(adminkit(*recommend, "--backtest"))
    assert (said["rows"], said["meta"]["excluded"]) == ([], {"without a limit": 0, "without a start and an end": 50})
    note, source = said["meta"]["notes"]
    assert source.startswith("from runs of every source: swf 51")
    assert note.startswith("50 runs left out: how long they ran is known, but not when (an SWF trace without waits")
    _, why, note, _ = json.loads(adminkit(*recommend, "--user", "user7"))["meta"]["notes"]
    assert why == "nothing is recommended: no such run is known to have ended"
    assert note.startswith("50 runs left out")


def test_of_a_trace_with_some_waits_the_rest_is_tried(tmp_path: Path) -> None:
    rows = [row(number, wait=5 if number % 2 else -1) for number in range(1, 51)]
    db = tmp_path / "trace.db"
    adminkit("import", swf(tmp_path / "half.swf", "", *rows), "--cluster", "half", "--db", db)
    said = json.loads(adminkit("recommend", "walltime", "--db", db, "--format", "json", "--backtest"))
    assert (said["meta"]["jobs"], said["meta"]["excluded"]["without a start and an end"]) == (25, 25)


def test_two_jobs_of_one_number_and_submission_stop_the_import(tmp_path: Path) -> None:
    same = row(7)
    path = swf(tmp_path / "t.swf", "", row(1), same, same, row(8))
    db = tmp_path / "trace.db"
    assert "read 4, new 3, changed 0, unchanged 1" in adminkit("import", path, "--cluster", "c", "--db", db)
    other = swf(tmp_path / "other.swf", "", row(20), row(21), row(21, user=9))
    for at in (db, tmp_path / "fresh.db"):
        done = typed("import", other, "--cluster", "c", "--db", at)
        assert done.returncode == 1 and "two rows have the key of job 21, submitted at 2100" in done.stderr
    assert not (tmp_path / "fresh.db").exists()
    with closing(sqlite3.connect(db)) as trace:
        assert trace.execute("SELECT count(*) FROM job").fetchone() == (3,), "nothing of it was stored"
    changed = swf(tmp_path / "changed.swf", "", row(1, user=9), row(7), row(8))
    assert "changed 1, unchanged 2" in adminkit("import", changed, "--cluster", "c", "--db", db)


LATER = [  # what a second file has of job 7, whether it is refused, why
    ({"user": 9, "wait": 7, "elapsed": 70}, True, "another user, start and end: another trace's job"),
    ({"user": 9}, False, "a user that was corrected"),
    ({"wait": 7, "elapsed": 70}, False, "times that were corrected"),
    ({"user": -1, "wait": 7, "elapsed": 70}, False, "an unknown user may be the same"),
    ({"user": 9, "wait": -1, "elapsed": 70}, False, "unknown times may be the same"),
]


@pytest.mark.parametrize(("more", "refused", "why"), LATER)
def test_a_job_of_another_trace_does_not_overwrite_one_that_is_stored(
    tmp_path: Path, more: dict[str, int], refused: bool, why: str
) -> None:
    db, second = tmp_path / "trace.db", swf(tmp_path / "second.swf", "", row(6), row(7, **more))
    adminkit("import", swf(tmp_path / "first.swf", "", row(7), row(8)), "--cluster", "c", "--db", db)
    done = typed("import", second, "--cluster", "c", "--db", db)
    assert (done.returncode == 1) == refused, f"{why}: {done.stdout}{done.stderr}"
    if refused:
        assert "the trace already has another job 7 of this cluster, also submitted at 700 (epoch)" in done.stderr
        assert "give it a --cluster of its own" in done.stderr
    else:
        assert "read 2, new 1, " in done.stdout, why
    with closing(sqlite3.connect(db)) as trace:
        assert trace.execute("SELECT count(*) FROM job").fetchone() == (2 if refused else 3,)


ENDS = [  # run, limit, status, state and elapsed in the trace, why
    (3600, 3600, 0, "TIMEOUT", 3600, "killed at its limit, which SWF calls a failure"),
    (3612, 3600, 5, "TIMEOUT", 3612, "or a cancellation; the kill took 12 s"),
    (4200, 3600, 0, "TIMEOUT", 4200, "a kill may take ten minutes"),
    (4201, 3600, 0, "FAILED", 4201, "nobody killed it at its limit"),
    (79200, 72000, 5, "TIMEOUT", 79200, "or a tenth of a long limit"),
    (92340, 60, 0, "FAILED", 92340, "its site holds nobody to a limit"),
    (3600, 3600, -1, "TIMEOUT", 3600, "of unknown status, but it used all of its limit"),
    (3600, 3600, 1, "COMPLETED", 3600, "completed in its last second"),
    (3599, 3600, 0, "FAILED", 3599, "failed a second earlier"),
    (3599, 3600, 5, "CANCELLED", 3599, "cancelled"),
    (10, -1, 0, "FAILED", 10, "no limit to run into"),
    (10, 0, 0, "FAILED", 10, "0 is no limit"),
    (10, 60, -1, None, 10, "unknown"),
    (-1359980917, 3600, 1, "COMPLETED", None, "a run time below 0 is nonsense, and unknown"),
    (-2, 3600, 0, "FAILED", None, "that too"),
]


def test_a_job_that_ran_into_its_limit_ended_there_whatever_its_status(tmp_path: Path) -> None:
    rows = [
        f"{number} {number} 1 {run} 1 -1 -1 1 {limit} -1 {status} 1 1 1 1 1 -1 -1"
        for number, (run, limit, status, *_) in enumerate(ENDS, start=1)
    ]
    db = tmp_path / "trace.db"
    adminkit("import", swf(tmp_path / "ends.swf", "", *rows), "--cluster", "c", "--db", db)
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute("SELECT state, elapsed, end_time - start_time FROM job ORDER BY job_id_raw").fetchall()
    assert found == [(state, ran, ran) for *_, state, ran, _ in ENDS], "\n".join(why for *_, why in ENDS)


def test_what_is_below_0_is_unknown_in_each_field_that_counts(tmp_path: Path) -> None:
    db = tmp_path / "trace.db"
    path = swf(tmp_path / "t.swf", "", "7 100 -5 -5 -4 -3 -9 -8 -7 -6 1 1 1 1 1 1 -1 -1")
    adminkit("import", path, "--cluster", "c", "--db", db)
    unknown = "eligible_time - submit_time, start_time, end_time, elapsed, cpus, cpu_time, max_rss, req_cpus, req_mem"
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute(f"SELECT {unknown}, time_limit, limit_kind FROM job").fetchone()
    assert found == (0, *(None,) * 9, "unknown")


def test_a_trace_without_waits_is_the_same_trace_again(tmp_path: Path) -> None:
    rows = [row(number, wait=-1) for number in range(1, 4)]
    db, again = tmp_path / "trace.db", tmp_path / "again.db"
    adminkit("import", swf(tmp_path / "model.swf", "", *rows), "--cluster", "model", "--db", db)
    adminkit("export", tmp_path / "x.swf", "--db", db)
    lines = [line for line in (tmp_path / "x.swf").read_text().splitlines() if not line.startswith(";")]
    assert [line.split()[1:5] for line in lines] == [[f"{at}", "-1", "60", "4"] for at in (0, 100, 200)]
    adminkit("import", tmp_path / "x.swf", "--cluster", "model", "--db", again)
    with closing(sqlite3.connect(again)) as trace:
        assert trace.execute("SELECT count(*), sum(elapsed), max(end_time) FROM job").fetchone() == (3, 180, None)


def test_a_run_of_unknown_state_is_exported_with_an_unknown_state(tmp_path: Path) -> None:
    db = tmp_path / "trace.db"
    path = swf(tmp_path / "t.swf", "", "1 0 5 60 4 -1 -1 4 120 -1 -1 7 2 3 1 -1 -1 -1")
    adminkit("import", path, "--cluster", "c", "--db", db)
    adminkit("export", tmp_path / "x.swf", "--db", db)
    assert (tmp_path / "x.swf").read_text().splitlines()[-1].split()[10] == "-1"
