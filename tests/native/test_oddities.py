"""How real accounting data misbehaves, one case each: what is read, what is set aside."""

from __future__ import annotations

from typing import Any

import pytest

from tests.native import helper
from tests.native.oracle import Format

GIB = 2**30


def read(data: str | bytes, spec: str, **form: Any) -> list[list[Any]]:
    raw = data if isinstance(data, bytes) else data.encode()
    return helper.dump(raw, spec, Format(**form))[0]


@pytest.mark.parametrize(
    ("data", "spec", "form", "rows", "why"),
    [
        ("1|a\n", "int,text", {}, [["job", 1, "a"]], "-P: no delimiter at the end"),
        ("1|a|\n", "int,text", {"ends": True}, [["job", 1, "a"]], "-p: one at the end"),
        ("1|#a|#\n", "int,text", {"delimiter": b"|#", "ends": True}, [["job", 1, "a"]], "two characters"),
        ("1^|^a\n", "int,text", {"delimiter": b"^|^"}, [["job", 1, "a"]], "three"),
        ("1☃a\n", "int,text", {"delimiter": "☃".encode()}, [["job", 1, "a"]], "one of three bytes"),
        ("1∆a\n", "int,text", {"delimiter": "∆".encode()}, [["job", 1, "a"]], "another"),
        ("1\x1fa|b\nc\x1f\n", "int,text", {"delimiter": b"\x1f", "ends": True}, [["job", 1, "a|b\nc"]], "sync's own"),
        ("1|job_0||0002|\n", "int,free,int", {}, [["job", 1, "job_0||0002", None]], "|| in a JobName is put back"),
        ("2|a|b\n3|c|4\n", "int,free,int", {},
         [["rejected", 1, "column 3 (int): malformed"], ["job", 3, "c", 4]], "not where the line is short of a column"),
        ("1|sbatch --wrap=env\nsleep 9|0:0\n2|x|0:0\n", "int,free,exit", {},
         [["job", 1, "sbatch --wrap=env\nsleep 9", 0, 0], ["job", 2, "x", 0, 0]], "a SubmitLine of two lines"),
        ("1|sbatch\nx|y|0:0\n2|x|0:0\n", "int,free,exit", {},
         [["rejected", 1, "columns: 2, expected: 3"], ["rejected", 2, "column 1 (int): malformed"],
          ["job", 2, "x", 0, 0]],
         "with a | on the second of them nobody can tell: set aside, the neighbour unharmed"),
        ("1|a\nb|0:0\n2|c\n3|d|0:0\n", "int,free,exit", {},
         [["job", 1, "a\nb", 0, 0], ["rejected", 3, "columns: 2, expected: 3"], ["job", 3, "d", 0, 0]],
         "a line cut off takes no good one with it"),
        ("1|sbatch --wrap=" + "a\n" * 65000 + "|0:0\n2|x|0:0\n", "int,free,exit", {},
         [["job", 1, "sbatch --wrap=" + "a\n" * 65000, 0, 0], ["job", 2, "x", 0, 0]],
         "a SubmitLine of as many lines as slurmdbd keeps bytes"),
        ("1|" + "a\n" * 131072 + "b|0:0\n2|x|0:0\n", "int,free,exit", {},
         [["rejected", 1, "record of more than 1 MiB or 131072 lines"], ["rejected", 131073, "columns: 2, expected: 3"],
          ["job", 2, "x", 0, 0]],
         "of too many lines: its other lines are no rows of their own"),
        ("1|a|b\nx\n\ny\n2|c|d\n3|d|e|0:0\n", "int,free,text,exit", {},
         [["rejected", 1, "columns: 3, expected: 4"], ["rejected", 5, "columns: 3, expected: 4"],
          ["job", 3, "d", "e", 0, 0]],
         "lines behind a broken record belong to it"),
        ("1|a|2|3\nb\nc\n3|d|4\n", "int,text,int", {},
         [["rejected", 1, "columns: 4, expected: 3"], ["job", 3, "d", 4]], "behind one with too much too"),
        (b"1|aaron\xe9\n", "int,text", {}, [["job", 1, "aaron\ufffd"]], "Latin-1 where UTF-8 should be"),
        ("1|aàb 名前\n", "int,text", {}, [["job", 1, "aàb 名前"]], "UTF-8 names"),
        ("1|a\r\n2|b\r\n", "int,text", {}, [["job", 1, "a"], ["job", 2, "b"]], "a file that went through Windows"),
        ("sacct: fatal: Bad job/step specified: -n\n", "int,text", {},
         [["rejected", 1, "columns: 1, expected: 2"]], "an error's text in place of rows"),
        ("JobID      State\n-------- -------\n123        COMPLETED+\n", "jobid,state", {},
         [["rejected", n, "columns: 1, expected: 2"] for n in (1, 2, 3)], "a table made for people"),
        ("123|COMPLETED+\n", "jobid,state", {},
         [["rejected", 1, "column 2 (state): malformed"]], "values cut to their column's width"),
        (b"1|a\0b\n2|c\n", "int,text", {}, [["rejected", 1, "NUL byte"], ["job", 2, "c"]], "a crashed writer's zeros"),
    ],
)  # fmt: skip
def test_text(data: str | bytes, spec: str, form: dict[str, Any], rows: list[list[Any]], why: str) -> None:
    assert read(data, spec, **form) == rows, why


@pytest.mark.parametrize(
    ("value", "kind", "outputs", "why"),
    [
        ("8012944_24093.0", "jobid", ["8012944_24093", 8012944, 24093, None, None, "0", None], "a step of a task"),
        ("123_[9-11,13,16-20]", "jobid", ["123_[9-11,13,16-20]", 123, None, None, None, None, 9], "many jobs"),
        ("123_[9201-10000%500]", "jobid", ["123_[9201-10000%500]", 123, None, None, None, None, 800], "500 at once"),
        ("123+0", "jobid", ["123+0", None, None, 123, 0, None, None], "part of a het job"),
        ("123+1.extern", "jobid", ["123+1", None, None, 123, 1, "extern", None], "and its step"),
        ("123.interactive", "jobid", ["123", None, None, None, None, "interactive", None], "salloc's step"),
        ("4103947.batch", "rawid", [4103947], "steps have the job's"),
        ("CANCELLED by 1185300516", "state", ["CANCELLED", 1185300516], "by whom"),
        ("SOMETHING_NEW", "state", ["SOMETHING_NEW", None], "a state of a release to come is kept"),
        ("Unknown", "time", [None], "not ended, or held"),
        ("None", "time", [None], "cancelled before it started"),
        ("2023-08-31T12:29:47", "time", [1693484987], "a date (here in UTC)"),
        ("1693484987", "time", [1693484987], "SLURM_TIME_FORMAT=%s"),
        ("None assigned", "nodelist", [None], "no nodes"),
        ("cpn-d11-[01-02],b[002-003]", "nodelist", ["cpn-d11-[01-02],b[002-003]"], "nodes"),
        ("Partition_Limit", "limit", [None, "partition"], "the queue's own"),
        ("UNLIMITED", "limit", [None, "unlimited"], "none"),
        ("", "limit", [None, "unknown"], "a step's"),
        ("2880", "limit", [172800, "finite"], "TimelimitRaw is in minutes"),
        ("125-00:00:00", "limit", [10800000, "finite"], "four months"),
        ("3-00:00:00", "seconds", [259200], "D-HH:MM:SS"),
        ("23:08.358", "cputime", [1388.358], "MM:SS.mmm"),
        ("223-22:59:36", "seconds", [19349976], "ResvCPU of a big job"),
        ("INVALID", "seconds", [None], "Slurm's word for negative ones"),
        ("3000Mc", "reqmem", [3000 * 2**20, "c"], "per CPU, until 21.08"),
        ("48000Mn", "reqmem", [48000 * 2**20, "n"], "per node"),
        ("199G", "reqmem", [199 * GIB, None], "since"),
        ("0n", "reqmem", [0, "n"], "--mem=0"),
        ("2147486648Mn", "reqmem", [None, None], "unset, times the nodes"),
        ("?", "reqmem", [None, None], "not even that"),
        ("1.50T", "mem", [1649267441664], "converted by sacct"),
        ("10379460K", "mem", [10628567040], "not converted"),
        ("", "mem", [None], "missing is not 0"),
        ("gpu:2", "gres", [2, None, None, "node"], "until 20.02"),
        ("gpu:P100:2(IDX:1,3),hbm:0", "gres", [2, "P100", None, "node"], "with the places of the GPUs"),
        ("billing=36,cpu=36,mem=48000M,node=3", "tres", [36, 48000 * 2**20, 3, 0, None, None, 36, None], "no GPU"),
        ("gres/gpu=2", "tres", [None, None, None, 2, None, None, None, None], "nothing but GPUs"),
        ("cpu=8,gres/gpu:v100=1,gres/gpu=1,mem=10G,node=1", "tres", [8, 10 * GIB, 1, 1, "v100", *[None] * 3], "once"),
        ("gres/gpu:a100=1,gres/gpu:v100=2", "tres", [None, None, None, 3, "a100+v100", None, None, None], "two types"),
        ("gres/gpu:1g.5gb=2,gres/gpu=2", "tres", [*[None] * 3, 0, "1g.5gb", None, None, "slice:1g.5gb=2"], "MIG"),
        ("node=1,cpu=2,mem=4000M", "tres", [2, 4000 * 2**20, 1, 0, None, None, None, None], "in any order"),
        ("cpu=15:33:58,fs/disk=934,mem=1294440K", "usage", [56038.0, 1294440 * 1024, 934, None, None, None], "used"),
        ("4294967294", "int", [None], "NO_VAL: the gid of a step"),
        ("18446744073709551614", "int", [None], "NO_VAL64: the energy nobody measured"),
        ("0:15", "exit", [0, 15], "killed"),
    ],
)  # fmt: skip
def test_values(value: str, kind: str, outputs: list[Any], why: str) -> None:
    assert read(f"{value}\x1f\n", kind, delimiter=b"\x1f", ends=True, timezone="UTC") == [
        ["step" if kind == "jobid" and outputs[5] else "job", *outputs]
    ], why


def test_the_hour_that_occurs_twice_is_the_first_and_is_counted() -> None:
    data = b"2024-11-03T01:30:00\n2024-11-03T03:30:00\n"
    rows, counts = helper.dump(data, "time", Format(timezone="America/New_York"))
    assert rows == [["job", 1730611800], ["job", 1730622600]]
    assert counts["ambiguous"] == 1


def test_a_local_time_without_a_zone_is_set_aside() -> None:
    assert read("1|2024-11-03T03:30:00\n", "int,time") == [
        ["rejected", 1, "column 2 (time): local time, but no --timezone"]
    ]


def test_a_run_that_was_requeued_keeps_its_own_steps() -> None:
    """sacct -D prints both runs under one JobID, and a step's own start as its Submit."""
    rows = read("7|100\n7.batch|110\n7|200\n7.batch|210\n7.0|220\n", "jobid!,time!^")
    assert [(row[0], row[6], row[8]) for row in rows] == [
        ("job", None, 100),
        ("step", "batch", 100),
        ("job", None, 200),
        ("step", "batch", 200),
        ("step", "0", 200),
    ]


def test_swf_with_tabs_comments_fractions_and_extra_columns() -> None:
    data = "; Version: 2.2\n;\n  1\t0 -1 12.50 [n1] extra\n2 5 3 -1.0 [n2]\n3 5 3\n"
    form = {"delimiter": b"space", "comment": b";", "surplus_ignore": True}
    assert read(data, "swf!,swf,swf,swf", **form) == [
        ["job", 1, 0, None, 12.5],
        ["job", 2, 5, 3, None],
        ["rejected", 5, "columns: 3, expected: 4"],
    ]


def test_a_row_whose_every_column_is_skipped_has_no_values() -> None:
    """Trap: no column, no array, and a copy of nothing from nowhere is undefined (UBSan says so)."""
    rows, counts = helper.dump(b"anything\n", "skip")
    assert (rows, counts["rows"]) == ([["job"]], 1)
