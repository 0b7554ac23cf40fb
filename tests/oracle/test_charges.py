"""Bills, computed once more from docs/charge.md, "How it is computed": rows of `job`, fractions, a dictionary."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.bill import bill
from adminkit.economy.close import close
from adminkit.economy.schemes import load_schemes
from adminkit.installed import data_file
from tests.support.charges import NOW

_FAILED = ("NODE_FAIL", "BOOT_FAIL")
_GOES_ON = ("REQUEUED", "PREEMPTED", "NODE_FAIL")
_ROWS = """SELECT job_id_raw, submit_time, user, state, start_time, end_time, elapsed, time_limit, limit_original,
    coalesce({size}, req_{size}) AS size FROM job ORDER BY job_id_raw, submit_time"""


def jobs_of(db: sqlite3.Connection, size: str) -> Iterator[list[sqlite3.Row]]:
    """The runs of each job."""
    some: list[sqlite3.Row] = []
    for row in db.execute(_ROWS.format(size=size)):
        if some and (row["job_id_raw"] != some[-1]["job_id_raw"] or some[-1]["state"] not in _GOES_ON):
            yield some
            some = []
        some.append(row)
    yield some


def limit(row: sqlite3.Row) -> int | None:
    """The most that was ever asked for."""
    return max(row["time_limit"] or 0, row["limit_original"] or 0) or None


def actual(runs: list[sqlite3.Row]) -> Fraction | None:
    if any(row["size"] is None for row in runs):
        return None
    return Fraction(sum(row["size"] * row["elapsed"] for row in runs), 3600)


def estimate(runs: list[sqlite3.Row]) -> Fraction | None:
    limits, sizes = [limit(row) for row in runs], [row["size"] for row in runs]
    if None in limits or None in sizes:
        return None
    elapsed = sum(row["elapsed"] for row in runs)
    return max(sizes) * (Fraction("0.7") * max(elapsed, 300) + Fraction("0.1") * max(limits)) / 3600  # type: ignore[type-var]


#: The scheme -> the formula by hand, and the last digit of an amount.
SCHEMES: dict[str, tuple[Callable[[list[sqlite3.Row]], Fraction | None], Decimal]] = {
    "actual": (actual, Decimal("0.01")),
    "estimate": (estimate, Decimal("0.01")),
}


def months(begin: int, end: int) -> Iterator[tuple[str, int]]:
    """The months from `begin` to `end`, and the moment at which each is over."""
    year, month = datetime.fromtimestamp(begin, UTC).year, datetime.fromtimestamp(begin, UTC).month
    while True:
        over = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp()
        yield f"{year}-{month:02}", int(over)
        if over >= end:
            return
        year, month = year + month // 12, month % 12 + 1


def expected(db: sqlite3.Connection, name: str, size: str) -> tuple[dict[tuple[int, str], Decimal], int]:
    """What each job owes for each month, and how many jobs are not chargeable."""
    value, last_digit = SCHEMES[name]
    found: dict[tuple[int, str], Decimal] = {}
    refused = 0
    for every in jobs_of(db, size):
        unknown = every[-1]["user"] is None or any(row["elapsed"] is None for row in every)
        runs = [row for row in every if row["state"] not in _FAILED and row["elapsed"]]
        if runs and not unknown and (charge := value(runs)) is not None:
            before = Decimal(0)
            seconds = sum(row["elapsed"] for row in runs)
            for month, over in months(min(row["start_time"] for row in runs), max(row["end_time"] for row in runs)):
                share = sum((done(row, over) for row in runs), Fraction(0)) / seconds
                until = round(charge * share / Fraction(last_digit)) * last_digit  # a half goes to the even digit
                key = (every[0]["job_id_raw"], month)
                found[key] = found.get(key, Decimal(0)) + until - before
                before = until
        elif unknown or runs:
            refused += 1
    return found, refused


def done(row: sqlite3.Row, over: int) -> Fraction:
    """How many seconds a run had run by then."""
    if over >= row["end_time"]:
        return Fraction(row["elapsed"])
    whole = row["end_time"] - row["start_time"]
    return Fraction(row["elapsed"] * max(over - row["start_time"], 0), whole)


@pytest.mark.parametrize(
    ("trace", "scheme", "most"),
    [
        pytest.param("lookalike", "actual", 1),
        pytest.param("lookalike", "estimate", 99, marks=pytest.mark.soak),
        pytest.param("kth", "actual", 99, marks=pytest.mark.soak),
        pytest.param("kth", "estimate", 2),
        pytest.param("ricc", "actual", 99, marks=pytest.mark.soak),
        pytest.param("ricc", "estimate", 99, marks=pytest.mark.soak),
    ],
)
def test_every_entry_is_what_the_page_says(
    traces: Callable[[str], Path], tmp_path: Path, trace: str, scheme: str, most: int
) -> None:
    """The first `most` months of the trace."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    with closing(sqlite3.connect(traces(trace))) as file:
        file.backup(db)
    db.execute("UPDATE job SET source = 'trusted' WHERE source <> 'demo'")
    chosen = tmp_path / "charge.toml"
    shipped = data_file("etc", "charge.toml").read_text()
    size = "nodes" if trace == "lookalike" else "cpus"  # SWF has processors only
    shipped = shipped.replace("node_hours", f"{size[:-1]}_hours").replace("nodes *", f"{size} *")
    chosen.write_text(shipped.replace('\nscheme = "actual"', f'\nscheme = "{scheme}"'))
    found: Any = load_schemes(chosen)
    first, last = db.execute("SELECT min(start_time), max(end_time) FROM job").fetchone()
    names = [month for month, _ in months(first, last)][:most]
    bills = []
    for month in names:
        bills.append(bill(db, found, month))
        close(db, bills[-1], NOW)
    entries: dict[tuple[int, str], Decimal] = {}
    for number, period, amount in db.execute("SELECT job_id_raw, period, amount FROM ledger WHERE kind <> 'close'"):
        entries[number, period] = entries.get((number, period), Decimal(0)) + Decimal(amount)
    db.row_factory = sqlite3.Row
    wanted, refused = expected(db, scheme, size)
    assert len(entries) > 1000
    assert entries == {key: amount for key, amount in wanted.items() if key[1] in names}
    if most == 99:
        assert sum(one.jobs for one in bills[-1].refused.values()) == refused
