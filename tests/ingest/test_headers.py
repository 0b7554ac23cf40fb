"""Several files of sacct's text one behind the other: each is read by its own header, as it would be by itself."""

from __future__ import annotations

import gzip
import io
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any, Final

import pytest

from adminkit.errors import AdminkitError
from adminkit.ingest.files import Import, import_file, import_stream
from adminkit.ingest.helper import Counts

#: Field -> its text in the row of a job.
CELLS: Final = {
    "JobID": "{n}", "JobIDRaw": "{n}", "Cluster": "oak", "Submit": "170000{n:04}", "Eligible": "170001{n:04}",
    "Start": "170002{n:04}", "End": "170003{n:04}", "User": "user{n}", "Account": "account{n}", "Partition": "gq",
    "NNodes": "2", "NCPUS": "16", "State": "COMPLETED", "TimelimitRaw": "120", "Timelimit": "03:00:00",
    "AllocTRES": "cpu=16,mem=8G,node=2,gres/gpu=4", "Restarts": "1", "Planned": "00:00:10", "JobName": "name{n}",
    "Comment": "c|d", "ReqMem": "4Gc", "UserCPU": "00:01:00", "SystemCPU": "00:00:30", "ReqGRES": "gpu:2",
    "AllocGRES": "gpu:a100:2", "ReqTRES": "cpu=16,mem=8G,node=2",
}  # fmt: skip
BASE: Final = ("JobID", "JobIDRaw", "Cluster", "User", "Account", "Submit", "Start", "End", "NNodes", "NCPUS", "State")


def text(columns: Sequence[str], first: int, *, rows: int = 3, tail: str = "", delimiter: str = "|") -> str:
    """A file of sacct's; `tail` is a delimiter for sacct -p."""
    lines = [columns, *([CELLS.get(name, "x").format(n=n) for name in columns] for n in range(first, first + rows))]
    return "".join(delimiter.join(line) + tail + "\n" for line in lines)


def stored(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        names = [f'"{row[1]}"' for row in db.execute("PRAGMA table_info(job)") if row[1] != "fingerprint"]
        return db.execute(f"SELECT {', '.join(names)} FROM job ORDER BY job_id_raw").fetchall()


def read(tmp_path: Path, data: str, way: str, name: str = "whole.db", cluster: str | None = "oak") -> Counts:
    """Import `data` from a plain file, a packed one or a pipe, into a trace called `name`."""
    path = tmp_path / ("text.gz" if way == "gz" else "text.txt")
    path.write_bytes(gzip.compress(data.encode()) if way == "gz" else data.encode())
    wanted = Import(path, tmp_path / name, cluster)
    if way == "pipe":
        stream: IO[bytes] = io.BytesIO(data.encode())
        return import_stream(wanted, stream, 0)[0]
    return import_file(wanted, 0)[0]


SWAPPED = ("JobIDRaw", "JobID", "State", "NCPUS", "NNodes", "Submit", "Account", "User", "Cluster", "End", "Start")
FILES = [  # the columns of each file, how often they change, why
    ([BASE, BASE, BASE], 0, "the same header again"),
    ([BASE, SWAPPED], 1, "users and accounts, nodes and CPUs in another order"),
    ([BASE, (*BASE, "Eligible", "Restarts", "AllocTRES", "JobName")], 1, "columns that the first file lacks"),
    ([(*BASE, "Eligible", "TimelimitRaw", "JobName"), BASE], 1, "columns that the second file lacks"),
    ([(*BASE, "TimelimitRaw"), (*BASE, "Timelimit"), BASE], 2, "limits in minutes, as clocks, and none"),
    ([BASE, tuple(name for name in BASE if name != "Cluster")], 1, "without a cluster: it is --cluster's"),
    ([BASE, ("JobName", *BASE)], 1, "a name first, which may hold anything"),
    ([(*BASE, "Mine", "Planned"), ("Mine", "Planned", *BASE)], 1, "columns that are read over"),
    ([(*BASE, "JobName", "WorkDir"), BASE, (*SWAPPED, "Comment")], 2, "two free columns, none, one"),
    ([(*BASE, "ReqMem", "UserCPU", "SystemCPU"), (*SWAPPED, "ReqMem", "UserCPU", "SystemCPU")], 1, "sums and products"),
    ([BASE, (*BASE, *BASE)], 1, "every column twice: the first counts"),
]


@pytest.mark.parametrize(("files", "changes", "why"), FILES)
def test_each_file_is_read_by_its_own_header(
    tmp_path: Path, files: list[tuple[str, ...]], changes: int, why: str
) -> None:
    parts = [text(columns, 1 + 10 * number) for number, columns in enumerate(files)]
    for part in parts:
        read(tmp_path, part, "plain", "single.db")
    for way in ("plain", "gz", "pipe"):
        counts = read(tmp_path, "".join(parts), way, f"{way}.db")
        assert (counts.new, counts.rejected, counts.headers) == (3 * len(files), 0, changes), (way, why)
        assert stored(tmp_path / f"{way}.db") == stored(tmp_path / "single.db"), (way, why)
        again = read(tmp_path, "".join(parts), way, f"{way}.db")
        assert (again.new, again.changed) == (0, 0), (way, why)


FORMS = [  # the second file, why
    (text(SWAPPED, 11, tail="|"), "sacct -p ends each line with a delimiter"),
    ("\ufeff" + text(SWAPPED, 11), "a byte order mark"),
    (text(SWAPPED, 11).replace("\n", "\r\n"), "lines of Windows"),
    (text(SWAPPED, 11).replace(" ", "").replace("|".join(SWAPPED), "|".join(SWAPPED).lower()), "small letters"),
    ("\n\n" + text(SWAPPED, 11), "empty lines before it"),
]


@pytest.mark.parametrize(("second", "why"), FORMS)
def test_a_header_may_look_otherwise(tmp_path: Path, second: str, why: str) -> None:
    read(tmp_path, text(BASE, 1), "plain", "single.db")
    read(tmp_path, text(SWAPPED, 11), "plain", "single.db")
    for way in ("plain", "pipe"):
        counts = read(tmp_path, text(BASE, 1) + second, way, f"{way}.db")
        assert (counts.new, counts.rejected, counts.headers) == (6, 0, 1), (way, why)
        assert stored(tmp_path / f"{way}.db") == stored(tmp_path / "single.db"), (way, why)


@pytest.mark.parametrize("way", ["plain", "pipe"])
def test_a_name_that_looks_like_a_header_is_none(tmp_path: Path, way: str) -> None:
    columns = (*BASE, "JobName")
    plain = text(columns, 1, rows=5)
    for header in ("|".join(SWAPPED), "|".join(columns), "JobID|JobIDRaw|Submit"):
        counts = read(tmp_path, plain.replace("name3", header), way, f"{len(header)}.db")
        assert (counts.new, counts.rejected, counts.headers) == (5, 0, 0)
        with closing(sqlite3.connect(tmp_path / f"{len(header)}.db")) as db:
            assert db.execute("SELECT job_name, user FROM job ORDER BY job_id_raw").fetchall()[2:4] == [
                (header, "user3"),
                ("name4", "user4"),
            ]


@pytest.mark.parametrize("columns", [BASE, ("JobName", *BASE), (*BASE, "JobName")])
def test_messages_of_sacct_among_the_rows_are_set_aside_and_belong_to_no_row(
    tmp_path: Path, columns: tuple[str, ...]
) -> None:
    lines = text(columns, 1, rows=4).splitlines()
    lines.insert(3, "sacct: error: slurmdbd: Unknown error 1021")
    counts = read(tmp_path, "\n".join(lines) + "\n", "plain")
    assert (counts.new, counts.rejected) == (4, 1)
    with closing(sqlite3.connect(tmp_path / "whole.db")) as db:
        assert db.execute("SELECT line, reason FROM rejected").fetchall() == [
            (4, "a message from sacct instead of a row")
        ]
        assert not db.execute("SELECT count(*) FROM job WHERE job_name LIKE '%sacct%'").fetchone()[0]


@pytest.mark.parametrize(
    ("columns", "said", "why"),
    [
        (("JobID", "User", "Submit", "State"), "line 5: a header lacks JobIDRaw", "no key"),
        (("User", "Account", "Partition"), "a header lacks JobID", "nothing but other columns"),
        (tuple(name for name in BASE if name != "Cluster"), "a header lacks Cluster", "no cluster, and none is named"),
    ],
)
@pytest.mark.parametrize("way", ["plain", "pipe"])
def test_rows_that_no_header_makes_readable_stop_the_import(
    tmp_path: Path, columns: tuple[str, ...], said: str, why: str, way: str
) -> None:
    with pytest.raises(AdminkitError, match=said) as caught:
        read(tmp_path, text(BASE, 1) + text(columns, 11), way, cluster=None)
    assert "nothing of this run was written" in caught.value.hint, why
    assert not (tmp_path / "whole.db").exists()


def test_a_row_that_is_set_aside_is_named_by_the_columns_of_its_file(tmp_path: Path) -> None:
    bad = text(SWAPPED, 11).replace("1700000012", "yesterday")
    read(tmp_path, text(BASE, 1) + bad, "pipe")
    with closing(sqlite3.connect(tmp_path / "whole.db")) as db:
        assert db.execute("SELECT line, reason FROM rejected").fetchall() == [(7, "column 6 (time): malformed")]


@pytest.mark.parametrize("seed", range(8))
def test_any_columns_in_any_order_are_read_as_if_each_file_stood_by_itself(tmp_path: Path, seed: int) -> None:
    luck = random.Random(seed)
    key = ["JobID", "JobIDRaw", "Submit"]
    parts = []
    for number in range(4):
        others = luck.sample([name for name in CELLS if name not in key], luck.randrange(len(CELLS) - 3))
        columns = [*key, *others]
        if sum(name in ("JobName", "Comment") for name in columns) > 1:
            columns.remove("Comment")  # of two free columns no row with a delimiter in one can be repaired
        if "Start" in columns and "End" not in columns:
            columns.append("End")  # without it a file by itself does not tell what a run had from what it asked for
        luck.shuffle(columns)
        parts.append(text(columns, 1 + 10 * number, tail=luck.choice(["", "|"])))
        read(tmp_path, parts[-1], "plain", "single.db")
    for way in ("plain", "pipe"):
        counts = read(tmp_path, "".join(parts), way, f"{way}.db")
        assert (counts.new, counts.rejected) == (12, 0)
        assert stored(tmp_path / f"{way}.db") == stored(tmp_path / "single.db")
