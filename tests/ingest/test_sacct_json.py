"""`sacct --json` of each release gives the rows that sacct's text would give."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

import pytest

from adminkit.errors import AdminkitError
from adminkit.ingest.files import Import, import_file, import_stream
from adminkit.ingest.sources.sacct_json import FIELDS, JsonText

TEXT: Final = """JobID|JobIDRaw|Cluster|Submit|User|Account|Partition|QOS|State|Reason|ExitCode|Eligible|Start|End|\
ElapsedRaw|TimelimitRaw|ReqCPUS|NNodes|AllocTRES|NodeList|TotalCPU|Flags|JobName
77|77|oak|1700000000|max|acc|std|normal|COMPLETED|None|0:0|1700000000|1700000100|1700003700|3600|120|4|1|\
cpu=4,mem=8192M,node=1,gres/gpu=2,gres/gpu:a100=2|n1|01:30.250|SchedBackfill|a|b
70_3|78|oak|1700000000|max|acc|std|normal|CANCELLED|None|1:9|1700000000|1700000100|1700000200|100|UNLIMITED|4|1|\
cpu=4,mem=8192M,node=1|n1|1.000|SchedMain|t
79|79|oak|1700000000|max|acc|std|normal|PENDING|Resources||1700000000|Unknown|Unknown|0|Partition_Limit|4|1|||||t
"""


def plain(value: int | None) -> Any:
    """A number as 22.05 writes it."""
    return value


def boxed(value: int | None) -> Any:
    """The same since 23.02."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


def tres(*amounts: tuple[str, str, int]) -> list[dict[str, Any]]:
    return [{"type": kind, "name": name, "id": 1, "count": count} for kind, name, count in amounts]


def document(number: Callable[[int | None], Any], state: Callable[[str], Any], signal: str) -> dict[str, Any]:
    """The jobs of TEXT."""

    def job(raw: int, word: str, reason: str, **more: Any) -> dict[str, Any]:
        return {
            "account": "acc", "job_id": raw, "user": "max", "cluster": "oak", "partition": "std", "qos": "normal",
            "name": "t", "state": {"current": state(word), "reason": reason}, "array": {"job_id": 0}, "flags": [],
            "allocation_nodes": 1, "required": {"CPUs": 4}, "steps": [], "nodes": "n1", "association": {}, **more,
        }  # fmt: skip

    size = (("cpu", "", 4), ("mem", "", 8192), ("node", "", 1))
    clock = {"submission": 1700000000, "eligible": 1700000000, "start": 1700000100}
    done = job(
        77, "COMPLETED", "None", name="a|b", flags=["STARTED_ON_BACKFILL"],
        time={**clock, "end": 1700003700, "elapsed": 3600, "limit": number(120),
              "total": {"seconds": 90, "microseconds": 250000}},
        exit_code={"status": "SUCCESS", "return_code": number(0)},
        tres={"allocated": tres(*size, ("gres", "gpu", 2), ("gres", "gpu:a100", 2))},
    )  # fmt: skip
    killed = job(
        78, "CANCELLED", "None", flags=["STARTED_ON_SCHEDULE"], array={"job_id": 70, "task_id": number(3)},
        time={**clock, "end": 1700000200, "elapsed": 100, "limit": {"set": True, "infinite": True, "number": 0},
              "total": {"seconds": 1, "microseconds": 0}},
        exit_code={"status": "SIGNALED", "return_code": number(1), "signal": {signal: number(9)}},
        tres={"allocated": tres(*size)},
    )  # fmt: skip
    waits = job(
        79, "PENDING", "Resources", nodes="None assigned",
        time={**clock, "start": 0, "end": 0, "elapsed": 0, "limit": number(None)}, tres={"allocated": []},
    )  # fmt: skip
    return {"meta": {"Slurm": {"version": {"major": 24}}}, "jobs": [done, killed, waits], "errors": [], "warnings": []}


def unknown(path: Path) -> None:
    """The limit of the job that waits."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE job SET limit_kind = 'unknown' WHERE job_id_raw = 79")


RELEASES = [
    (plain, str, "signal_id", "22.05"),
    (boxed, str, "signal_id", "23.02"),
    (boxed, lambda word: [word], "id", "24.05 to 26.05"),
]


def stored(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        names = [f'"{row[1]}"' for row in db.execute("PRAGMA table_info(job)") if row[1] not in ("fingerprint",)]
        return db.execute(f"SELECT {', '.join(names)} FROM job ORDER BY job_id_raw").fetchall()


@pytest.mark.parametrize(("number", "state", "signal", "release"), RELEASES)
def test_json_gives_the_rows_of_the_text(
    tmp_path: Path, number: Callable[[int | None], Any], state: Callable[[str], Any], signal: str, release: str
) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    import_file(Import(tmp_path / "text.txt", tmp_path / "text.db"), 0)
    written = json.dumps(document(number, state, signal), indent=1)
    (tmp_path / "a.json").write_text(written)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(written.encode()))
    for name in ("a.json", "a.json.gz"):
        wanted = Import(tmp_path / name, tmp_path / f"{name}.db")
        counts = import_file(wanted, 0)[0]
        assert (counts.new, counts.rejected) == (3, 0), release
        again = import_file(replace(wanted), 0)[0]
        assert (again.new, again.changed) == (0, 0), release
        rows = [tuple(None if value == 0 else value for value in row) for row in stored(tmp_path / f"{name}.db")]
        if release == "22.05":  # has null for the queue's limit and for none
            unknown(tmp_path / "text.db")
        expected = [tuple(None if value == 0 else value for value in row) for row in stored(tmp_path / "text.db")]
        assert rows == expected, release


def test_steps_become_steps(tmp_path: Path) -> None:
    given = document(boxed, str, "id")
    given["jobs"][0]["steps"] = [
        {"step": {"id": "77.batch", "name": "batch"}, "state": ["COMPLETED"], "tasks": {"count": 1},
         "nodes": {"count": 1}, "time": {"start": boxed(1700000100), "end": boxed(1700003700), "elapsed": 3600,
                                         "total": {"seconds": 5, "microseconds": 500000}},
         "tres": {"requested": {"max": tres(("mem", "", 4096)), "total": tres(("cpu", "", 5500), ("mem", "", 8192))}}},
        {"step": {"id": {"job_id": 77, "step_id": "0"}, "name": "srun"}, "state": ["FAILED"]},
    ]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(given))
    assert import_file(Import(tmp_path / "a.json", tmp_path / "t.db"), 0)[0].steps_new == 2
    with closing(sqlite3.connect(tmp_path / "t.db")) as db:
        columns = "step, step_name, state, tasks, elapsed, cpu_time, max_rss, mem_used"
        assert db.execute(f"SELECT {columns} FROM step ORDER BY step DESC").fetchall() == [
            ("batch", "batch", "COMPLETED", 1, 3600, 5.5, 4096, 8192),
            ("0", "srun", "FAILED", None, None, None, None, None),
        ]


def rows_of(*jobs: dict[str, Any]) -> list[dict[str, str]]:
    text = JsonText(io.BytesIO(json.dumps({"jobs": jobs}).encode()), b"").read().decode()
    return [dict(zip(FIELDS, line.split("\x1f"), strict=True)) for line in text.splitlines()]


OF_A_RELEASE = [  # what a job or its step has, a column, its text, why
    ({"state": {"current": "FAILED"}, "exit_code": {"return_code": 0}}, "ExitCode", "", "0 stands for every exit"),
    ({"state": {"current": "COMPLETED"}, "exit_code": {"return_code": 0}}, "ExitCode", "0:0", "success is 0"),
    ({"derived_exit_code": {"return_code": 0}}, "DerivedExitCode", "", "0 stands for every exit of the steps"),
    ({"state": {"current": "FAILED"}, "exit_code": {"return_code": None, "signal": {"signal_id": 11}}}, "ExitCode",
     "0:11", "a signal is known"),
    ({"state": {"current": "FAILED"}, "exit_code": {"return_code": boxed(0)}}, "ExitCode", "0:0", "later releases"),
    ({"time": {"limit": None}}, "TimelimitRaw", "", "none at all, or the queue's"),
    ({"time": {"limit": boxed(None)}}, "TimelimitRaw", "Partition_Limit", "later releases tell them apart"),
    ({"job_id": 9, "array": {"job_id": 9, "task": "0x6"}}, "JobID", "9_[1-2]", "bits of tasks"),
    ({"job_id": 9, "array": {"job_id": 9, "task": "0xAA", "limits": {"max": {"running": {"tasks": 2}}}}}, "JobID",
     "9_[1,3,5,7%2]", "at most two at a time"),
    ({"job_id": 9, "array": {"job_id": 9, "task": "1-3,7"}}, "JobID", "9_[1-3,7]", "later releases"),
    ({"state": {"current": "CANCELLED"}, "kill_request_user": "root"}, "State", "CANCELLED by 0", "root is 0"),
    ({"state": {"current": ["PENDING", "REQUEUED"]}}, "State", "REQUEUED", "a run that was put back does not wait"),
    ({"state": {"current": ["PENDING", "REVOKED"]}}, "State", "REVOKED", "a sibling of another cluster's"),
    ({"state": {"current": ["RUNNING", "COMPLETING"]}}, "State", "COMPLETING", "as the text"),
    ({"state": {"current": ["TIMEOUT"]}}, "State", "TIMEOUT", "one word"),
    ({"state": {"current": []}}, "State", "", "unknown"),
    ({"state": {"current": "CANCELLED"}, "kill_request_user": "ann"}, "State", "CANCELLED", "a name without its uid"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "column", "text", "why"), OF_A_RELEASE)
def test_what_a_release_writes_in_its_own_way(job: dict[str, Any], column: str, text: str, why: str) -> None:
    assert rows_of(job)[0][column] == text, why


STEPS = [({"id": "batch"}, "7.batch"), ({"id": 0}, "7.0"), ({"id": "7.extern"}, "7.extern"), ({"id": "7.3"}, "7.3"),
         ({"id": {"job_id": 7, "step_id": "BATCH"}}, "7.batch")]  # fmt: skip


@pytest.mark.parametrize(("step", "text"), STEPS)
def test_a_step_has_its_name(step: dict[str, Any], text: str) -> None:
    assert rows_of({"job_id": 7, "steps": [{"step": step}]})[1]["JobID"] == text


class Slow(io.BytesIO):
    """A pipe that gives a few bytes at a time."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size if size and size > 0 else 7, 7))


def test_a_job_is_read_wherever_the_input_is_cut(tmp_path: Path) -> None:
    written = json.dumps(document(boxed, str, "id"), ensure_ascii=False).encode()
    whole = JsonText(io.BytesIO(written), b"").read()
    assert whole.count(b"\n") == 3
    stream: IO[bytes] = Slow(written)
    assert JsonText(stream, b"").read() == whole


HOSTILE = [  # a job's name, how many rows, why
    ("x\n9|9|oak|1700000000", 3, "a line of its own is no row"),
    ("\x1f9\x1f9\x1foak\x1f1700000000", 3, "a delimiter of ours makes no column"),
    ("JobID\x1fJobIDRaw\x1fSubmit", 3, "nor a header"),
    ("a\0b", 3, "a NUL"),
]


@pytest.mark.parametrize(("name", "rows", "why"), HOSTILE)
def test_a_name_makes_neither_row_nor_column(tmp_path: Path, name: str, rows: int, why: str) -> None:
    given = document(boxed, str, "id")
    given["jobs"][0]["name"] = name
    wanted = Import(None, tmp_path / "t.db")
    counts = import_stream(wanted, io.BytesIO(json.dumps(given).encode()), 0)[0]
    assert (counts.new, counts.rejected) == (rows, 0), why


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"partitions": []}', 'no list "jobs"'),
        ('{"jobs": [{"job_id": 7', "ends within"),
        ('{"jobs": [{"job_id": 7}, nonsense', "ends within"),
    ],
)
def test_what_is_no_whole_answer_is_refused_with_another_way(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(AdminkitError, match=said):
        import_file(Import(tmp_path / "a.json", tmp_path / "t.db", "oak"), 0)
    assert not (tmp_path / "t.db").exists()
