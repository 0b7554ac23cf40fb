"""The listings of `adminkit charge` with all that they can say."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Final

from adminkit.economy.budgets import Budget, spent
from adminkit.economy.compare import compare
from adminkit.economy.enforce import InForce, Step
from adminkit.economy.schemes import load_schemes
from adminkit.economy.verify import Check, check_chain
from adminkit.render.report import Report
from adminkit.reports import charge, charge_budget, charge_compare, charge_enforce, charge_focus
from adminkit.slurm.budget_limits import Held, Target
from adminkit.slurm.tres_minutes import TresMinutes
from adminkit.stats import ledger
from tests.support.builders import MONDAY, job
from tests.support.charges import add_jobs, billed, closed, fresh, schemes
from tests.support.reports import HOSTILE

DB: Final = "/var/lib/adminkit/trace.db"
DAY: Final = 86_400


def _charged(path: Path) -> sqlite3.Connection:
    """January is closed; a row of it was corrected since, one came late, and bob was forgotten."""
    over = {"start_time": MONDAY + 26 * DAY, "end_time": MONDAY + 28 * DAY, "submit_time": MONDAY, "elapsed": 2 * DAY}
    db = fresh([
        job(1), job(2, user="bob"), job(3, user=HOSTILE, account=HOSTILE, **over),
        job(4, state="RUNNING", end_time=None), job(5, nodes=None), job(6, nodes=None), job(7, user=None),
        job(8, source="text"), job(9, elapsed=0),
    ])  # fmt: skip
    closed(db, schemes(path, "node_hours * 1500", digits=2), "2026-01")
    db.execute("UPDATE job SET elapsed = 1800 WHERE job_id_raw = 2")
    db.execute("DELETE FROM person WHERE user = 'bob'")
    add_jobs(db, [job(10)])
    return db


def preview(path: Path) -> Report:
    return charge.bill_report(billed(_charged(path), path / "charge.toml", "2026-02"), DB, [charge.NOTHING_WRITTEN])


def not_chargeable(path: Path) -> Report:
    found = billed(_charged(path), path / "charge.toml", "2026-02")
    return charge.refused_report(found, DB, [charge.NOTHING_WRITTEN])


def statement(path: Path) -> Report:
    db = _charged(path)
    closed(db, path / "charge.toml", "2026-02")
    return charge.statement_report(ledger.lines(db), _closes(db), {}, DB, [])


def entries(path: Path) -> Report:
    db = _charged(path)
    closed(db, path / "charge.toml", "2026-02")
    return charge.entries_report(ledger.lines(db), _closes(db), {"account": "vision"}, DB, [])


def _closes(db: sqlite3.Connection) -> list[ledger.CloseOf]:
    """The closes with another hash: theirs changes with the random ids of persons."""
    return [one._replace(hash="5" * 64) for one in ledger.closes(db)]


def verify(path: Path) -> Report:
    db = _charged(path)
    heads = Check(
        "heads", 2, ["the close of 2026-02, recorded at 2026-03-02T09:00:00, is not in the ledger: 555555555555"]
    )
    again = billed(db, path / "charge.toml", "2026-01")
    return charge.verify_report([*check_chain(db), heads], again, ledger.charged_runs(db), DB)


def budgets(path: Path) -> Report:
    """One overspent, one near its end, one of which no month is closed; Slurm's of an account, a user and a QOS."""
    db = _charged(path)
    found = spent(
        [
            Budget("vision", Decimal("1500"), "2026-01", "2026-12"),
            Budget(HOSTILE, Decimal("80000"), "2026-01", None),
            Budget("late", Decimal("10"), "2026-02", None),
        ],
        [*ledger.lines(db)], ["2026-01"], "points",
    )  # fmt: skip
    minutes = [
        TresMinutes("physics", None, None, "cpu", 6000, 5400, "half-life 7-00:00:00", True),
        TresMinutes("physics", HOSTILE, None, "gres/gpu", 100, 120, "", False),
        TresMinutes(None, None, "gold", "cpu", 0, 0, "", True),
    ]
    return charge_budget.budget_report(found, minutes, "points", DB, ["a note"])


def enforced(_: Path) -> Report:
    """A limit that is set, one that stays, one that ends, and two that adminkit leaves alone."""
    physics, gold = Target("alpha", "physics", None), Target("alpha", "physics", "gold")
    year = Budget("physics", Decimal("1000"), "2026-01", "2026-12")
    ours = InForce("gres/gpu", 700, None)
    steps = [
        Step(year, physics, "gres/gpu", 900, 120, Held(None, 50), 830, None, "half-life 7-00:00:00", 47),
        Step(year, gold, "gres/gpu", 650, 0, Held(700, 50), 700, ours),
        Step(replace(year, until="2026-02"), physics, "gres/gpu", now=Held(700, 50), ours=ours, ends=True),
        Step(Budget(HOSTILE, Decimal("5"), "2026-01", None), Target("alpha", HOSTILE, None), problem="no such account"),
        Step(year, physics, "gres/gpu", 900, 0, Held(77, 5), 905, problem="it has a limit that adminkit did not set"),
    ]  # fmt: skip
    return charge_enforce.enforce_report(steps, DB, ["a note"], done=False)


def focus(path: Path) -> Report:
    db = _charged(path)
    closed(db, path / "charge.toml", "2026-02")
    file = load_schemes(path / "charge.toml")
    money = charge_focus.currency("points", "JPY", Decimal("12.5"), "RICC")
    return charge_focus.focus_report(ledger.lines(db), money, file.named(None).calendar, DB, entries=False)


def compared(path: Path) -> Report:
    """By GPU-hours eve pays more, ada less and the others the same; the energy of a job is not known."""
    file = path / "charge.toml"
    file.write_text(
        'version = 1\nscheme = "old"\n[schemes.old]\nformula = "elapsed / 60"\nunit = "points"\n[schemes.new]\n'
        'formula = "gpu_hours * 60 if nodes < 2 else energy_kwh"\nunit = "points"\ndigits = 0\nrounding = "up"\n'
    )
    jobs = [
        job(1, gpus=0), job(2), job(3, user="bob"), job(4, user="eve", gpus=4), job(5, user=HOSTILE, account=HOSTILE),
        job(6, nodes=2), job(7, source="text"), job(8, elapsed=0),
    ]  # fmt: skip
    both = load_schemes(file).named("old"), load_schemes(file).named("new")
    found = compare(fresh(jobs), both, (), (MONDAY, None), "user")
    return charge_compare.compare_report(found, "user", (MONDAY, None), (MONDAY, MONDAY + DAY), (), DB)
