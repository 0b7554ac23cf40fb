"""What doctor says of the power budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit import config
from adminkit.deploy.files import table_path
from adminkit.doctor import power
from adminkit.policy.compile import policy_table, policy_text
from adminkit.slurm.licences import Licences
from adminkit.slurm.site import Site
from tests.policy.test_user_limits import policy

BUDGET = "version = 1\n[power]\nbudget_w = 1000\n"
#: (the rules, whether they count by node, what slurmctld has, the status or None, what is said, why)
CASES = [
    (BUDGET, False, Licences({"watts": 1000}, True), "ok", "watts:1000", "all is there"),
    (BUDGET, False, Licences({"matlab": 2}, True), "missing", "every job with GPUs is refused", "it vanished"),
    (BUDGET, False, Licences({"watts": 1000}, False), "warn", "starve", "not planned with"),
    (BUDGET, False, Licences({"watts": 1000}, True, {"watts": 3}), "missing", "count watts by job", "now by node"),
    (BUDGET, True, Licences({"watts": 1000}, True), "missing", "count watts by node", "now by job"),
    (BUDGET, True, Licences({"watts": 1000}, True, {"watts": 3}), "ok", "watts:1000", "by node"),
    ("version = 1\n", False, Licences({}, False), None, "", "no budget"),
]


@pytest.mark.parametrize(
    ("rules", "each_node", "there", "status", "said", "why"), CASES, ids=[case[-1] for case in CASES]
)
def test_what_doctor_says(
    rules: str,
    each_node: bool,
    there: Licences,
    status: str | None,
    said: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_path(tmp_path, "policy")
    table.parent.mkdir()
    table.write_text(policy_text(policy_table(policy(rules), Site("alpha"), 0, each_node=each_node)))
    monkeypatch.setattr(power, "controller_or_conf", lambda: None)
    monkeypatch.setattr(power, "site_folder", lambda *_: tmp_path)
    monkeypatch.setattr(power, "licences", lambda: there)
    found = list(power.power(config.Policy()))
    assert [one.status for one in found] == ([] if status is None else [status]), (why, found)
    assert all(said in one.found for one in found), (why, found)
