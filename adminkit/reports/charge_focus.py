"""The ledger as FOCUS rows: the FinOps Open Cost and Usage Specification, version 1.3, whose columns of 1.2 that it
deprecates are there too (https://focus.finops.org/focus-specification/v1-3/).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from adminkit.economy.months import Calendar, following
from adminkit.errors import UsageError
from adminkit.quote import quote
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.stats.ledger import EXACT, Line

#: Column -> where it comes from. Those with x_ are ours, as FOCUS wants it.
COLUMNS: Final = {
    "BilledCost": "the amount of the entries, in the currency",
    "BillingAccountId": "the cluster",
    "BillingAccountName": "the cluster",
    "BillingCurrency": "ISO 4217: the unit of the scheme, or --currency",
    "BillingPeriodEnd": "the end of the month of the bill, UTC",
    "BillingPeriodStart": "its beginning",
    "ChargeCategory": "Usage",
    "ChargeClass": "Correction, for an entry that changes an earlier bill; else empty",
    "ChargeDescription": "what it is, in words",
    "ChargeFrequency": "Usage-Based",
    "ChargePeriodEnd": "the end of the month in which the jobs ran, UTC",
    "ChargePeriodStart": "its beginning",
    "ConsumedQuantity": "the hours for which the jobs ran; empty for a correction",
    "ConsumedUnit": "Hours",
    "ContractedCost": "as BilledCost: there are no discounts",
    "EffectiveCost": "as BilledCost",
    "HostProviderName": "--provider",
    "InvoiceId": "the month of the bill",
    "InvoiceIssuerName": "--provider",
    "ListCost": "as BilledCost",
    "PricingCategory": "Standard",
    "PricingQuantity": "as ConsumedQuantity",
    "PricingUnit": "Hours",
    "ProviderName": "--provider; deprecated by 1.3",
    "PublisherName": "--provider; deprecated by 1.3",
    "ResourceId": "the cluster and the job's number, with --entries",
    "ResourceName": "the job's number, with --entries",
    "ResourceType": "Slurm job",
    "ServiceCategory": "Compute",
    "ServiceName": "Slurm",
    "ServiceProviderName": "--provider",
    "ServiceSubcategory": "Other (Compute)",
    "SubAccountId": "the account",
    "SubAccountName": "the account",
    "x_Jobs": "the number of jobs",
    "x_Kind": "charge, late or correction",
    "x_User": "the user; empty for who was forgotten",
}
#: Exact, as programs join by names. Accounts and users are made by administrators, not by users.
FIELDS: Final = tuple(
    Field(name, "count" if name == "x_Jobs" else "text", help, exact=True) for name, help in COLUMNS.items()
)


@dataclass(frozen=True, slots=True)
class Currency:
    """What amounts become: `price` of one unit of the scheme."""

    code: str
    price: Decimal
    provider: str


def currency(unit: str, code: str | None, price: Decimal | None, provider: str) -> Currency:
    """UsageError where the unit of the scheme is not a currency, and no currency was named."""
    if code is None and len(unit) == 3 and unit.isascii() and unit.isupper():
        return Currency(unit, price or Decimal(1), provider)
    if code is None or price is None:
        raise UsageError(
            f"FOCUS wants a currency of ISO 4217, and the unit of the charges is {quote(unit)}",
            "name it and the price of a unit: --currency JPY --price 12.5",
        )
    if not (len(code) == 3 and code.isascii() and code.isalpha() and code.isupper()):
        raise UsageError(f"this is not a currency: {quote(code)}", "write its ISO 4217 code: JPY, EUR, USD")
    if not price.is_finite() or price <= 0:
        raise UsageError("the price of a unit is a number above 0", "write it as --price 12.5")
    return Currency(code, price, provider)


def focus_report(lines: Iterable[Line], money: Currency, calendar: Calendar, database: str, *, entries: bool) -> Report:
    """A row for each month, account, user and kind; with `entries` for each entry. Nothing is added up across units."""
    groups: dict[tuple[object, ...], list[Line]] = {}
    for one in lines:
        key = (one.billed, one.period, one.cluster, one.account, one.user, one.kind, one.n if entries else 0)
        groups.setdefault(key, []).append(one)
    rows = [_row(group, money, calendar, entries) for group in groups.values()]
    meta = Meta("Charges in FOCUS 1.3", database, (None, None), (), {}, None, {}, ())
    return Report(meta, FIELDS, rows)


def _row(group: Sequence[Line], money: Currency, calendar: Calendar, entries: bool) -> list[Cell]:
    first = group[0]
    amount = Decimal(0)
    for one in group:
        amount = EXACT.add(amount, Decimal(one.amount))
    cost = f"{EXACT.multiply(amount, money.price):f}"
    correction = first.kind == "correction"
    hours = None if correction else f"{sum(one.seconds for one in group) / 3600:.6f}"
    jobs = len({(one.cluster, one.job_id_raw, one.submit_time) for one in group})
    said = f"Slurm jobs of {first.period}, {first.kind} in the bill of {first.billed}"
    values: dict[str, Cell] = {
        **dict.fromkeys(("BilledCost", "ContractedCost", "EffectiveCost", "ListCost"), cost),
        **dict.fromkeys(("BillingAccountId", "BillingAccountName"), first.cluster),
        "BillingCurrency": money.code,
        "BillingPeriodStart": _moment(calendar.begin(first.billed)),
        "BillingPeriodEnd": _moment(calendar.begin(following(first.billed))),
        "ChargeCategory": "Usage", "ChargeClass": "Correction" if correction else None, "ChargeDescription": said,
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": _moment(calendar.begin(first.period)),
        "ChargePeriodEnd": _moment(calendar.begin(following(first.period))),
        **dict.fromkeys(("ConsumedQuantity", "PricingQuantity"), hours),
        **dict.fromkeys(("ConsumedUnit", "PricingUnit"), None if correction else "Hours"),
        **dict.fromkeys(("HostProviderName", "InvoiceIssuerName", "ProviderName", "PublisherName"), money.provider),
        "ServiceProviderName": money.provider, "InvoiceId": first.billed, "PricingCategory": "Standard",
        "ResourceId": f"{first.cluster}/{first.job_id_raw}" if entries else None,
        "ResourceName": f"job {first.job_id_raw}" if entries else None,
        "ResourceType": "Slurm job" if entries else None,
        "ServiceCategory": "Compute", "ServiceName": "Slurm", "ServiceSubcategory": "Other (Compute)",
        **dict.fromkeys(("SubAccountId", "SubAccountName"), first.account),
        "x_Jobs": jobs, "x_Kind": first.kind, "x_User": first.user,
    }  # fmt: skip
    return [values[name] for name in COLUMNS]


def _moment(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
