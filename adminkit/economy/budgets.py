"""Budgets of accounts in the ledger's money: `[[budgets]]` of charge.toml, and what closed months spent of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from adminkit.economy.months import parse_month
from adminkit.errors import AdminkitError, UsageError, unknown_word
from adminkit.quote import clean, quote
from adminkit.sqlite import sqlite3
from adminkit.stats.ledger import EXACT, Line, closes, lines

_KEYS: Final = ("account", "amount", "from", "until", "qos")
_MOST: Final = 10**15


@dataclass(frozen=True, slots=True)
class Budget:
    """What an account may spend in the bills of these months, both included; no `until`: for good."""

    account: str
    amount: Decimal
    since: str
    until: str | None
    qos: str | None = None  # Slurm holds the budget at this QOS, not at the account

    def holds(self, month: str) -> bool:
        return self.since <= month and (self.until is None or month <= self.until)

    @property
    def months(self) -> str:
        """2026-01 to 2026-12."""
        return f"{self.since} to {self.until}" if self.until else f"from {self.since}"


@dataclass(frozen=True, slots=True)
class Spent:
    """A budget and what the ledger has of it. `others`: units in which the account was charged too, not counted."""

    budget: Budget
    amount: Decimal
    last: str | None  # the last month whose bill is in it
    others: tuple[str, ...] = ()

    @property
    def left(self) -> Decimal:
        """Below 0 where more was spent."""
        return EXACT.subtract(self.budget.amount, self.amount)

    @property
    def share(self) -> float:
        return float(self.amount / self.budget.amount)


def read_budgets(tables: Any, where: str) -> tuple[Budget, ...]:
    """The budgets of a file. AdminkitError names the one with a mistake; two of an account may not share a month."""
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise AdminkitError(f"{where} is not a list of tables", "write [[budgets]] for each, with its keys below")
    found = [_budget(table, f"{where}, number {number}") for number, table in enumerate(tables, start=1)]
    for place, one in enumerate(found):
        for other in found[:place]:
            first, second = sorted((one, other), key=lambda budget: budget.since)
            if one.account == other.account and first.holds(second.since):
                raise AdminkitError(
                    f"{where}: {quote(one.account)} has two budgets for {second.since}", "give each its own months"
                )
    return tuple(found)


def spent(budgets: Iterable[Budget], entries: Iterable[Line], closed: Sequence[str], unit: str) -> list[Spent]:
    """What the entries in `unit` have spent of each budget. `closed`: the months that are closed, in order."""
    sums: dict[tuple[str | None, str, str], Decimal] = {}
    for line in entries:
        key = (line.account, line.billed, line.unit)
        sums[key] = EXACT.add(sums.get(key, Decimal(0)), Decimal(line.amount))
    return [_of(budget, sums, closed, unit) for budget in budgets]


def spent_of(db: sqlite3.Connection, budgets: Sequence[Budget], clusters: Sequence[str], unit: str) -> list[Spent]:
    """The same from the ledger; reads only the entries of these budgets' accounts and months."""
    closed = [one.month for one in closes(db)]
    months = [month for month in closed if any(one.holds(month) for one in budgets)]
    accounts = [one.account for one in budgets]
    found = lines(db, months=months, accounts=accounts, clusters=clusters) if months else ()
    return spent(budgets, found, closed, unit)


def _of(budget: Budget, sums: Mapping[tuple[str | None, str, str], Decimal], closed: Sequence[str], unit: str) -> Spent:
    total, others = Decimal(0), set[str]()
    for (account, month, of), amount in sums.items():
        if account == budget.account and budget.holds(month):
            if of == unit:
                total = EXACT.add(total, amount)
            else:
                others.add(of)
    last = max((month for month in closed if budget.holds(month)), default=None)
    return Spent(budget, total, last, tuple(sorted(others)))


def _budget(table: Mapping[str, Any], where: str) -> Budget:
    for key in table:
        if key not in _KEYS:
            near = unknown_word("key", key, _KEYS)
            raise AdminkitError(f"{where}: {near.message}", near.hint)
    account, amount = table.get("account"), table.get("amount")
    if not isinstance(account, str) or not account or clean(account) != account:
        raise AdminkitError(f"{where}.account: no account", 'write account = "physics"')
    if not isinstance(amount, int | float) or isinstance(amount, bool) or not 0 < amount <= _MOST:
        raise AdminkitError(
            f"{where}.amount is not a number from above 0 to {_MOST:g}",
            "write amount = 1000, in the unit of the scheme",
        )
    since, until = (_month(table.get(key), f"{where}.{key}") for key in ("from", "until"))
    if since is None:
        raise AdminkitError(f"{where}.from: no month", 'write from = "2026-01": the first month that it is for')
    if until is not None and until < since:
        raise AdminkitError(f"{where}: {until} is before {since}", "`until` is the last month, `from` the first")
    qos = table.get("qos")
    if qos is not None and (not isinstance(qos, str) or not qos or clean(qos) != qos):
        raise AdminkitError(f"{where}.qos: no QOS", 'write qos = "physics-budget", or leave it out')
    return Budget(account.lower(), Decimal(repr(amount)), since, until, qos)


def _month(value: Any, where: str) -> str | None:
    if value is None:
        return None
    try:
        return parse_month(value if isinstance(value, str) else repr(value))
    except UsageError as error:
        raise AdminkitError(f"{where}: {error.message}", 'write year and month in quotes: "2026-01"') from None
