"""Nothing is free by its shape: random shapes of work, billed month by month, against what their runs cost by hand."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter
from pathlib import Path

import pytest

from adminkit.job import Job
from adminkit.stats.ledger import lines
from tests.support.charges import closed, fresh, schemes
from tests.support.evasions import DAY, FORMULAS, FREE, MONTHS, WEIGHTS, Run, price, work

TOGETHER = 50
#: How much less than the sum of its runs may be paid, in the last digit a run.
LESS = {"up": Fraction(0), "half-even": Fraction(1, 2)}


@pytest.mark.parametrize(
    "shapes", [pytest.param(100, id="100"), pytest.param(10_000, id="10000", marks=pytest.mark.soak)]
)
def test_no_shape_of_work_pays_less_than_its_runs(tmp_path: Path, shapes: int) -> None:
    luck, cheap = random.Random(shapes), list[str]()
    seen = Counter[str]()
    for turn in range(shapes // TOGETHER):
        formula, rounding = luck.choice([*FORMULAS]), luck.choice([*LESS])
        works = {f"u{n}": work(luck, f"u{n}", 10 * n + 10) for n in range(TOGETHER)}
        every = [run for runs in works.values() for run in runs]
        seen.update(run.state for run in every)
        paid = billed_by_month(tmp_path, every, formula, rounding, luck)
        for user, runs in works.items():
            cheap += [
                f"turn {turn}, {formula}, {rounding}: {one}" for one in problems(user, runs, formula, rounding, paid)
            ]
    assert not cheap, f"{len(cheap)} of {shapes}: {cheap[:5]}"
    assert min(seen[state] for state in ("REQUEUED", "RESIZING", "PENDING", FREE)) > shapes / 20, seen


def billed_by_month(
    folder: Path, runs: list[Run], formula: str, rounding: str, luck: random.Random
) -> dict[tuple[str, str], Fraction]:
    """User, account -> all that the bills of the months come to; each month is closed some days after its end."""
    file = schemes(folder, FORMULAS[formula], digits=2, rounding=f"'{rounding}'", free_states=[FREE])
    for kind, of in WEIGHTS.items():
        words = "\n".join(f'"{word}" = {float(weight)}' for word, weight in of.items())
        file.write_text(f"{file.read_text()}\n[schemes.test.weights.{kind}]\n{words}\n")
    db = fresh()
    for month, over in MONTHS.items():
        as_of(db, runs, over + luck.randrange(5 * DAY), luck)
        closed(db, file, month)
    found: dict[tuple[str, str], Fraction] = {}
    for line in lines(db):
        key = (line.user or "", line.account or "")
        found[key] = found.get(key, Fraction(0)) + Fraction(Decimal(line.amount))
    return found


def as_of(db: sqlite3.Connection, runs: list[Run], now: int, luck: random.Random) -> None:
    """The trace as sync has it at `now`, in whatever order."""
    rows = [row for run in runs if (row := run.row(now)) is not None]
    luck.shuffle(rows)
    names = [field.name for field in fields(Job)]
    columns, values = ", ".join(f'"{name}"' for name in names), ", ".join("?" for _ in names)
    db.executemany(f"INSERT OR REPLACE INTO job ({columns}) VALUES ({values})", map(attrgetter(*names), rows))


def problems(
    user: str, runs: list[Run], formula: str, rounding: str, paid: dict[tuple[str, str], Fraction]
) -> list[str]:
    """Accounts that paid less than the runs cost that they had, or more than rounding explains."""
    owed = price(formula, runs)
    found = []
    for account, amount in owed.items():
        has = paid.get((user, account), Fraction(0))
        mine = sum(run.account == account and run.begin is not None and run.state != FREE for run in runs)
        if has < amount - LESS[rounding] * mine / 100:
            found.append(f"{user}, account {account} paid {float(has)} of {float(amount):.4f}: {runs}")
        elif has > amount + Fraction(mine, 100) and formula != "estimate":
            found.append(f"{user}, account {account} paid {float(has)} for {float(amount):.4f}: {runs}")
    return found
