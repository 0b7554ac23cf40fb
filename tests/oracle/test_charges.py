"""Bills, computed once more from docs/charge.md, "How it is computed": rows of `job`, fractions, a dictionary."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.bill import bill
from adminkit.economy.close import close
from adminkit.economy.schemes import load_schemes
from adminkit.installed import data_file
from tests.support.charges import NOW

#: Job, submission of the run, month.
Key = tuple[int, int, str]
_FAILED = ("NODE_FAIL", "BOOT_FAIL")
_ROWS = """SELECT job_id_raw, submit_time, user, state, start_time, end_time, elapsed, time_limit, limit_original,
    coalesce({size}, req_{size}) AS size FROM job ORDER BY job_id_raw, submit_time"""


def limit(row: sqlite3.Row) -> int | None:
    """The most that was ever asked for."""
    return max(row["time_limit"] or 0, row["limit_original"] or 0) or None


def actual(row: sqlite3.Row) -> Fraction | None:
    return None if row["size"] is None else Fraction(row["size"] * row["elapsed"], 3600)


def estimate(row: sqlite3.Row) -> Fraction | None:
    requested = limit(row)
    if requested is None or row["size"] is None:
        return None
    return row["size"] * (Fraction("0.7") * max(row["elapsed"], 300) + Fraction("0.1") * requested) / Fraction(3600)  # type: ignore[no-any-return]


#: The scheme -> the formula by hand, and the last digit of an amount.
SCHEMES: dict[str, tuple[Callable[[sqlite3.Row], Fraction | None], Decimal]] = {
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


def expected(db: sqlite3.Connection, name: str, size: str) -> tuple[dict[Key, Decimal], int]:
    """What each run owes for each month, and how many are not chargeable."""
    value, last_digit = SCHEMES[name]
    found: dict[Key, Decimal] = {}
    refused = 0
    for row in db.execute(_ROWS.format(size=size)):
        unknown = row["user"] is None or (row["elapsed"] is None and row["state"] not in _FAILED)
        if unknown or (charge := value(row)) is None:
            refused += unknown or (row["state"] not in _FAILED and row["elapsed"] > 0)
        elif row["state"] not in _FAILED and row["elapsed"]:
            before = Decimal(0)
            for month, over in months(row["start_time"], row["end_time"]):
                share = done(row, over) / row["elapsed"]
                until = ceil(charge * share / Fraction(last_digit)) * last_digit
                found[row["job_id_raw"], row["submit_time"], month] = until - before
                before = until
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
    entries: dict[Key, Decimal] = {}
    for *key, amount in db.execute(
        "SELECT job_id_raw, last_submit, period, amount FROM ledger WHERE kind <> 'close' AND amount <> 0"
    ):
        entries[tuple(key)] = entries.get(tuple(key), Decimal(0)) + Decimal(amount)  # type: ignore[index, arg-type]
    db.row_factory = sqlite3.Row
    wanted, refused = expected(db, scheme, size)
    assert len(entries) > 1000
    assert entries == {key: amount for key, amount in wanted.items() if key[2] in names and amount}
    if most == 99:
        assert sum(one.jobs for one in bills[-1].refused.values()) == refused
