"""GrpTRESMins as `scontrol show assoc_mgr` prints them; tests/cluster/test_charge_budget.py has the real one."""

from __future__ import annotations

import pytest

from adminkit.slurm.tres_minutes import parse_tres_minutes

TEXT = """Current Association Manager state

Association Records

ClusterName=alpha Account=physics UserName= Partition= Priority=0 ID=3
    ParentAccount=root(1) Lft=2 DefAssoc=No
    GrpTRESMins=cpu=100(25),mem=N(0),gres/gpu=50(50)
    GrpTRESRunMins=cpu=N(0)
ClusterName=alpha Account=physics UserName=ada(1001) Partition= Priority=0 ID=4
    GrpTRESMins=cpu=10(11)

QOS Records

QOS=gold(2)
    GrpTRESMins=cpu=1000(7),mem=N(0)
    Account Limits
        No Accounts
QOS=normal(1)
    GrpTRESMins=cpu=5(1)
"""
RUNNING = {
    "AccountingStorageEnforce": "associations,limits", "PriorityType": "priority/multifactor",
    "PriorityDecayHalfLife": "7-00:00:00", "PriorityUsageResetPeriod": "NONE",
}  # fmt: skip


def test_every_one_that_is_set() -> None:
    found = parse_tres_minutes(TEXT, RUNNING, {"gold"})
    assert [(one.account, one.user, one.qos, one.tres, one.most, one.used, bool(one.decays)) for one in found] == [
        ("physics", None, None, "cpu", 100, 25, True),
        ("physics", None, None, "gres/gpu", 50, 50, True),
        ("physics", "ada", None, "cpu", 10, 11, True),
        (None, None, "gold", "cpu", 1000, 7, False),
        (None, None, "normal", "cpu", 5, 1, True),
    ]


@pytest.mark.parametrize(
    ("changes", "decays", "held", "why"),
    [
        ({}, "half-life 7-00:00:00", True, "as Slurm comes"),
        ({"PriorityDecayHalfLife": "00:00:00"}, "", True, "no decay"),
        ({"PriorityDecayHalfLife": "0"}, "", True, "so too"),
        ({"PriorityUsageResetPeriod": "MONTHLY", "PriorityDecayHalfLife": "0"}, "reset MONTHLY", True, "cleared"),
        ({"PriorityUsageResetPeriod": "YEARLY"}, "half-life 7-00:00:00, reset YEARLY", True, "both"),
        ({"AccountingStorageEnforce": "associations"}, "half-life 7-00:00:00", False, "limits are not enforced"),
        ({"AccountingStorageEnforce": "safe"}, "half-life 7-00:00:00", True, "safe has limits in it"),
        ({"PriorityType": "priority/basic"}, "half-life 7-00:00:00", False, "held with multifactor alone"),
    ],
)
def test_what_slurm_makes_of_it(changes: dict[str, str], decays: str, held: bool, why: str) -> None:
    found = parse_tres_minutes(TEXT, {**RUNNING, **changes}, set())[0]
    assert (found.decays, found.held) == (decays, held), why
