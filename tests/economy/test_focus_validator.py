"""The FinOps Foundation's own validator on the export of a ledger with charges, late charges and corrections.

It needs Python 3.12 and versions of pandas and NumPy of its own: `pip install focus-validator` into a virtual
environment, and FOCUS_VALIDATOR=THERE/bin/focus-validator.
"""

from __future__ import annotations

import os
import re
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from adminkit.economy.schemes import load_schemes
from adminkit.render.text import as_csv
from adminkit.reports import charge_focus
from adminkit.stats import ledger
from tests.support.builders import job
from tests.support.charges import add_jobs, closed, fresh, schemes

pytestmark = pytest.mark.soak

PROGRAM: Final = os.environ.get("FOCUS_VALIDATOR", "")
#: The newest version that focus-validator 2.2.1 brings with it.
VERSION: Final = "1.2.0.1"
#: What a site with accounts and Slurm has of what FOCUS makes conditional; resources are jobs, so only with entries.
CRITERIA: Final = "ACCOUNT_NAMING_SUPPORTED,SUB_ACCOUNT_SUPPORTED,USAGE_MEASUREMENT_SUPPORTED"
RESOURCES: Final = ",RESOURCE_TYPE_ASSIGNMENT_SUPPORTED,BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED"
#: Rules that this release of the validator cannot try. An InvoiceId "MUST be null when the charge is not associated
#: with an invoice", and must not be when it is: it tries both without the condition, and asks that one holds. The
#: others read CommitmentDiscountStatus, a column of sites with such discounts.
EXCLUDED: Final = {"InvoiceId-C-004-C"} | {f"ConsumedQuantity-C-00{n}-C" for n in (0, 3, 4, 5, 6)}


@pytest.mark.skipif(not PROGRAM, reason="not run: FOCUS_VALIDATOR names no focus-validator")
@pytest.mark.parametrize("entries", [False, True])
def test_the_export_passes_the_foundations_rules(tmp_path: Path, entries: bool) -> None:
    db = fresh([job(1), job(2, user="bob"), job(3, user="eve", account="chem")])
    closed(db, schemes(tmp_path, "node_hours * 1500", digits=2), "2026-01")
    db.execute("UPDATE job SET elapsed = 1800 WHERE job_id_raw = 2")
    add_jobs(db, [job(10)])
    closed(db, tmp_path / "charge.toml", "2026-02")
    money = charge_focus.currency("points", "JPY", Decimal("12.5"), "RICC")
    calendar = load_schemes(tmp_path / "charge.toml").named(None).calendar
    report = charge_focus.focus_report(ledger.lines(db), money, calendar, "t.db", entries=entries)
    kinds = {row[-2] for row in report.rows}
    assert kinds == {"charge", "late", "correction"}
    file = tmp_path / "focus.csv"
    file.write_text(as_csv(report))
    done = subprocess.run(
        [PROGRAM, "--data-file", file, "--validate-version", VERSION, "--block-download", "--show-violations",
         "--applicability-criteria", CRITERIA + RESOURCES * entries],
        capture_output=True, text=True, check=False, timeout=500, cwd=_place(),
    )  # fmt: skip
    passed = re.findall(r"^✅ ([\w-]+): PASS", done.stdout, re.M)
    failed = re.findall(r"^❌ ([\w-]+): FAIL", done.stdout, re.M)
    assert len(passed) > 150 and set(failed) == EXCLUDED, done.stdout[-4000:] + done.stderr[-2000:]


def _place() -> Path:
    """Where it finds its list of currencies, which it names from there."""
    (found,) = Path(PROGRAM).parents[1].glob("lib/python3.*/site-packages")
    return found
