"""Budgets put into Slurm: what the ledger leaves of a budget becomes GrpTRESMins of its account or QOS.

    limit = what slurmctld counts as used now + what is left of the budget - what ran and is in no bill yet

So the limit does not depend on when Slurm began to count, nor on what it forgot before. What it forgets afterwards
(decay) is given back to the account until the limit is set again, which each close does.

What is about to be set is written down first, so that a limit is known as adminkit's own wherever it is killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, Final

from adminkit import actions
from adminkit.economy.bill import bill, next_month
from adminkit.economy.budgets import Budget, spent_of
from adminkit.economy.linear import Price, price_of
from adminkit.economy.schemes import ChargeFile
from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.slurm.budget_limits import Held, Target, change, held
from adminkit.slurm.process import SlurmTimeout
from adminkit.slurm.tres_minutes import Counting, counting
from adminkit.sqlite import sqlite3
from adminkit.stats.ledger import EXACT
from adminkit.stats.occupied_now import occupied_now
from adminkit.stats.select import clusters
from adminkit.trace.actions import record_actions
from adminkit.trace.transaction import transaction
from adminkit.trace.windows import fact, facts, set_fact

#: What is kept about a cluster under this and the account: a JSON object with the fields of InForce; "" once revoked.
_FACT: Final = "budget/"
SET, REVOKED = "charge budget set", "charge budget revoked"
DAY: Final = 86_400

Ask = Callable[[Target, str], Held]


@dataclass(frozen=True, slots=True)
class InForce:
    """A limit that adminkit set; before the first one, there was none.

    Where it is not `sure` that Slurm has it, as adminkit was stopped while it set it, Slurm may also have `before`.
    `minutes` None: it was being taken away.
    """

    tres: str
    minutes: int | None
    qos: str | None
    sure: bool = True
    before: int | None = None

    @property
    def may_be(self) -> tuple[int | None, ...]:
        return (self.minutes,) if self.sure else (self.minutes, self.before)


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done about one budget. Minutes are of `tres`; `wanted` None: no limit.

    `problem`: why nothing is done; "" where it can be. `ends`: the limit is taken away.
    """

    budget: Budget
    target: Target
    tres: str = ""
    left: int | None = None  # minutes that the ledger leaves
    unbilled: int | None = None  # minutes that ran and are in no bill
    now: Held | None = None
    wanted: int | None = None
    ours: InForce | None = None
    decays: str = ""
    returns: int = 0  # minutes that Slurm forgets, and so gives back, within 30 days
    ends: bool = False
    problem: str = ""

    @property
    def acts(self) -> bool:
        unsure = self.ours is not None and not self.ours.sure  # slurmctld may not have been told what slurmdbd has
        return not self.problem and self.now is not None and (self.now.most != self.wanted or unsure)


def cluster_of(db: sqlite3.Connection, file: ChargeFile) -> str:
    """The one cluster that is charged. AdminkitError where there are several: each would have the whole budget."""
    names = list(file.clusters) or clusters(db)
    if not names:
        raise AdminkitError(
            "the trace has no cluster yet", "run adminkit sync, or name it in `clusters` of charge.toml"
        )
    if len(names) != 1:
        raise AdminkitError(
            f"budgets count {len(names)} clusters together, and Slurm holds each cluster by itself",
            "name one cluster in `clusters` of charge.toml",
        )
    return names[0]


def steps(
    db: sqlite3.Connection,
    file: ChargeFile,
    budgets: Sequence[Budget],
    now: int,
    ask: Ask = held,
    how: Callable[[str | None], Counting] = counting,
) -> list[Step]:
    """What holding these budgets takes. AdminkitError where the scheme is not a price, or slurmctld is away."""
    price, cluster = price_of(file.named(None)), cluster_of(db, file)
    month = file.named(None).calendar.of(now)
    owed = _unbilled(db, file, month)
    found = []
    for budget in budgets:
        target = Target(cluster, budget.account, budget.qos)
        ours = in_force(db, cluster, budget.account)
        try:
            found.append(_step(db, file, (budget, target, ours), price, (month, now), owed, ask, how))
        except AdminkitError as error:
            found.append(Step(budget, target, price.tres, ours=ours, problem=error.message))
    return found


def _step(
    db: sqlite3.Connection,
    file: ChargeFile,
    of: tuple[Budget, Target, InForce | None],
    price: Price,
    at: tuple[str, int],
    owed: Mapping[tuple[str, str], Decimal],
    ask: Ask,
    how: Callable[[str | None], Counting],
) -> Step:
    (budget, target, ours), (month, now) = of, at
    present = ask(target, price.tres)
    if not budget.holds(month):
        another = any(one.account == budget.account and one.holds(month) for one in file.budgets)
        if ours is not None and not another:
            return _kept(Step(budget, target, price.tres, now=present, ours=ours, ends=True))
        over = budget.until is not None and budget.until < month
        why = "its months are over" if over else f"it begins in {budget.since}"
        return Step(budget, target, price.tres, now=present, problem=why)
    (spent,) = spent_of(db, [budget], file.clusters, file.named(None).unit)
    new = [amount for (account, billed), amount in owed.items() if account == budget.account and budget.holds(billed)]
    running = occupied_now(db, target.cluster, budget.account, price.column, now) // 60
    unbilled, left = price.minutes(sum(new, Decimal(0))) + running, price.minutes(spent.left)
    counted = how(budget.qos)
    kept = 1.0 if counted.half_life is None else 0.5 ** (30 * DAY / counted.half_life)
    wanted = max(present.used + left - unbilled, 0)
    return _kept(
        Step(
            budget, target, price.tres, left, unbilled, present, wanted, ours, counted.decays,
            present.used - int(present.used * kept),
        )
    )  # fmt: skip


def _kept(step: Step) -> Step:
    """A limit that somebody else set, or changed, is left alone."""
    ours, now = step.ours, step.now
    most = None if now is None else now.most
    problem = ""
    if ours is None and most is not None:
        problem = f"it has a limit that adminkit did not set: {most} {step.tres} minutes"
    elif ours is not None and (ours.tres, ours.qos) != (step.tres, step.target.qos):
        problem = "its TRES or QOS has changed: revoke it first"
    elif ours is not None and most not in (*ours.may_be, step.wanted):
        problem = f"somebody changed its limit: adminkit set {_said(ours.minutes)}, Slurm has {_said(most)}"
    return replace(step, problem=problem)


def _said(most: int | None) -> str:
    return "none" if most is None else str(most)


def revocations(db: sqlite3.Connection, file: ChargeFile, budgets: Sequence[Budget], ask: Ask = held) -> list[Step]:
    """What taking away the limits of these budgets takes."""
    cluster, found = cluster_of(db, file), []
    for budget in budgets:
        ours = in_force(db, cluster, budget.account)
        target = Target(cluster, budget.account, ours.qos if ours else budget.qos)
        if ours is None:
            found.append(Step(budget, target, problem="adminkit has set no limit for it"))
            continue
        try:
            present = ask(target, ours.tres)
        except AdminkitError as error:
            found.append(Step(budget, target, ours.tres, ours=ours, problem=error.message))
            continue
        found.append(_kept(Step(budget, target, ours.tres, now=present, ours=ours, ends=True)))
    return found


def apply(
    db: sqlite3.Connection,
    todo: Sequence[Step],
    now: int,
    set_limit: Callable[[Target, str, int | None], None] = change,
    log: Callable[[Mapping[str, Any]], None] | None = None,
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Do it: (the acts; what failed, in sentences). Each is recorded, in `log` too, before the next one."""
    acts: list[Mapping[str, Any]] = []
    failed: list[str] = []
    for step in todo:
        if step.problem or step.now is None:
            continue
        limit = InForce(step.tres, step.wanted, step.target.qos, before=step.now.most)
        if not step.acts:
            _keep(db, step, None if step.ends else limit, now)
            continue
        _keep(db, step, replace(limit, sure=False), now)
        try:
            set_limit(step.target, step.tres, step.wanted)
        except AdminkitError as error:
            failed.append(f"the limit of {quote(step.target.name)} was not changed: {error.message}")
            if not isinstance(error, SlurmTimeout):  # then nobody knows
                _keep(db, step, step.ours, now)
            continue
        act = actions.act(
            REVOKED if step.ends else SET, None, None, {}, cluster=step.target.cluster,
            account=step.budget.account, qos=step.target.qos, tres=step.tres, minutes=step.wanted,
            minutes_before=step.now.most,
        )  # fmt: skip
        with transaction(db):
            _keep(db, step, None if step.ends else limit, now)
            record_actions(db, [act])
        acts.append(act)
        try:
            if log is not None:
                log(act)
        except AdminkitError as error:
            failed.append(f"this host's action log does not record it: {error.message}")
    return acts, failed


def _keep(db: sqlite3.Connection, step: Step, limit: InForce | None, now: int) -> None:
    value = "" if limit is None else json.dumps(asdict(limit))
    set_fact(db, step.target.cluster, _FACT + step.budget.account, value, now)


def in_force(db: sqlite3.Connection, cluster: str, account: str) -> InForce | None:
    """The limit that adminkit set for that account; None for none."""
    row = fact(db, cluster, _FACT + account)
    return InForce(**json.loads(row[0])) if row and row[0] else None


def any_in_force(db: sqlite3.Connection, file: ChargeFile) -> bool:
    """Whether adminkit has set a limit on any cluster."""
    return any(value for name in {*file.clusters, *clusters(db)} for value in facts(db, name, _FACT).values())


def is_held(db: sqlite3.Connection, names: Sequence[str], account: str) -> bool:
    """Whether Slurm has a limit of adminkit's for that account, on any of these clusters, or of the trace's."""
    return any(in_force(db, name, account) is not None for name in {*names, *clusters(db)})


def abandoned(db: sqlite3.Connection, file: ChargeFile) -> list[Budget]:
    """What adminkit set for accounts of which the file has no budget any more, as budgets of nothing."""
    named = {one.account for one in file.budgets}
    return [
        Budget(account, Decimal(0), "", None, InForce(**json.loads(value)).qos)
        for account, value in facts(db, cluster_of(db, file), _FACT).items()
        if value and account not in named
    ]


def _unbilled(db: sqlite3.Connection, file: ChargeFile, month: str) -> dict[tuple[str, str], Decimal]:
    """(account, month of the bill that will have it) -> the amount of runs that ended and no bill has."""
    found: dict[tuple[str, str], Decimal] = {}
    first = next_month(db) or month
    for due in bill(db, file, max(month, first)).dues:
        if due.account is not None:
            key = (due.account, max(due.period, first))
            found[key] = EXACT.add(found.get(key, Decimal(0)), Decimal(due.amount))
    return found
