"""Letters about charges: a user's statement of a month that was closed, and a budget that is nearly spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from adminkit.config import Config
from adminkit.economy.budgets import spent_of
from adminkit.economy.enforce import is_held
from adminkit.economy.schemes import ChargeFile, load_schemes
from adminkit.errors import AdminkitError
from adminkit.feedback import format
from adminkit.feedback.letter import BudgetLetter, StatementLetter
from adminkit.quote import quote
from adminkit.slurm.coordinators import coordinators
from adminkit.sqlite import sqlite3
from adminkit.stats.ledger import CloseOf, Group, Line, Sum, closes, lines, sums, uids
from adminkit.users import uid_of

#: Seconds for which a close causes letters.
RECENT: Final = 31 * 86_400
#: recipient(user, uid, account, kind): language and address, else why the user gets none.
Recipient = Callable[[str | None, int | None, str | None, Any], tuple[str, str] | str]


@dataclass(frozen=True, slots=True)
class Undone:
    """What could not be looked at, in a sentence: the other letters go, and the run ends with exit code 1."""

    why: str


@dataclass(frozen=True, slots=True)
class Charged:
    """A line of a statement. Amounts are texts, as the ledger has them; None where there is nothing of the kind."""

    account: str | None
    jobs: int
    seconds: int
    charge: str
    late: str | None
    correction: str | None
    amount: str
    unit: str


def due_charges(
    db: sqlite3.Connection, settings: Config, cluster: str, on: int, now: int, recipient: Recipient
) -> Iterator[StatementLetter | BudgetLetter | Undone | str]:
    """Letters that the last close causes, where it came after `on` and is recent: statements, and for all clusters
    together budgets. A text is why somebody gets none, or what the operators should know.
    """
    last = next(reversed(closes(db)), None)
    if last is None or last.at < on or now - last.at > RECENT:
        return
    if settings.feedback.statements:
        yield from due_statements(db, cluster, last, recipient)
    if settings.feedback.budget_at and cluster == settings.feedback.clusters[0]:
        try:
            yield from due_budgets(db, settings, load_schemes(settings.charge), last, recipient)
        except AdminkitError as error:
            yield Undone(f"budgets are not checked: {error.message}")


def due_statements(
    db: sqlite3.Connection, cluster: str, close: CloseOf, recipient: Recipient
) -> Iterator[StatementLetter | str]:
    """A statement for each user whom the bill names; why not, for the others."""
    known = uids(db, cluster)
    accounts: dict[str, str | None] = {}
    for line in lines(db, months=[close.month], clusters=[cluster]):
        if line.user is not None:
            accounts.setdefault(line.user, line.account)
    for user, account in sorted(accounts.items()):
        uid = known.get(user)
        to = recipient(user, uid, account, "statement")
        if isinstance(to, str) or uid is None:
            yield to if isinstance(to, str) else "unknown"
            continue
        yield StatementLetter(
            cluster=cluster, user=user, uid=uid, language=to[0], address=to[1], week=close.month, since=close.at,
            until=close.at,
        )  # fmt: skip


#: (cluster, month) -> user -> the lines of the bill. They are added up for each statement: a line that cannot be
#: stops only the statement of its user.
Bills = dict[tuple[str, str], dict[str, list[Line]]]


def bills(db: sqlite3.Connection, dues: Iterable[object]) -> Bills:
    """What the statements among `dues` are made of: the ledger is read once for each cluster and month."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for due in dues:
        if isinstance(due, StatementLetter):
            wanted.setdefault((due.cluster, due.week), set()).add(due.user)
    found: Bills = {}
    for (cluster, month), users in wanted.items():
        only = [*users] if len(users) == 1 else ()
        its = found.setdefault((cluster, month), {})
        for line in lines(db, months=[month], users=only, clusters=[cluster]):
            if line.user in users:
                its.setdefault(line.user, []).append(line)
    return found


def statement(known: Bills, due: StatementLetter) -> dict[str, Any]:
    """The values of statement.*.j2."""
    found = known.get((due.cluster, due.week), {}).get(due.user)
    if not found:
        raise AdminkitError(f"the ledger has no entry of {due.user} in {due.week}", "the user may have been forgotten")
    try:
        added = sums(found)
    except ArithmeticError as error:
        raise AdminkitError(
            f"the ledger has an amount of {due.user} in {due.week} that is not a number",
            "adminkit charge verify names it",
        ) from error
    return {"month": due.week, "closed": due.since, "charged": _charged(added), "totals": _totals(added)}


def _charged(found: dict[Group, Sum]) -> list[Charged]:
    return [
        Charged(
            format.harmless(account) if account else None, len(one.jobs), one.seconds, _money(one.charge),
            _money(one.late) if one.late else None, _money(one.correction) if one.correction else None,
            _money(one.amount), unit,
        )
        for (_, _, account, _, unit), one in found.items()
    ]  # fmt: skip


def _totals(found: dict[Group, Sum]) -> list[tuple[str, str]]:
    """Amount and unit of the whole; different units are never added up."""
    units = sorted({key[-1] for key in found})
    amounts = [sum((one.amount for key, one in found.items() if key[-1] == unit), Decimal(0)) for unit in units]
    return [(_money(amount), unit) for amount, unit in zip(amounts, units, strict=True)]


def due_budgets(
    db: sqlite3.Connection, settings: Config, file: ChargeFile, close: CloseOf, recipient: Recipient
) -> Iterator[BudgetLetter | Undone | str]:
    """A letter for each budget that has reached one of [feedback] budget_at, the highest of them: to the account's
    coordinators, else to the operators; a sentence where nobody can be told.
    """
    feedback = settings.feedback
    for each in file.budgets:
        try:
            (one,) = spent_of(db, [each], file.clusters, file.named(None).unit)
        except (AdminkitError, ArithmeticError) as error:
            why = error.message if isinstance(error, AdminkitError) else "an amount in the ledger is not a number"
            yield Undone(f"the budget of {quote(each.account)} is not checked: {why}")
            continue
        reached = [mark for mark in feedback.budget_at if one.share >= mark]
        if not reached:
            continue
        account, percent = one.budget.account, round(max(reached) * 100)
        people: list[tuple[str | None, int | None, str, str]] = []
        try:
            people += _coordinators(account, recipient)
        except AdminkitError as error:
            yield Undone(f"couldn't ask who coordinates {quote(account)}: {error.message}")
        if not people and feedback.operators:
            people = [(None, None, feedback.language, ", ".join(feedback.operators))]
        if not people:
            yield f"{percent} % of the budget of {quote(account)} is spent, and there is nobody to tell"
        for user, uid, language, address in people:
            yield BudgetLetter(
                cluster=feedback.clusters[0], user=user, uid=uid, language=language, address=address,
                about=f"{one.budget.since}/{percent}/{'operators' if uid is None else uid}/{account}",
                week=close.month, since=close.at, until=close.at,
            )  # fmt: skip


def budget(db: sqlite3.Connection, due: BudgetLetter, file: ChargeFile) -> dict[str, Any]:
    """The values of budget.*.j2. AdminkitError where charge.toml has the budget no longer."""
    since, percent, _, account = due.about.split("/", 3)
    named = [one for one in file.budgets if (one.account, one.since) == (account, since)]
    if not named:
        raise AdminkitError(
            f"{file.path} no longer has a budget for {account} from {since}", "nothing to do: the letter is not sent"
        )
    (one,) = spent_of(db, named, file.clusters, file.named(None).unit)
    return {
        "account": format.harmless(account), "percent": int(percent), "share": one.share,
        "unit": file.named(None).unit, "budget": _money(one.budget.amount), "spent": _money(one.amount),
        "left": _money(max(one.left, Decimal(0))), "over": _money(-one.left) if one.left < 0 else None,
        "first": one.budget.since, "until": one.budget.until, "last": one.last,
        "held": is_held(db, [due.cluster, *file.clusters], account),
    }  # fmt: skip


def _coordinators(account: str, recipient: Recipient) -> Iterator[tuple[str, int, str, str]]:
    """(user, uid, language, address) of those who can be told. AdminkitError where slurmdbd does not say who."""
    for name in coordinators(account):
        uid = uid_of(name)
        to = recipient(name, uid, None, "budget")
        if uid is not None and not isinstance(to, str):
            yield name, uid, *to


def _money(amount: Decimal) -> str:
    return f"{amount:,f}"
