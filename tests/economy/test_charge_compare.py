"""Two schemes on the same jobs: the same jobs for both, sums by hand, the window."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.economy.compare import PARTS, compare
from adminkit.economy.schemes import load_schemes
from tests.support.builders import HOUR, MONDAY, job
from tests.support.charges import fresh

JOBS = [
    job(1), job(2, user="bob", account="speech", gpus=4), job(3, gpus=None), job(4, user=None), job(5, elapsed=0),
    job(6, queue="long", end_time=None, state="RUNNING"), job(7, user="bob", elapsed=2 * HOUR, queue="long"),
]  # fmt: skip
FILE = """version = 1
scheme = "time"
[schemes.time]
formula = "elapsed"
unit = "points"
digits = 0
[schemes.gpus]
formula = "gpu_hours * 3600"
unit = "UNIT"
digits = 1
"""

SUMS = [
    ("user", None, {"ada": (3600, 36_000), "bob": (10_800, 216_000)}, "a job of unknown GPUs is in neither sum"),
    ("account", None, {"vision": (10_800, 108_000), "speech": (3600, 144_000)}, "by account"),
    ("queue", None, {"gq": (7200, 180_000), "long": (7200, 72_000)}, "by the queue of the last run"),
    ("user", MONDAY + 2 * HOUR, {"bob": (7200, 72_000)}, "what ended in the window"),
]


@pytest.mark.parametrize(("part", "since", "sums", "why"), SUMS)
def test_both_charge_the_same_jobs(
    tmp_path: Path, part: str, since: int | None, sums: dict[str, tuple[int, int]], why: str
) -> None:
    (tmp_path / "charge.toml").write_text(FILE)
    file = load_schemes(tmp_path / "charge.toml")
    found = compare(fresh(JOBS), (file.named("time"), file.named("gpus")), (), (since, None), part)
    paid = {one.name: (one.first, one.second) for one in found.payers if one.first}
    assert paid == sums, why
    assert part in PARTS


@pytest.mark.parametrize(
    ("unit", "changes", "why"),
    [
        ("points", {"bob": 1.0, "ada": 0.0}, "the amounts, whatever their digits"),
        ("JPY", {"bob": 216 / 252 / (10.8 / 14.4) - 1, "ada": 36 / 252 / (3.6 / 14.4) - 1}, "shares of all"),
    ],
)
def test_who_pays_more_is_told_by_amounts_or_by_shares(
    tmp_path: Path, unit: str, changes: dict[str, float], why: str
) -> None:
    (tmp_path / "charge.toml").write_text(FILE.replace("UNIT", unit))
    file = load_schemes(tmp_path / "charge.toml")
    found = compare(fresh(JOBS), (file.named("time"), file.named("gpus")), (), (None, None), "user")
    assert {one.name: found.change(one) for one in found.payers} == pytest.approx(changes), why
    assert dict(found.refused) == {("gpus", "gpu_hours is not known"): 1, ("time", "its user is not known"): 1}
    assert (found.jobs, found.free) == (4, 1)
