"""Which of two hours a time means, and what of a row is nonsense: for accounting text and for tables alike."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.ingest.files import Import, import_file
from adminkit.ingest.helper import Counts
from adminkit.ingest.import_table import import_table
from adminkit.ingest.sources.mapping import load_map
from adminkit.ingest.sources.order import contradictory, order_of, settled
from adminkit.ingest.sources.sacct_fields import columns_for
from tests.native import helper, oracle
from tests.native.oracle import Format

#: The clock is put back from 03:00 to 02:00 on 29 October 2023.
ZONE = "Europe/Berlin"
SPEC = "time,time,time,time,seconds"


def meanings(clock: str) -> tuple[int, ...]:
    """Of 02:30, or 28 23:00 for the day before."""
    if not clock:
        return ()
    day, _, time = clock.rpartition(" ")
    local = datetime.fromisoformat(f"2023-10-{day or 29}T{time}:00")
    both = {int(local.replace(tzinfo=ZoneInfo(ZONE), fold=fold).timestamp()) for fold in (0, 1)}
    return tuple(sorted(both))


@pytest.mark.parametrize(
    ("clocks", "ran", "later", "open_", "why"),
    [
        (("01:30", "01:30", "02:55", "02:05"), 600, (0, 0, 0, 1), 0, "it ends after it begins"),
        (("01:30", "01:30", "01:40", "02:30"), 6600, (0, 0, 0, 1), 0, "the run time says which"),
        (("01:30", "01:30", "01:40", "02:30"), 3000, (0, 0, 0, 0), 0, "and here the other"),
        (("02:50", "02:50", "02:10", "04:10"), 7200, (0, 0, 1, 0), 0, "submitted before it started"),
        (("02:50", "02:50", "02:10", "04:10"), None, (0, 0, 1, 0), 0, "without a run time as well"),
        (("02:10", "02:50", "02:20", "02:30"), None, (0, 0, 1, 1), 0, "each of them follows from the others"),
        (("00:10", "00:10", "00:30", "03:30"), 14400, (0, 0, 0, 0), 0, "no time of that hour, but over it"),
        (("01:00", "01:00", "02:10", "02:20"), 600, (0, 0, 0, 0), 2, "both in the first hour, or both in the second"),
        (("02:30", "", "", ""), None, (0, 0, 0, 0), 1, "nothing to compare with"),
        (("02:30", "", "02:20", "02:10"), None, (0, 0, 1, 1), 1, "three cannot be in order: the fewest contradictions"),
        (("28 23:00", "28 23:00", "28 23:30", "02:30"), 4 * 3600, (0, 0, 0, 1), 0, "an hour more than the clock shows"),
    ],
)  # fmt: skip
def test_order_and_run_time_say_which_hour_it_is(
    clocks: tuple[str, ...], ran: int | None, later: tuple[int, ...], open_: int, why: str
) -> None:
    both = [meanings(clock) for clock in clocks]
    wanted = [one[pick if len(one) > 1 else 0] if one else None for one, pick in zip(both, later, strict=True)]
    texts = ["" if not clock else stamp(clock) for clock in clocks]
    line = "|".join([*texts, "" if ran is None else str(ran)]) + "\n"
    rows, counts = helper.dump(line.encode(), SPEC, Format(timezone=ZONE, order=[1, 2, 3, 4, 5, 0, 0]))
    times, undecided = settled(both, ran)
    if "contradictions" not in why:
        assert (rows[0][1:5], counts["ambiguous"]) == (wanted, open_), why
        assert (times, len(undecided)) == (wanted, open_), why
    assert (rows[0][1:5], counts["ambiguous"]) == (times, len(undecided)), why


def stamp(clock: str) -> str:
    day, _, time = clock.rpartition(" ")
    return f"2023-10-{day or 29}T{time}:00"


CLOCKS = st.sampled_from(["", "01:59", "02:00", "02:10", "02:30", "02:59", "03:00", "03:30"])
RAN = st.sampled_from([None, 0, 600, 1200, 1800, 3600, 4200, 5400, 10**9])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(CLOCKS, CLOCKS, CLOCKS, CLOCKS, RAN), min_size=1, max_size=30))
def test_all_three_agree_on_any_clocks(rows: list[tuple[Any, ...]]) -> None:
    lines = ["|".join([*(stamp(one) if one else "" for one in row[:4]), str(row[4] or "")]) for row in rows]
    form = Format(timezone=ZONE, order=[1, 2, 3, 4, 5, 0, 0])
    data = ("\n".join(lines) + "\n").encode()
    found, counts = helper.dump(data, SPEC, form)
    slow = oracle.parse(data, SPEC, form)
    assert found == slow.rows
    assert {name: counts[name] for name in slow.counts} == slow.counts
    # A line without any value is not a row.
    kept = [row for row, line in zip(rows, lines, strict=True) if line]
    times = [settled([meanings(one) for one in row[:4]], row[4] or None) for row in kept]
    assert [row[1:5] for row in found] == [one for one, _ in times]
    assert counts["ambiguous"] == sum(len(undecided) for _, undecided in times)
    assert counts["contradictory"] == sum(
        contradictory(one[0], one[2], one[3], row[4] or None) for (one, _), row in zip(times, kept, strict=True)
    )


def test_the_columns_of_the_order_are_found_in_any_header() -> None:
    names = ["JobID", "End", "Start", "Elapsed", "ElapsedRaw", "Submit"]
    assert order_of(columns_for(names)) == (6, 0, 3, 2, 5, 4, 0)
    assert order_of(columns_for(["JobID"])) == (0,) * 7


HEADER = (
    "JobID|JobIDRaw|Cluster|Submit|Eligible|Start|End|ElapsedRaw|State|NNodes|NCPUS|ReqMem|TotalCPU|UserCPU|SystemCPU|"
    "MaxRSS|NTasks"
)


def stored(folder: Path, *lines: str, **options: Any) -> tuple[list[sqlite3.Row], Counts]:
    text = folder / "sacct.txt"
    text.write_text("\n".join([HEADER, *lines]) + "\n")
    counts, _ = import_file(Import(text, folder / "t.db", **options), 0)
    with closing(sqlite3.connect(folder / "t.db")) as db:
        db.row_factory = sqlite3.Row
        return db.execute("SELECT * FROM job ORDER BY job_id_raw").fetchall(), counts


def line(number: int, times: tuple[object, ...], elapsed: object = "", state: str = "COMPLETED", **cells: str) -> str:
    """Submit, eligible, start and end behind the second 1,700,000,000."""
    moments = ["" if one == "" else str(1_700_000_000 + int(str(one))) for one in times]
    more = [cells.get(name, "") for name in ("ReqMem", "TotalCPU", "UserCPU", "SystemCPU", "MaxRSS", "NTasks")]
    return "|".join([str(number), str(number), "oak", *moments, str(elapsed), state, "1", "4", *more])


@pytest.mark.parametrize(
    ("times", "elapsed", "start", "end", "kept", "noted", "why"),
    [
        ((0, 0, 60, 3660), 3600, 60, 3660, 3600, 0, "as it should be"),
        ((0, 0, 60, 3660), 3000, 60, 3660, 3000, 0, "it may have been suspended"),
        ((0, 0, 60, 3660), 3630, 60, 3660, 3630, 0, "clocks differ"),
        ((0, 0, 60, 7260), 10**9, 60, 7260, None, 1, "thirty years in two hours"),
        ((0, 0, 60, 7260), 7321, 60, 7260, None, 1, "two minutes too many are nonsense as well"),
        ((0, 0, "", 7260), 10**9, None, 7260, None, 1, "since the submission, where the start is unknown"),
        ((0, 0, 7260, 3600), 600, None, 3600, None, 1, "it ends before it begins"),
        ((0, 0, 7260, 3600), 0, None, 3600, None, 1, "even where it did not run"),
        ((0, 0, 3610, 3600), 0, 3610, 3600, 0, 0, "seconds are no contradiction"),
        ((5000, 5000, 5060, 100), 600, 5060, None, None, 1, "it ends before it is submitted"),
        ((0, 0, 60, 3660), "", 60, 3660, 3600, 0, "from the times, where the run time is unknown"),
        ((0, 0, 3610, 3600), "", 3610, 3600, None, 0, "but not below 0"),
        ((0, 0, 60, ""), 3600, 60, None, 3600, 0, "it runs"),
    ],
)
def test_what_contradicts_itself_is_unknown_and_noted(
    tmp_path: Path, times: tuple[object, ...], elapsed: object, start: int | None, end: int | None, kept: int | None,
    noted: int, why: str,
) -> None:  # fmt: skip
    (row,), counts = stored(tmp_path, line(1, times, elapsed))
    found = [None if row[name] is None else row[name] - 1_700_000_000 for name in ("start_time", "end_time")]
    assert (*found, row["elapsed"], counts.contradictory) == (start, end, kept, noted), why
    assert contradictory(*(None if one == "" else int(str(one)) for one in (times[0], *times[2:])),
                         None if elapsed == "" else int(str(elapsed))) == bool(noted), why  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        ("16?", None, "2^64, for which older releases have no letter"),
        ("16.00?n", None, "the same, of a node"),
        ("18446744073709551614M", None, "NO_VAL64"),
        ("17592186044416M", None, "2^64 bytes"),
        ("1,024K", 1 << 20, "groups of three"),
        ("64T", 1 << 46, "much, and kept"),
    ],
)
def test_memory_that_nobody_has_is_unknown_and_the_row_stays(
    tmp_path: Path, text: str, value: int | None, why: str
) -> None:
    (row,), counts = stored(tmp_path, line(1, (0, 0, 60, 3660), 3600, ReqMem=text))
    assert (row["req_mem"], counts.rejected) == (value, 0), why


@pytest.mark.parametrize(
    ("cells", "cpu_time", "why"),
    [
        ({"TotalCPU": "06:57.815"}, 417.815, "minutes, seconds and thousandths"),
        ({"TotalCPU": "4-23:56:21"}, 431781.0, "days"),
        ({"UserCPU": "00:10:00", "SystemCPU": "01:30.250"}, 690.25, "user and system, where the total is missing"),
        ({"TotalCPU": "01:00", "UserCPU": "00:50", "SystemCPU": "00:09"}, 60.0, "the total counts first"),
        ({"UserCPU": "00:10:00"}, None, "a part is not the whole"),
        ({"UserCPU": "00:00:00", "SystemCPU": "00:00:00"}, None, "nothing was measured"),
    ],
)
def test_cpu_time_is_the_total_or_the_sum(
    tmp_path: Path, cells: dict[str, str], cpu_time: float | None, why: str
) -> None:
    (row,), _ = stored(tmp_path, line(1, (0, 0, 60, 3660), 3600, **cells))
    assert row["cpu_time"] == cpu_time, why


def test_steps_keep_their_own_total_or_the_sum_and_the_run_has_all_of_them(tmp_path: Path) -> None:
    times = (0, 0, 60, 3660)
    steps = [
        line(1, times, 3600, TotalCPU="06:57.779").replace("1|1|", "1.0|1.0|", 1),
        line(1, times, 3600, UserCPU="00:01", SystemCPU="00:00.500").replace("1|1|", "1.batch|1.batch|", 1),
    ]
    (row,), _ = stored(tmp_path, line(1, times, 3600), *steps)
    assert row["cpu_time"] == pytest.approx(419.279)


def test_siblings_of_a_federation_are_left_out_and_counted(tmp_path: Path) -> None:
    rows, counts = stored(
        tmp_path,
        line(1, (0, 0, 60, 3660), 3600),
        line(2, (0, 0, 60, 60), 0, "REVOKED"),
        line(3, (0, 0, "", 60), 0, "REVOKED"),
        line(4, (0, 0, 60, 60), 0, "CANCELLED by 1000"),
    )
    assert [row["job_id_raw"] for row in rows] == [1, 4]
    assert (counts.new, counts.unchanged, counts.skipped, counts.rejected) == (2, 0, 2, 0)


@pytest.mark.parametrize(
    ("first", "second", "left", "why"),
    [
        (("PENDING", ""), ("REVOKED", 60), 0, "another cluster took it after the first file was written"),
        (("RUNNING", ""), ("REVOKED", ""), 0, "and ended it, of which nothing is said here"),
        (("COMPLETED", 3660), ("REVOKED", 60), 1, "it ran here"),
    ],
)
def test_a_run_that_another_cluster_took_later_on_is_taken_out(
    tmp_path: Path, first: tuple[str, object], second: tuple[str, object], left: int, why: str
) -> None:
    def one(number: int, state: str, end: object) -> str:
        return line(number, (0, 0, 60 if state != "PENDING" else "", end), 0, state)

    stored(tmp_path, one(1, *first), one(2, "PENDING", ""))
    rows, counts = stored(tmp_path, one(1, *second), one(3, "COMPLETED", 60))
    assert [row["job_id_raw"] for row in rows] == ([1] if left else []) + [2, 3], why
    assert (counts.new, counts.skipped) == (1, 1)
    rows, counts = stored(tmp_path, one(2, "PENDING", ""), one(2, "REVOKED", 60))
    assert 2 not in [row["job_id_raw"] for row in rows], "within one file as well"


MAP = """
time = "iso"
[fields]
job_id_raw = "id"
submit_time = "submit"
eligible_time = "submit"
start_time = "start"
end_time = "end"
elapsed = { column = "ran", unit = "seconds" }
state = "state"
"""


def from_table(folder: Path, *rows: tuple[object, ...]) -> tuple[list[sqlite3.Row], Counts]:
    (folder / "map.toml").write_text(MAP)
    lines = ["id,submit,start,end,ran,state", *(",".join(map(str, row)) for row in rows)]
    (folder / "jobs.csv").write_text("\n".join(lines) + "\n")
    wanted = Import(folder / "jobs.csv", folder / "t.db", "oak", ZONE, map=load_map(folder / "map.toml"))
    counts = import_table(wanted, 0)
    with closing(sqlite3.connect(folder / "t.db")) as db:
        db.row_factory = sqlite3.Row
        return db.execute("SELECT * FROM job ORDER BY job_id_raw").fetchall(), counts


def test_a_table_is_read_alike(tmp_path: Path) -> None:
    rows, counts = from_table(
        tmp_path,
        (1, stamp("01:30"), stamp("02:55"), stamp("02:05"), 600, "COMPLETED"),
        (2, stamp("01:30"), stamp("01:40"), stamp("02:30"), 6600, "COMPLETED"),
        (3, stamp("02:50"), stamp("02:10"), stamp("04:10"), 7200, "COMPLETED"),
        (4, stamp("02:30"), "", "", "", "PENDING"),
        (5, stamp("05:00"), stamp("05:01"), stamp("07:01"), 10**9, "COMPLETED"),
        (6, stamp("05:00"), stamp("09:00"), stamp("08:00"), "", "COMPLETED"),
        (7, stamp("05:00"), "", stamp("05:01"), 0, "REVOKED"),
    )
    assert [row["job_id_raw"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["elapsed"] for row in rows] == [600, 6600, 7200, None, None, None]
    assert [row["end_time"] - row["start_time"] for row in rows[:3]] == [600, 6600, 7200]
    assert all(row["start_time"] is None or row["end_time"] >= row["start_time"] for row in rows)
    assert (counts.ambiguous, counts.contradictory, counts.skipped, counts.new) == (2, 2, 1, 6)


def test_a_run_of_a_table_that_another_cluster_took_later_on_is_taken_out(tmp_path: Path) -> None:
    waits = [(number, stamp("05:00"), "", "", "", "PENDING") for number in (1, 2)]
    from_table(tmp_path, *waits)
    rows, counts = from_table(tmp_path, (1, stamp("05:00"), "", stamp("05:01"), 0, "REVOKED"))
    assert [row["job_id_raw"] for row in rows] == [2]
    assert counts.skipped == 1
