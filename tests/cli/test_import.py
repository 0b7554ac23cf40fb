"""`adminkit import`, as it is typed."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.typed import typed

ADMINKIT = Path(sys.executable).with_name("adminkit")
HEADER = "JobID|JobIDRaw|Cluster|Submit|Start|End|State|TimelimitRaw|Partition|AllocTRES|ReqMem|ReqCPUS|JobName"
TRES = "billing=8,cpu=8,gres/gpu=2,gres/gpu:a100=2,mem=64G,node=1"


def line(job: int, **cells: str) -> str:
    """One row under HEADER."""
    values = {
        "JobID": str(job), "JobIDRaw": str(job), "Cluster": "alpha", "Submit": "1700000000", "Start": "1700000010",
        "End": "1700003610", "State": "COMPLETED", "TimelimitRaw": "120", "Partition": "gq", "AllocTRES": TRES,
        "ReqMem": "64G", "ReqCPUS": "8", "JobName": "train",
    }  # fmt: skip
    return "|".join({**values, **cells}[name] for name in HEADER.split("|"))


def run(db: Path, *words: str | Path, code: int = 0, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """An import, by the installed program where it reads standard input."""
    command = ("import", *words, "--db", db)
    if "-" in words:
        done = subprocess.run([ADMINKIT, *command], input=stdin, capture_output=True, timeout=60)
        found = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    else:
        found = typed(*command)
    assert found.returncode == code, found.stderr
    return found


def jobs(db: Path, columns: str = "*") -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(f"SELECT {columns} FROM job ORDER BY cluster, job_id_raw, submit_time").fetchall()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "trace.db"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([HEADER, *(line(job) for job in range(1, 6))]) + "\n")
    return path


def test_what_was_read_is_counted_and_the_same_file_again_changes_nothing(db: Path, text: Path) -> None:
    assert run(db, text).stdout == "read 5, new 5, changed 0, unchanged 0, rejected 0\n"
    assert run(db, text).stdout == "read 5, new 0, changed 0, unchanged 5, rejected 0\n"
    assert len(jobs(db)) == 5


def test_the_counts_as_json(db: Path, text: Path) -> None:
    said = json.loads(run(db, text, "--format", "json").stdout)
    assert said["meta"] == {"database": str(db), "source": str(text)}
    assert (said["rows"][0]["rows"], said["rows"][0]["new"]) == (5, 5)


def test_a_file_into_an_existing_trace_adds_and_changes(db: Path, text: Path) -> None:
    run(db, text)
    text.write_text("\n".join([HEADER, line(5, State="TIMEOUT"), line(6), line(6, Submit="1700000001")]) + "\n")
    assert run(db, text).stdout == "read 3, new 2, changed 1, unchanged 0, rejected 0\n"


@pytest.mark.parametrize(
    ("column", "cell", "reads", "becomes", "why"),
    [
        ("State", "CANCELLED by 1000", "state, cancelled_by", ("CANCELLED", 1000), "who cancelled stands apart"),
        ("State", "NEWLY_INVENTED", "state", ("NEWLY_INVENTED",), "an unknown state is kept"),
        ("TimelimitRaw", "UNLIMITED", "time_limit, limit_kind", (None, "unlimited"), "no number"),
        ("TimelimitRaw", "Partition_Limit", "time_limit, limit_kind", (None, "partition"), "no number either"),
        ("TimelimitRaw", "2880", "time_limit, limit_kind", (172800, "finite"), "raw limits are minutes"),
        ("ReqMem", "3000Mc", "req_mem", (3000 * 2**20 * 8,), "per CPU until 21.08"),
        ("AllocTRES", "cpu=4,mem=4G,node=1,gres/gpu:a100=2", "gpus, gpu_type, mem", (2, "a100", 2**32), "typed only"),
        ("AllocTRES", "cpu=4,node=1", "gpus", (0,), "none, not unknown"),
        ("Start", "Unknown", "start_time", (None,), "never started"),
        ("End", "None", "end_time", (None,), "not over"),
        ("JobID", "40_7", "job_id, array_job, array_task", ("40_7", 40, 7), "an array task"),
        ("JobID", "40_[8-9%2]", "job_id, array_job, array_task", ("40_[8-9%2]", 40, None), "pending tasks share a row"),
        ("JobID", "40+1", "job_id, het_job, het_offset", ("40+1", 40, 1), "a het component"),
        ("JobName", "a|b||c", "job_name", ("a|b||c",), "delimiters go back where they came from"),
        ("JobName", "two\nlines", "job_name", ("two\nlines",), "a newline inside the last field"),
        ("JobName", "学習", "job_name", ("学習",), "UTF-8"),
        ("JobName", "'); DROP TABLE job; --", "job_name", ("'); DROP TABLE job; --",), "text is never SQL"),
    ],
)  # fmt: skip
def test_a_cell_becomes(
    db: Path, tmp_path: Path, column: str, cell: str, reads: str, becomes: tuple[object, ...], why: str
) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(f"{HEADER}\n{line(41, **{column: cell})}\n{line(42)}\n")
    run(db, path)
    assert jobs(db, reads)[0] == becomes, why
    assert len(jobs(db)) == 2, "its neighbour is there too"


def test_invalid_utf8_is_replaced_and_counted(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_bytes(f"{HEADER}\n{line(1)}".encode() + b"\xff\n")
    assert "1 with invalid UTF-8" in run(db, path).stdout
    assert jobs(db, "job_name") == [("train\ufffd",)]


def test_columns_in_another_order_with_trailing_delimiters(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text("state☃Submit☃JOBIDRAW☃jobid☃Cluster☃\nFAILED☃5☃9☃9☃beta☃\n")
    run(db, path)
    assert jobs(db, "cluster, job_id_raw, submit_time, state") == [("beta", 9, 5, "FAILED")]


def test_text_without_a_header_from_standard_input(db: Path) -> None:
    words = ("-", "--columns", "jobid,jobidraw,submit,-,state", "--cluster", "tiger")
    assert "read 2, new 2" in run(db, *words, stdin=b"1|1|5|x|FAILED\n2|2|6|y|TIMEOUT\n").stdout
    assert jobs(db, "cluster, state") == [("tiger", "FAILED"), ("tiger", "TIMEOUT")]


def test_a_packed_swf_trace(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "kth.swf.gz"
    rows = [
        "; UnixStartTime: 1000",
        "1 10 5 60 4 -1 -1 4 120 -1 1 7 2 3 1 -1 -1 -1 99 100",
        "2 20 -1 -1 -1 -1 -1 8 0 -1 5 -1 -1 -1 1 -1 -1 -1",
    ]
    path.write_bytes(gzip.compress("\n".join(rows).encode() + b"\n"))
    run(db, path, "--cluster", "kth")
    assert jobs(db, "submit_time, start_time, end_time, elapsed, time_limit, limit_kind, cpus, user, state") == [
        (1010, 1015, 1075, 60, 120, "finite", 4, "user7", "COMPLETED"),
        (1020, None, None, None, None, "unknown", None, None, "CANCELLED"),
    ]


def test_dates_are_read_in_the_zone_given(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(f"{HEADER}\n{line(1, Submit='2023-11-15T07:13:20')}\n")
    asked = run(db, path, code=2).stderr
    assert "the times are dates without a time zone" in asked and "--timezone" in asked
    assert not db.exists()
    assert "did you mean Asia/Tokyo?" in run(db, path, "--timezone", "Asia/Tokio", code=2).stderr
    run(db, path, "--timezone", "Asia/Tokyo")
    assert jobs(db, "submit_time") == [(1700000000,)]


def test_an_hour_that_occurs_twice_is_counted(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(f"{HEADER}\n{line(1, Submit='2023-10-29T02:30:00')}\n")
    assert "1 at ambiguous hours" in run(db, path, "--timezone", "Europe/Berlin").stdout
    assert jobs(db, "submit_time") == [(1698539400,)], "the first of the two, in summer time"


def test_what_cannot_be_read_is_set_aside_with_place_and_reason(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(f"{HEADER}\n{line(1)}\n{line(2, Submit='soon')}\n{line(3)}\nhalf|a|row\n{line(4)}\n")
    done = run(db, path, code=3)
    assert done.stdout == "read 5, new 3, changed 0, unchanged 0, rejected 2\n"
    assert "2 of 5 rows were rejected, more than --max-rejected 0.01" in done.stderr
    rows = json.loads(typed("trace", "rejected", "--db", db, "--format", "json").stdout)["rows"]
    assert [(row["line"], row["text"]) for row in rows] == [(3, line(2, Submit="soon")), (5, "half|a|row")]
    assert "Submit" in rows[0]["reason"] or "time" in rows[0]["reason"]
    run(db, path, "--max-rejected", "0.5")


def test_a_poorer_source_erases_nothing(db: Path, text: Path, tmp_path: Path) -> None:
    run(db, text)
    before = jobs(db)
    poor = tmp_path / "poor.txt"
    poor.write_text("JobID|JobIDRaw|Cluster|Submit\n1|1|alpha|1700000000\n")
    assert "unchanged 1" in run(db, poor).stdout
    assert jobs(db) == before


def test_steps_go_to_their_run(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(f"{HEADER}\n{line(7)}\n{line(7, JobID='7.batch', JobIDRaw='7.batch', Submit='1700000010')}\n")
    assert "read 2, new 1, changed 0, unchanged 0, rejected 0, 1 steps" in run(db, path).stdout
    with closing(sqlite3.connect(db)) as trace:
        assert trace.execute("SELECT job_id_raw, submit_time, step FROM step").fetchall() == [(7, 1700000000, "batch")]


@pytest.mark.parametrize(
    ("content", "words", "says", "code"),
    [
        (None, (), "couldn't open", 1),
        ("", (), "the input is empty", 2),
        ("no such thing\n", (), "the input is neither sacct text with a header nor SWF: 'no such thing'", 2),
        ("JobID|JobIDRaw|Submit\n1|1|5\n", (), "the rows name no cluster", 2),
        (f"{HEADER}\n{line(1)}\n", ("--columns", "jobid,jobidraw,submitt"), "did you mean Submit?", 2),
        (f"{HEADER}\n{line(1)}\n", ("--delimiter", ";"), "the first line is not a sacct header with delimiter ';'", 2),
    ],
)
def test_what_cannot_be_meant_is_answered_and_leaves_no_trace(
    db: Path, tmp_path: Path, content: str | None, words: tuple[str, ...], says: str, code: int
) -> None:
    path = tmp_path / "input"
    if content is not None:
        path.write_text(content)
    said = run(db, path, *words, code=code).stderr
    assert says in said
    assert [part.split(":")[0] for part in said.splitlines()] == ["error", "hint"]
    assert not list(tmp_path.glob("*trace*"))


def test_a_truncated_gzip_is_said_and_leaves_the_trace_as_it_was(db: Path, text: Path, tmp_path: Path) -> None:
    run(db, text)
    before = jobs(db)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress((HEADER + "\n" + "\n".join(line(n) for n in range(9, 9999))).encode())[:-5000])
    said = run(db, cut, code=1).stderr
    assert "couldn't read the input" in said and "nothing was written" in said
    assert jobs(db) == before


#: Those of the table job.
INDEXES = (
    "job_array job_db_index job_demo job_end job_gpu_parts job_key job_open job_req_gpu_parts job_requeued"
).split()


def indexes(db: Path) -> list[str]:
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute("SELECT name FROM sqlite_schema WHERE tbl_name = 'job' AND type = 'index' ORDER BY 1")
        return [name for (name,) in found]


@pytest.mark.parametrize("way", ["file", "pipe"])
def test_a_run_that_comes_twice_in_a_first_import_is_one_row_with_its_last_word(
    db: Path, tmp_path: Path, way: str
) -> None:
    path = tmp_path / "two-dumps.txt"
    rows = [line(1), line(2, State="RUNNING", End="Unknown"), line(3), line(9, Submit="soon"), line(2), line(3)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    said = run(db, path if way == "file" else "-", "--max-rejected", "1", stdin=path.read_bytes()).stdout
    assert said == "read 6, new 3, changed 1, unchanged 1, rejected 1\n"
    assert jobs(db, "job_id_raw, state, end_time") == [(job, "COMPLETED", 1700003610) for job in (1, 2, 3)]
    assert indexes(db) == INDEXES


def test_what_a_first_import_stored_is_known_again_by_its_text(db: Path, text: Path) -> None:
    """The same text is compared by its fingerprint, which must not depend on how the row got in."""
    run(db, text)
    before = jobs(db, "fingerprint")
    text.write_text(text.read_text() + line(6) + "\n")
    run(db, text)
    (tmp := text.with_name("other.db")).unlink(missing_ok=True)
    run(tmp, text.with_name("sacct.txt"))
    assert jobs(tmp, "fingerprint")[:5] == before
    assert jobs(db, "fingerprint") == jobs(tmp, "fingerprint")


def test_many_rows_into_a_small_trace_leave_every_index_in_place(db: Path, text: Path, tmp_path: Path) -> None:
    run(db, text)
    path = tmp_path / "many.txt"
    path.write_text("\n".join([HEADER, *(line(job, JobName=f"n{job}") for job in range(1, 15_001))]) + "\n")
    assert run(db, path).stdout == "read 15000, new 14995, changed 5, unchanged 0, rejected 0\n"
    assert indexes(db) == INDEXES
    with closing(sqlite3.connect(db)) as trace:
        assert trace.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_killed_in_the_middle_the_trace_is_whole_and_the_same_import_completes_it(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([HEADER, *(line(job) for job in range(1, 120_001))]) + "\n")
    for _ in range(4):
        process = subprocess.Popen([ADMINKIT, "import", path, "--db", db], process_group=0)
        time.sleep(0.7)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if db.exists():
            assert len(jobs(db, "1")) in (0, 120_000)
    run(db, path)
    assert len(jobs(db, "1")) == 120_000
    assert not list(tmp_path.glob(".trace.db.*.new*")), "what the killed runs left is gone"


def test_an_import_into_an_existing_trace_loads_no_pandas(db: Path, text: Path) -> None:
    run(db, text)
    script = (
        "import sys; from adminkit.cli.main import main; "
        f"code = main(['import', {str(text)!r}, '--db', {str(db)!r}]); "
        "print(code, sorted({'pandas', 'numpy', 'matplotlib', 'sqlite_utils'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_removed_trace_does_not_come_back_from_its_log(db: Path, text: Path, tmp_path: Path) -> None:
    run(db, text)
    with closing(sqlite3.connect(db)) as trace:
        trace.execute("PRAGMA wal_autocheckpoint = 0")
        trace.execute("INSERT INTO fact VALUES ('alpha', 'old', 'trace', 1)")
        trace.commit()
        log = db.with_name("trace.db-wal").read_bytes()
    assert log
    db.unlink()
    db.with_name("trace.db-wal").write_bytes(log)
    other = tmp_path / "other.txt"
    other.write_text(f"{HEADER}\n{line(77)}\n")
    run(db, other)
    assert jobs(db, "job_id_raw") == [(77,)]


def test_of_two_first_imports_at_once_neither_replaces_the_other(db: Path, tmp_path: Path) -> None:
    running = []
    for part in range(2):
        path = tmp_path / f"{part}.txt"
        numbers = range(1 + part * 20_000, 1 + (part + 1) * 20_000)
        path.write_text("\n".join([HEADER, *(line(n) for n in numbers)]) + "\n")
        running.append((path, subprocess.Popen([ADMINKIT, "import", path, "--db", db], stderr=subprocess.PIPE)))
    for path, process in running:
        _, said = process.communicate()
        if process.returncode:
            assert b"another run made" in said and b"run the same command again" in said
            run(db, path)
    assert jobs(db, "count(*)") == [(40_000,)]


@pytest.mark.parametrize(("at", "why"), [(30, "in what is looked at first"), (400_000, "in the middle")])
def test_a_damaged_gzip_is_said_and_nothing_hangs(db: Path, tmp_path: Path, at: int, why: str) -> None:
    pick = random.Random(1)
    names = (f"{pick.getrandbits(200):x}" for _ in range(20_000))
    packed = bytearray(gzip.compress("\n".join([HEADER, *(line(n, JobName=s) for n, s in enumerate(names))]).encode()))
    packed[at : at + 40] = b"\xff" * 40
    path = tmp_path / "bad.gz"
    path.write_bytes(packed)
    said = run(db, path, code=1).stderr
    assert said.startswith("error: ") and "nothing was written" in said, why
    assert not list(tmp_path.glob("*trace*")) and not list(tmp_path.glob(".trace*"))


def test_a_pipe_whose_reader_is_killed_commits_nothing(db: Path, text: Path) -> None:
    run(db, text)
    feeding, fed = os.pipe()
    process = subprocess.Popen([ADMINKIT, "import", "-", "--db", db], stdin=feeding, stdout=subprocess.DEVNULL)
    os.close(feeding)
    with os.fdopen(fed, "wb") as source:
        source.write(("\n".join([HEADER, *(line(n) for n in range(100, 9000))]) + "\n").encode())
        source.flush()
        time.sleep(1.5)
        process.kill()
        process.wait()
    time.sleep(0.5)
    assert len(jobs(db)) == 5


def test_a_row_without_a_cluster_is_set_aside(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(f"{HEADER}\n{line(1, Cluster='')}\n{line(2)}\n")
    assert "new 1, changed 0, unchanged 0, rejected 1" in run(db, path, code=3).stdout
    assert "new 1, changed 0, unchanged 1, rejected 0" in run(db, path, "--cluster", "tiger").stdout
    assert jobs(db, "cluster, job_id_raw") == [("alpha", 2), ("tiger", 1)]


def test_imported_steps_fill_the_peaks_of_their_run(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    cells = [f"{line(7)}|", f"{line(7, JobID='7.0', JobIDRaw='7.0')}|3G", f"{line(7, JobID='7.1', JobIDRaw='7.1')}|1G"]
    path.write_text("\n".join([f"{HEADER}|MaxRSS", *cells]) + "\n")
    run(db, path)
    assert jobs(db, "max_rss") == [(3 * 2**30,)]


@pytest.mark.parametrize(("suffix", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_text_that_is_packed_otherwise_is_unpacked_too(
    db: Path, text: Path, tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"sacct.txt.{suffix}"
    path.write_bytes(pack(text.read_bytes()))
    assert "read 5, new 5" in run(db, path).stdout
    path.write_bytes(b"no such thing")
    assert "is damaged" in run(db, path, code=1).stderr


def test_text_that_another_program_unpacks_is_named_with_it(db: Path, tmp_path: Path) -> None:
    said = run(db, tmp_path / "sacct.txt.zst", code=2).stderr
    assert "hint: zstd -dc" in said and "| adminkit import -" in said


def test_a_packed_file_with_nothing_but_a_header_has_no_rows(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.gz"
    path.write_bytes(gzip.compress(f"{HEADER}\n".encode()))
    assert run(db, path).stdout == "read 0, new 0, changed 0, unchanged 0, rejected 0\n"


def test_times_are_what_their_offsets_say(db: Path, tmp_path: Path) -> None:
    times = ("2024-03-05T07:00:00+0100", "2024-03-05T07:00:00+01:00", "2024-03-05T07:00:00Z", "2024-03-05T07:00:00")
    rows = [line(job, Submit=at, Start=at, End=at) for job, at in enumerate(times, start=1)]
    path = tmp_path / "offsets.txt"
    path.write_text("\n".join([HEADER, *rows, line(9, Submit="05 Mar 07:00")]) + "\n")
    run(db, path, code=3)
    assert jobs(db, "submit_time") == [(1709618400,), (1709618400,), (1709622000,)]
    with closing(sqlite3.connect(db)) as trace:
        reasons = [reason for (reason,) in trace.execute("SELECT reason FROM rejected ORDER BY line")]
    assert reasons == ["column 4 (time): local time, but no --timezone", "column 4 (time): malformed"]
    run(db, path, "--timezone", "America/New_York", "--max-rejected", "1")
    assert jobs(db, "submit_time")[3:] == [(1709640000,)], "only a time that names no zone takes --timezone's"


def test_a_byte_order_mark_is_no_part_of_the_header(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "bom.txt"
    path.write_text("\n".join([HEADER, line(1)]) + "\n", encoding="utf-8-sig")
    assert run(db, path).stdout.startswith("read 1, new 1")
    assert run(db, "-", stdin=path.read_bytes()).stdout.startswith("read 1, new 0, changed 0, unchanged 1")


def waits(db: Path) -> str:
    """What `report wait` says, as of the moment after the last end."""
    ((last,),) = jobs(db, "max(end_time)")
    return typed("report", "wait", "--db", db, "--as-of", f"@{last + 1}").stdout


def test_without_the_moment_of_eligibility_jobs_wait_from_their_submission(
    db: Path, text: Path, tmp_path: Path
) -> None:
    said = run(db, text).stderr
    assert "there is no column Eligible: waits count from the submission" in said
    assert set(jobs(db, "start_time - eligible_time")) == {(10,)}
    assert "were imported without Eligible: their waits count from" in waits(db), "also in a trace as of another day"
    richer = tmp_path / "richer.txt"
    richer.write_text("\n".join([f"{HEADER}|Eligible", *(f"{line(job)}|1700000004" for job in range(1, 6))]) + "\n")
    assert "Eligible" not in run(db, richer).stderr
    run(db, text)
    assert set(jobs(db, "start_time - eligible_time")) == {(6,)}, "the poorer file erases nothing"


def test_rows_of_text_that_share_a_key_and_are_two_runs_stop_the_import(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "shared.txt"
    path.write_text("\n".join([HEADER, line(7, JobID="7_1"), line(7, JobID="7_2")]) + "\n")
    for way in ([path], ["-"]):
        done = run(db, *way, code=1, stdin=path.read_bytes())
        assert "two rows have the key of job 7, submitted at 1700000000" in done.stderr
    assert not db.exists()


LATER = [  # what a second file has of run 7, task 1 of an array; whether it is refused, why
    ({"JobID": "7_2"}, True, "another task of the array"),
    ({"User": "max", "Start": "1700000100", "End": "1700000900"}, True, "another user, start and end"),
    ({"User": "max"}, False, "a name that was corrected"),
    ({"Start": "1700000100", "End": "1700000900"}, False, "times that were corrected"),
    ({"JobID": "7_[1-9]"}, False, "tasks that never started have names of several kinds"),
    ({"JobID": "7_2", "End": "Unknown"}, False, "a run that goes on is no second one"),
]


@pytest.mark.parametrize(("more", "refused", "why"), LATER)
def test_a_run_of_another_file_does_not_overwrite_one_that_is_stored(
    db: Path, tmp_path: Path, more: dict[str, str], refused: bool, why: str
) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    other, user = line(7, **{"JobID": "7_1", **more}), more.get("User", "ann")
    first.write_text("\n".join([f"{HEADER}|User", f"{line(7, JobID='7_1')}|ann"]) + "\n")
    second.write_text("\n".join([f"{HEADER}|User", f"{line(6)}|ann", f"{other}|{user}"]) + "\n")
    run(db, first)
    done = run(db, second, code=1 if refused else 0)
    if refused:
        assert "the trace already has another job 7 of this cluster, also submitted at 1700000000" in done.stderr, why
    assert jobs(db, "count(*)") == [(1 if refused else 2,)], why


def test_a_run_that_went_on_from_snapshot_to_snapshot_is_one_run(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "days.txt"
    waits = line(7, JobID="7_[1-9]", State="PENDING", Start="Unknown", End="Unknown")
    runs = line(7, JobID="7_9", State="RUNNING", End="Unknown")
    path.write_text("\n".join([HEADER, waits, runs, line(7, JobID="7_9"), line(7, JobID="7_9")]) + "\n")
    assert "read 4, new 1, changed 2, unchanged 1" in run(db, path).stdout
    assert jobs(db, "job_id, state") == [("7_9", "COMPLETED")]


def test_a_header_without_a_row_says_so(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "header.txt"
    path.write_text(HEADER + "\n")
    done = run(db, path)
    assert done.stdout.startswith("read 0, ") and "a header and no rows; sacct -a" in done.stderr
