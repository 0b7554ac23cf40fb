"""Budgets of charge.toml, and what the ledger has spent of them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.budgets import Budget, read_budgets, spent
from adminkit.economy.schemes import load_schemes
from adminkit.errors import AdminkitError
from adminkit.stats.ledger import Line
from tests.support.charges import schemes

YEAR = {"account": "physics", "amount": 100, "from": "2026-01", "until": "2026-12"}


def line(month: str, account: str | None, amount: str, unit: str = "points") -> Line:
    return Line(1, month, "charge", month, "alpha", 1, 0, 60, "ada", account, amount, unit, 0)


#: the tables, what the error says, why
WRONG: list[tuple[Any, str, str]] = [
    ({}, "is not a list of tables", "one table is no list"),
    ([{**YEAR, "acount": "x"}], "number 1: no such key: acount", "a slip of the pen"),
    ([{**YEAR, "account": ""}], "number 1.account: no account", "an empty name"),
    ([{**YEAR, "account": "a\nb"}], "number 1.account: no account", "a name of two lines"),
    ([{**YEAR, "amount": 0}], "number 1.amount is not a number", "nothing"),
    ([{**YEAR, "amount": -1}], "number 1.amount is not a number", "less than nothing"),
    ([{**YEAR, "amount": True}], "number 1.amount is not a number", "a switch"),
    ([{**YEAR, "amount": float("inf")}], "number 1.amount is not a number", "without end"),
    ([{**YEAR, "amount": float("nan")}], "number 1.amount is not a number", "no number"),
    ([{"account": "a", "amount": 1}], "number 1.from: no month", "from when on"),
    ([{**YEAR, "from": "2026"}], "number 1.from: not a month", "a year"),
    ([{**YEAR, "from": 2026}], "number 1.from: not a month", "a number"),
    ([{**YEAR, "until": "2025-12"}], "2025-12 is before 2026-01", "the wrong way round"),
    ([YEAR, {**YEAR, "from": "2026-12", "until": None}], "physics has two budgets for 2026-12", "both hold"),
    ([{**YEAR, "until": None}, {**YEAR, "from": "2027-01", "until": "2027-01"}], "two budgets for 2027-01", "no end"),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "said", "why"), WRONG, ids=[case[2] for case in WRONG])
def test_a_mistake_is_named(tables: Any, said: str, why: str) -> None:
    with pytest.raises(AdminkitError, match=said):
        read_budgets(tables, "budgets")


def test_two_accounts_may_have_the_same_months() -> None:
    assert [one.account for one in read_budgets([YEAR, {**YEAR, "account": "chemistry"}], "budgets")] == [
        "physics", "chemistry",
    ]  # fmt: skip


def test_a_file_of_schemes_has_them(tmp_path: Path) -> None:
    file = schemes(tmp_path, top="", digits=0)
    file.write_text(file.read_text() + '\n[[budgets]]\naccount = "Physics"\namount = 12.5\nfrom = "2026-01"\n')
    assert load_schemes(file).budgets == (Budget("physics", Decimal("12.5"), "2026-01", None),)
    assert load_schemes(schemes(tmp_path)).budgets == ()


#: the entries, the closed months, (spent, left, share, last month, other units), why
SPENT: list[tuple[list[Line], list[str], tuple[Any, ...], str]] = [
    ([], [], ("0", "100", 0.0, None, ()), "nothing is closed"),
    ([line("2026-01", "physics", "60"), line("2026-12", "physics", "0.5")], ["2026-01", "2026-12"],
     ("60.5", "39.5", 0.605, "2026-12", ()), "the first month and the last"),
    ([line("2025-12", "physics", "60"), line("2027-01", "physics", "1")], ["2025-12", "2027-01"],
     ("0", "100", 0.0, None, ()), "the months around"),
    ([line("2026-03", "vision", "60"), line("2026-03", None, "5")], ["2026-03"], ("0", "100", 0.0, "2026-03", ()),
     "another account, and none"),
    ([line("2026-03", "physics", "160"), line("2026-04", "physics", "-20")], ["2026-03", "2026-04"],
     ("140", "-40", 1.4, "2026-04", ()), "overspent, and something given back"),
    ([line("2026-03", "physics", "10"), line("2026-04", "physics", "500", "JPY")], ["2026-03", "2026-04"],
     ("10", "90", 0.1, "2026-04", ("JPY",)), "another unit is not money of this budget"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "closed", "expected", "why"), SPENT, ids=[case[3] for case in SPENT])
def test_what_is_spent(lines: list[Line], closed: list[str], expected: tuple[Any, ...], why: str) -> None:
    (one,) = spent(read_budgets([YEAR], "budgets"), lines, closed, "points")
    assert (str(one.amount), str(one.left), one.share, one.last, one.others) == expected, why
