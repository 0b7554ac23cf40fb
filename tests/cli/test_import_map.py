"""`adminkit import --map`: job tables of any columns and units."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.cli.import_ import _complete_map
from adminkit.cli.main import main
from adminkit.ingest.sources.mapping import shipped

MAP = """
zone = "UTC"
[fields]
job_id_raw = "id"
user = "who"
queue = "pool"
job_name = "name"
state = "how"
submit_time = "at"
start_time = { sum = ["submit_time", { column = "waited", unit = "minutes" }] }
end_time = { sum = ["start_time", "elapsed"] }
elapsed = { column = "ran", unit = "hours" }
time_limit = { column = "limit", unit = "clock" }
mem = { column = "mem", unit = "GiB" }
account = { constant = "physics" }
[states]
done = "COMPLETED"
late = "TIMEOUT"
"""
HEADER = ["id", "who", "pool", "name", "how", "at", "waited", "ran", "limit", "mem", "spare"]
ROW = {"who": "ada", "pool": "gq", "name": "train", "how": "done", "at": "2024-03-05 07:00:00", "waited": "2",
       "ran": "1.5", "limit": "02:00:00", "mem": "0.5", "spare": "x"}  # fmt: skip


@pytest.fixture(autouse=True)
def plain(no_settings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(MAP)


def table(*rows: dict[str, object], header: Sequence[str] = HEADER, delimiter: str = ",") -> str:
    """A CSV file; `rows` say what is not as in ROW, or less common."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    for number, row in enumerate(rows, start=1):
        writer.writerow([{"id": number, **ROW, **row}.get(name, "") for name in header])
    return out.getvalue()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """run(text or Path, …options) imports into t.db and returns what was printed; code=N is the exit code."""

    def run(source: str | bytes | Path, *words: str, code: int = 0, map: str = "my.toml", cluster: str = "c") -> str:
        path = source if isinstance(source, Path) else Path("jobs.csv")
        if not isinstance(source, Path):
            path.write_bytes(source.encode("utf-8", "surrogateescape") if isinstance(source, str) else source)
        options = ["--cluster", cluster] if cluster else []
        said = main(["import", str(path), "--db", "t.db", "--map", map, *options, *words])
        out = capsys.readouterr()
        assert said == code, out.err
        return out.out + out.err

    return run


def jobs(columns: str = "*") -> list[tuple[object, ...]]:
    with closing(sqlite3.connect("t.db")) as db:
        return db.execute(f"SELECT {columns} FROM job ORDER BY cluster, job_id_raw").fetchall()


def rejected() -> list[tuple[int, str, bytes]]:
    with closing(sqlite3.connect("t.db")) as db:
        return db.execute("SELECT line, reason, raw FROM rejected ORDER BY line").fetchall()


def test_columns_units_times_and_states_become_a_jobs(run: Callable[..., str]) -> None:
    assert "read 1, new 1, changed 0, unchanged 0, rejected 0" in run(table({}))
    assert jobs(
        "cluster, job_id_raw, job_id, user, account, queue, job_name, state, submit_time, start_time, end_time,"
        " elapsed, time_limit, limit_kind, mem"
    ) == [("c", 1, "1", "ada", "physics", "gq", "train", "COMPLETED", 1709622000, 1709622120, 1709627520, 5400, 7200,
           "finite", 2**29)]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reads", "becomes", "why"),
    [
        ({"limit": ""}, "time_limit, limit_kind", (None, "unknown"), "no limit is known"),
        ({"limit": "UNLIMITED"}, "time_limit, limit_kind", (None, "unlimited"), "no limit"),
        ({"how": "CANCELLED by 1000"}, "state, cancelled_by", ("CANCELLED", 1000), "who cancelled stands apart"),
        ({"how": ""}, "state, cancelled_by", (None, None), "unknown"),
        ({"ran": "NaN"}, "elapsed, end_time, start_time", (None, None, 1709622120), "what is summed is unknown"),
        ({"who": "a,b\n2,eve,gq,\"x"}, "user", ("a,b\n2,eve,gq,\"x",), "a cell makes no row and no column"),
        ({"name": "'); DROP TABLE job; --"}, "job_name", ("'); DROP TABLE job; --",), "text is never SQL"),
        ({"name": "\x1f\x1b[31m|"}, "job_name", ("\x1f\x1b[31m|",), "nor a delimiter of ours"),
        ({"name": "学習"}, "job_name", ("学習",), "UTF-8"),
    ],
)  # fmt: skip
def test_a_cell_becomes(
    run: Callable[..., str], changes: dict[str, object], reads: str, becomes: tuple[object, ...], why: str
) -> None:
    run(table(changes, {}))
    assert jobs(reads)[0] == becomes, why
    assert len(jobs()) == 2, "its neighbour is there too"


def test_the_same_table_again_changes_nothing_and_a_changed_one_is_brought_up_to_date(run: Callable[..., str]) -> None:
    run(table(*[{}] * 2500))
    before = jobs()
    assert "read 2500, new 0, changed 0, unchanged 2500" in run(table(*[{}] * 2500))
    assert jobs() == before
    rows: list[dict[str, object]] = [{}] * 2500
    rows[1200] = {"how": "late"}
    assert "read 2502, new 2, changed 1, unchanged 2499" in run(table(*rows, {}, {}))
    assert jobs("state")[1200] == ("TIMEOUT",)


def test_rows_of_one_key_stop_the_import_and_nothing_is_stored(run: Callable[..., str]) -> None:
    said = run(table({"id": 1}, {"id": 7}, {"id": 2}, {"id": 7, "how": "late"}), code=1)
    assert "lines 3 and 5 are different rows with the same job_id_raw and submit_time" in said
    assert "2 of 4 rows" in said and "{ row = 1 }" in said and not Path("t.db").exists()
    run(table({"id": 1}))
    before = jobs()
    run(table({"id": 7}, {"id": 7, "how": "late"}), code=1)
    assert jobs() == before, "of a trace that is there nothing changes either"


@pytest.mark.parametrize(
    ("changes", "code", "why"),
    [
        ({"who": "eve", "waited": "9", "ran": "3"}, 1, "another user, start and end: another table's job"),
        ({"who": "eve"}, 0, "a name that was corrected"),
        ({"waited": "9", "ran": "3"}, 0, "times that were corrected"),
    ],
)
def test_a_row_of_another_table_does_not_overwrite_a_job_that_is_stored(
    run: Callable[..., str], changes: dict[str, object], code: int, why: str
) -> None:
    run(table({"id": 7}, {"id": 8}))
    before = jobs()
    said = run(table({"id": 6}, {"id": 7, **changes}), code=code)
    if code:
        assert "the trace already has another job 7 of this cluster" in said and jobs() == before, why
    else:
        assert "new 1, changed 1" in said, why


def test_a_row_that_comes_again_word_for_word_is_counted(run: Callable[..., str]) -> None:
    assert "read 3, new 1, changed 0, unchanged 2, rejected 0, 2 repeated word for word" in run(table(*[{"id": 7}] * 3))


def test_the_task_of_an_array_is_part_of_its_key(run: Callable[..., str]) -> None:
    Path("arr.toml").write_text(MAP.replace('job_id_raw = "id"', 'job_id_raw = "id"\narray_task = "task"'))
    header = [*HEADER, "task"]
    text = table({"id": 7, "task": 1}, {"id": 7, "task": 2}, {"id": 8}, {"id": 9, "task": 0}, header=header)
    assert "read 4, new 4, changed 0, unchanged 0" in run(text, map="arr.toml")
    rows = jobs("job_id, array_job, array_task")
    assert sorted(rows, key=str) == [("7_1", 7, 1), ("7_2", 7, 2), ("8", None, None), ("9_0", 9, 0)]
    numbers = [number for (number,) in jobs("job_id_raw")]
    assert 8 in numbers and len(set(numbers)) == 4 and max(numbers) < 2**53
    assert "new 0, changed 0, unchanged 4" in run(text, map="arr.toml"), "the same keys again"


JOINS = [  # what the map says of the key, the rows' ids and names, the job ids, why
    ('{ join = ["id", "name"] }', [("a", "x"), ("a", "y")], ["a_x", "a_y"], "words as well as numbers"),
    ('{ join = ["id", "name"] }', [(7, "1_2"), ("7_1", 2)], ["7_1_2", "7_1_2"], "the cells, not what they look like"),
    ('{ join = ["id", "name"] }', [(7, ""), (7, 1)], ["7", "7_1"], "a second cell that says nothing"),
    ("{ row = 1 }", [(7, "x"), (7, "x")], ["1", "2"], "numbers"),
]


@pytest.mark.parametrize(("key", "rows", "ids", "why"), JOINS)
def test_a_key_is_made_of_several_columns(
    run: Callable[..., str], key: str, rows: list[tuple[object, object]], ids: list[str], why: str
) -> None:
    Path("key.toml").write_text(MAP.replace('job_id_raw = "id"', f"job_id_raw = {key}"))
    assert "new 2" in run(table(*({"id": id, "name": name} for id, name in rows)), map="key.toml"), why
    assert sorted(str(id) for (id,) in jobs("job_id")) == sorted(ids), why


def test_without_a_first_part_there_is_no_key(run: Callable[..., str]) -> None:
    Path("key.toml").write_text(MAP.replace('job_id_raw = "id"', 'job_id_raw = { join = ["id", "name"] }'))
    run(table({"id": "", "name": "x"}), map="key.toml", code=3)
    assert [reason for _, reason, _ in rejected()] == ["job_id_raw is unknown, so the row has no key"]


RELATIVE = [  # settings, submit, start, times in the trace, why
    ("", 0, 0, (0, 0, 100), "second 0 of a relative trace is a time"),
    ("", 5, 0, (5, None, None), "elsewhere a 0 says nothing"),
    ("", 0, "", (0, None, None), "unknown"),
    ("second_0 = 1600000000", 0, 7, (1600000000, 1600000007, 1600000107), "a clock that began then"),
    ("second_0 = 1600000000", 5, 0, (1600000005, 1600000000, 1600000100), "whose 0 is a time"),
    ('second_0 = "2020-09-13 12:26:40"', 1, 2, (1600000001, 1600000002, 1600000102), "a date in the map's zone"),
    ("second_0 = 2020-09-13T14:26:40+02:00", 1, 2, (1600000001, 1600000002, 1600000102), "a date of TOML's"),
]


@pytest.mark.parametrize(("setting", "submit", "start", "times", "why"), RELATIVE)
def test_a_clock_may_begin_at_second_0(
    run: Callable[..., str], setting: str, submit: object, start: object, times: tuple[object, ...], why: str
) -> None:
    Path("rel.toml").write_text(
        f'time = "epoch"\nzone = "UTC"\n{setting}\n[fields]\njob_id_raw = {{ row = 1 }}\nsubmit_time = "at"\n'
        'start_time = "name"\nelapsed = { column = "ran", unit = "seconds" }'
    )
    run(table({"at": submit, "name": start, "ran": 100}), map="rel.toml")
    assert jobs("submit_time, start_time, end_time") == [times], why


def test_a_run_without_start_and_state_ended_and_its_state_is_unknown(
    run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rel.toml").write_text(
        'time = "epoch"\n[fields]\njob_id_raw = { row = 1 }\nsubmit_time = "at"\n'
        'elapsed = { column = "ran", unit = "seconds" }'
    )
    run(table({"at": 0, "ran": 100}, {"at": 5, "ran": 200}), map="rel.toml")
    assert jobs("submit_time, eligible_time, elapsed, state") == [(0, None, 100, None), (5, None, 200, None)]
    assert main(["report", "states", "--db", "t.db", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"][0]["jobs"], said["rows"][0]["other"]) == (2, 2)
    assert said["meta"]["excluded"]["open"] == 0


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ('start_time = "name"', True),
        ('end_time = "name"\nelapsed = { column = "ran", unit = "hours" }', True),
        ('elapsed = { column = "ran", unit = "hours" }', False),
        ('start_time = "name"\neligible_time = "at"', False),
    ],
)
def test_waits_that_count_from_the_submission_are_said(
    run: Callable[..., str], capsys: pytest.CaptureFixture[str], times: str, told: bool
) -> None:
    Path("w.toml").write_text(f'zone = "UTC"\n[fields]\njob_id_raw = "id"\nsubmit_time = "at"\n{times}')
    said = run(table({"name": "2024-03-05 09:00:00"}), map="w.toml")
    assert ("waits count from the submission" in said) == told
    assert main(["report", "wait", "--db", "t.db"]) == 0
    assert ("jobs of c were imported without Eligible" in capsys.readouterr().out) == told


FOLLOWS = [  # fields of the map, cells, columns, values, why
    ('start_time = "name"\nend_time = "pool"', {}, "elapsed", None, "an end before the start is nonsense, not 0 s"),
    ('start_time = "name"\nelapsed = { column = "limit", unit = "clock" }', {}, "end_time - start_time", 7200,
     "the end from start and run time"),
    ('start_time = "name"\nelapsed = { column = "limit", unit = "clock" }\nstate = "how"', {"how": "RUNNING"},
     "end_time", None, "but of a run that goes on"),
    ('end_time = "name"\nelapsed = { column = "limit", unit = "clock" }', {}, "end_time - start_time", 7200,
     "the start from end and run time"),
    ('start_time = "name"', {}, "eligible_time - submit_time", 0, "a wait from the submission"),
    ('start_time = "name"\neligible_time = "who"', {"who": ""}, "eligible_time", None, "unless the map has the moment"),
    ('cpu_time = { sum = ["waited", { column = "ran", unit = "minutes" }] }', {}, "cpu_time", 92.0,
     "CPU time of user and system, 2 s and 1.5 min"),
    ('cpu_time = { sum = ["waited", "spare"] }', {"spare": ""}, "cpu_time", None, "one of which is unknown"),
    ('cpus = { column = "spare", unit = "thousandths" }', {"spare": 6000}, "cpus", 6, "parts of a CPU"),
    ('cpus = { column = "spare", unit = "hundredths" }', {"spare": 250}, "cpus", 3, "a part takes a whole one"),
]  # fmt: skip


SIZES = [  # text of TRES, cpus, mem, nodes, gpus, gpu_type, gpu_parts, why
    ("cpu=8,mem=64G,node=2,gres/gpu=4,gres/gpu:a100=4", 8, 64 << 30, 2, 4, "a100", None, "as sacct writes them"),
    ("billing=8,cpu=8,mem=1000M,node=1", 8, 1000 << 20, 1, 0, None, None, "no GPU"),
    ("1=8,2=64000,4=1", 8, 64000 << 20, 1, 0, None, None, "numbers of slurmdbd's tables"),
    ("1=8,4=1,1001=2", 8, None, 1, None, None, "?", "a number of the site's own, which may be GPUs"),
    ("cpu=4,gres/shard=2", 4, None, None, 0, None, "shard=2", "a part of a GPU"),
    ("", None, None, None, None, None, None, "unknown"),
]


@pytest.mark.parametrize(("text", "cpus", "mem", "nodes", "gpus", "gpu_type", "parts", "why"), SIZES)
def test_tres_in_a_cell_fill_the_columns_that_they_name(
    run: Callable[..., str], text: str, cpus: object, mem: object, nodes: object, gpus: object, gpu_type: object,
    parts: object, why: str,
) -> None:  # fmt: skip
    Path("f.toml").write_text(
        'zone = "UTC"\n[fields]\njob_id_raw = "id"\nsubmit_time = "at"\nalloc_tres = "name"\nreq_tres = "who"'
    )
    run(table({"name": text, "who": text}), map="f.toml")
    assert jobs("cpus, mem, nodes, gpus, gpu_type, gpu_parts") == [(cpus, mem, nodes, gpus, gpu_type, parts)], why
    assert jobs("req_cpus, req_mem, req_nodes, req_gpus, req_gpu_parts") == [(cpus, mem, nodes, gpus, parts)], why


def test_a_column_of_its_own_comes_before_tres_and_no_text_is_guessed_at(run: Callable[..., str]) -> None:
    Path("f.toml").write_text(
        'zone = "UTC"\n[fields]\njob_id_raw = "id"\nsubmit_time = "at"\nalloc_tres = "name"\ncpus = "spare"'
    )
    run(table({"name": "cpu=8,node=1", "spare": 6}, {"name": "8 CPUs", "spare": 1}), map="f.toml", code=3)
    assert jobs("cpus, nodes") == [(6, 1)]
    assert [reason for _, reason, _ in rejected()] == ["column 'name' (alloc_tres): '8 CPUs' is not TRES=AMOUNT"]


@pytest.mark.parametrize(("fields", "cells", "columns", "value", "why"), FOLLOWS)
def test_what_follows_from_other_columns(
    run: Callable[..., str], fields: str, cells: dict[str, object], columns: str, value: object, why: str
) -> None:
    Path("f.toml").write_text(f'zone = "UTC"\n[fields]\njob_id_raw = "id"\nsubmit_time = "at"\n{fields}')
    row = {"name": "2024-03-05 12:00:00", "pool": "2024-03-05 11:00:00", **cells}
    run(table(row), map="f.toml")
    assert jobs(columns) == [(value,)], why


def test_bad_cells_are_set_aside_with_line_and_reason_and_take_no_neighbour(run: Callable[..., str]) -> None:
    text = table({}, {"ran": "long"}, {"name": "two\nlines"}, {"at": ""}, {"how": "odd"}, {"id": "7_1"}, {})
    text += "half,a,row\n" + table({"name": 'quo"te', "id": 9}).splitlines()[1].replace('""', '"') + "\n"
    text += table({"id": 10, "name": "a\0b"}, {"id": 11}).split("\n", 1)[1]
    said = run(text, code=3)
    assert "read 11, new 4, changed 0, unchanged 0, rejected 7" in said and "trace rejected" in said
    assert [number for (number,) in jobs("job_id_raw")] == [1, 3, 7, 11]
    found = rejected()
    assert [(line, reason) for line, reason, _ in found] == [
        (3, "column 'ran' (elapsed): 'long' is not a number"),
        (6, "submit_time is unknown, so the row has no key"),
        (7, "column 'how' (state): 'odd' is not a state of Slurm, and the map's [states] does not translate it"),
        (8, "column 'id' (job_id_raw): '7_1' is not a number"),
        (10, "3 columns instead of 11"),
        (11, "not CSV: ',' expected after '\"'"),
        (12, "column 'name' (job_name): a NUL byte"),
    ]
    assert found[4][2] == b"half,a,row"
    assert "read 11, new 0, changed 0, unchanged 4, rejected 7" in run(text, code=3)
    assert rejected() == found


def test_invalid_utf8_is_replaced_and_hours_that_occur_twice_are_counted(run: Callable[..., str]) -> None:
    text = table({"name": "a\udcffb", "at": "2023-10-29 02:30:00"}).encode("utf-8", "surrogateescape")
    said = run(text, "--timezone", "Europe/Berlin")
    assert "1 with invalid UTF-8" in said and "1 at ambiguous hours" in said
    assert jobs("job_name, submit_time") == [("a\ufffdb", 1698539400)], "--timezone comes before the map's zone"


NUMBERED = 'zone = "UTC"\n[fields]\njob_id_raw = { row = 1 }\nsubmit_time = "at"\nqueue = "pool"\n'


def numbered(*minutes: int) -> str:
    return table(*({"at": f"2024-03-05 07:{minute:02}:00"} for minute in minutes))


def test_without_a_job_id_a_rows_number_is_its_key_and_rows_may_be_added_at_the_end(run: Callable[..., str]) -> None:
    Path("my.toml").write_text(NUMBERED)
    assert "new 3, changed 0, unchanged 0" in run(numbered(5, 3, 3))
    assert "new 0, changed 0, unchanged 3" in run(numbered(5, 3, 3))
    assert "new 2, changed 0, unchanged 3" in run(numbered(5, 3, 3, 4, 1))
    assert [number for (number,) in jobs("job_id_raw")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("minutes", "why"),
    [((9, 5, 3, 3), "a row before the others"), ((3, 3), "the first is gone"), ((3, 3, 5), "another order")],
)
def test_a_table_whose_rows_have_moved_is_refused_and_nothing_doubled(
    run: Callable[..., str], minutes: Sequence[int], why: str
) -> None:
    Path("my.toml").write_text(NUMBERED)
    run(numbered(5, 3, 3))
    before = jobs()
    said = run(numbered(*minutes), code=1)
    assert "error: row 1 was submitted at" in said and "hint: give it a --cluster of its own" in said, why
    assert jobs() == before
    run(numbered(*minutes), cluster="other")
    Path("my.toml").write_text(NUMBERED.replace("row = 1", "row = 4"))
    assert f"new {len(minutes)}" in run(numbered(*minutes)), "a part of its own, numbered from there"


def test_a_broken_row_counts_in_the_numbers_of_those_after_it(run: Callable[..., str]) -> None:
    Path("my.toml").write_text(NUMBERED)
    text = numbered(1, 2, 3)
    run(text.replace("07:02:00", "soon"), code=3)
    assert jobs("job_id_raw") == [(1,), (3,)]
    assert "new 1, changed 0, unchanged 2" in run(text), "once it is right it gets its own place"


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".tsv", bytes)]
)
def test_packed_tables_and_tabs_are_read(run: Callable[..., str], suffix: str, pack: Callable[[bytes], bytes]) -> None:
    path = Path(f"jobs{suffix}")
    path.write_bytes(pack(table({}, {}, delimiter="\t" if suffix == ".tsv" else ",").encode()))
    assert "new 2" in run(path)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".bz2", lambda data: bz2.compress(data, 1)), (".xz", lzma.compress)],
    ids=["gz", "bz2", "xz"],
)
def test_a_damaged_packed_table_is_said_and_leaves_the_trace_as_it_was(
    run: Callable[..., str], suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    """Thousands of rows are read before the damage. Trap: of bz2 only whole blocks are read, here of 100 kB."""
    run(table({}))
    before = jobs()
    whole = pack(table(*({"name": f"{n * 2654435761 % 2**32:x}"} for n in range(8_000))).encode())
    path = Path(f"jobs{suffix}")
    for content in (whole[: len(whole) // 2], b"no such thing"):
        path.write_bytes(content)
        said = run(path, code=1)
        assert "is damaged" in said and said.count("error:") == 1
        assert jobs() == before


def test_a_table_from_a_pipe_without_a_header(tmp_path: Path) -> None:
    Path("my.toml").write_text(f"columns = {json.dumps(HEADER)}\n{MAP}")
    text = table({}, {}).split("\n", 1)[1]
    command = [sys.executable, "-m", "adminkit.cli.main", "import", "-", "--db", "t.db", "--map", "my.toml", "-M", "c"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=os.environ, check=True)
    assert "read 2, new 2" in done.stdout


def test_killed_in_the_middle_nothing_of_it_is_in_the_trace(run: Callable[..., str]) -> None:
    run(table({}))
    command = [sys.executable, "-m", "adminkit.cli.main", "import", "-", "--db", "t.db", "--map", "my.toml", "-M", "c"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin
        # Far more than a pipe holds: when all is written, most of it was read.
        process.stdin.write(table(*({"id": number} for number in range(1, 30_000))).encode())
        process.stdin.flush()
        process.kill()
    assert len(jobs()) == 1
    assert "unchanged 1" in run(table({})), "and nothing is in the way of the next"


@pytest.mark.parametrize(
    ("text", "words", "said", "code"),
    [
        ("", (), "the input is empty", 2),
        ("\n", (), "the input is empty", 2),
        ('id,"who\n', (), "the first line is not a header", 2),
        ("id,whoo\n1,ada\n", (), "no such column: who, which my.toml names: it is not in the table", 2),
        (table({}), ("--columns", "jobid"), "--columns names sacct's columns", 2),
        (table({}), ("--timezone", "Asia/Tokio"), "did you mean Asia/Tokyo?", 2),
        (table({}), ("--delimiter", "||"), "the columns of a table are separated", 2),
        (table({}), ("--map", "phily"), "did you mean philly?", 2),
    ],
)
def test_what_cannot_be_meant_is_answered_and_leaves_no_trace(
    run: Callable[..., str], text: str, words: Sequence[str], said: str, code: int
) -> None:
    assert said in run(text, *words, code=code)
    assert not Path("t.db").exists()


def test_a_cluster_and_a_zone_are_asked_for(run: Callable[..., str]) -> None:
    assert "the rows name no cluster" in run(table({}), cluster="", code=2)
    Path("my.toml").write_text(MAP.replace('zone = "UTC"', ""))
    assert "the times are dates without a time zone" in run(table({}), code=2)
    assert not Path("t.db").exists() and not list(Path().glob(".t.db*"))


@pytest.mark.parametrize(
    ("source", "cells", "option", "clusters"),
    [
        ('"pool"', ("x", ""), "c", ["c", "x"]),
        ('{ constant = "k" }', ("x", "y"), "", ["k", "k"]),
        ('{ constant = "k" }', ("x", "y"), "c", ["c", "c"]),
    ],
)
def test_a_cluster_of_the_command_line_stands_for_a_constant_and_for_empty_cells(
    run: Callable[..., str], source: str, cells: Sequence[str], option: str, clusters: list[str]
) -> None:
    Path("my.toml").write_text(MAP.replace("[states]", f"cluster = {source}\n[states]"))
    run(table(*({"pool": cell} for cell in cells)), cluster=option)
    assert [name for (name,) in jobs("cluster")] == clusters


def test_a_dry_run_shows_how_the_first_rows_would_be_read_and_writes_nothing(
    run: Callable[..., str], golden: Callable[[str, str], None]
) -> None:
    said = run(table({}, {"ran": "long"}, {"limit": "UNLIMITED"}, {}), "--dry-run")
    golden("import-dry-run.txt", said)
    assert not Path("t.db").exists()
    rows = json.loads(run(table({}), "--dry-run", "--format", "json"))["rows"]
    assert {"field": "elapsed", "from": "ran (hours)", "line_2": "01:30:00"} in rows


def test_a_dry_run_is_of_maps_only(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sacct.txt").write_text("JobID|JobIDRaw|Submit\n1|1|5\n")
    assert main(["import", "sacct.txt", "--db", "t.db", "--cluster", "c", "--dry-run"]) == 2
    assert "--dry-run shows how a map reads a table" in capsys.readouterr().err


def test_a_map_import_outdates_the_fingerprint_of_sacct_text(run: Callable[..., str]) -> None:
    """What the table changed is changed back by the sacct text, which must not pass for known."""
    sacct = "JobID|JobIDRaw|Cluster|Submit|State\n1|1|c|1709622000|FAILED\n"
    Path("sacct.txt").write_text(sacct)
    assert main(["import", "sacct.txt", "--db", "t.db"]) == 0
    assert "changed 1" in run(table({}))
    assert main(["import", "sacct.txt", "--db", "t.db"]) == 0
    assert jobs("state, user") == [("FAILED", "ada")]


def test_maps_and_files_are_offered_for_completion(tmp_path: Path) -> None:
    assert _complete_map("") == [*shipped(), "my.toml"]
    assert _complete_map("ph") == ["philly"]
    assert _complete_map("./m") == ["./my.toml"]
    assert _complete_map(f"{tmp_path}/m") == [f"{tmp_path}/my.toml"]
