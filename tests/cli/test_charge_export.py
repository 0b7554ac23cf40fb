"""adminkit charge export --focus: the ledger as FOCUS rows."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.reports.charge_focus import COLUMNS
from adminkit.trace.connect import writer
from adminkit.trace.ledger import append
from adminkit.trace.person import person_of
from tests.support.builders import HOUR, MONDAY, ledger_entry, make_trace
from tests.support.charges import schemes

#: Columns that FOCUS 1.2 or 1.3 makes mandatory for a charge of usage.
MANDATORY = (
    "BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory"
    " ChargeClass ChargeDescription ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName"
    " ListCost PricingQuantity PricingUnit ProviderName PublisherName ServiceCategory ServiceName ServiceProviderName"
    " HostProviderName"
).split()
HOSTILE = "=cmd|'/c calc'!A1"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = make_trace(tmp_path / "t.db")
    monkeypatch.setenv("ADMINKIT_DB", str(path))
    monkeypatch.setenv("ADMINKIT_CHARGE", str(schemes(tmp_path, digits=2)))
    with writer(path) as db:
        ada, bob = (person_of(db, "aaic", user, now=MONDAY, uid=1) for user in ("ada", HOSTILE))
        append(
            db,
            [
                ledger_entry("2026-01", ada, amount="1.25"),
                ledger_entry("2026-01", ada, job_id_raw=2, amount="2.50", seconds=HOUR // 2),
                ledger_entry("2026-02", ada, kind="correction", period="2026-01", amount="-0.25", seconds=0),
                ledger_entry("2026-02", bob, kind="late", period="2026-01", amount="7.00", account=HOSTILE),
            ],
        )
    return path


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["charge", "export", "--focus", *words]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_the_columns_of_focus(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = rows(capsys, "--currency", "JPY", "--price", "12.5", "--provider", "RICC")
    assert [*first] == [*COLUMNS] and not set(MANDATORY) - set(first)
    ours = [name for name in first if name.startswith("x_")]
    assert [*first][-len(ours) :] == ours, "those that are not FOCUS's come last"
    assert (first["BilledCost"], first["BillingCurrency"], first["ConsumedQuantity"]) == ("46.875", "JPY", "1.500000")
    assert (first["BillingPeriodStart"], first["BillingPeriodEnd"]) == ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
    assert (first["SubAccountId"], first["x_User"], first["x_Jobs"]) == ("vision", "ada", "2")
    assert first["HostProviderName"] == first["ProviderName"] == "RICC" and first["ChargeClass"] == ""


def test_the_rows_add_up_to_the_ledger(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    money = ("--currency", "EUR", "--price", "1")
    for words in ((), ("--entries",)):
        found = rows(capsys, *money, *words)
        assert sum(Decimal(one["BilledCost"]) for one in found) == Decimal("10.50")
        assert len(found) == (4 if words else 3)
        named = {(one["ResourceId"], one["ResourceName"]) for one in found}
        assert ("aaic/2", "job 2") in named if words else named == {("", "")}
    assert [one["BilledCost"] for one in rows(capsys, *money, "--month", "2026-01")] == ["3.75"]


def test_a_correction_and_a_late_charge(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "--currency", "EUR", "--price", "1", "--month", "2026-02")
    correction = next(one for one in found if one["x_Kind"] == "correction")
    assert (correction["ChargeClass"], correction["BilledCost"], correction["ConsumedQuantity"]) == (
        "Correction", "-0.25", "",
    )  # fmt: skip
    late = next(one for one in found if one["x_Kind"] == "late")
    assert (late["ChargePeriodStart"], late["BillingPeriodStart"]) == ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
    assert late["x_User"] == late["SubAccountId"] == HOSTILE, "names are whole, and quoted as CSV wants it"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "the unit of the charges is points"),
        (("--currency", "JPY"), "the unit of the charges is points"),
        (("--currency", "yen", "--price", "1"), "not a currency: yen"),
        (("--currency", "JPY", "--price", "0"), "a number above 0"),
        (("--currency", "JPY", "--price", "nan"), "a number above 0"),
        (("--currency", "JPY", "--price", "x"), "not a number: x"),
    ],
)
def test_what_is_no_money_is_refused(
    words: tuple[str, ...], said: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["charge", "export", "--focus", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_format_is_named(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["charge", "export"]) == 2 and "--focus" in capsys.readouterr().err
