"""[power]: what may stand there, when it is left out, and what an operator is told."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from adminkit.deploy.power_budget import lacking, notes
from adminkit.policy.explain import explain
from adminkit.policy.power_settings import Power
from adminkit.slurm.licences import Licences, parse

#: (settings, whether they may stand there, why)
SETTINGS = [
    ({}, True, "off"),
    ({"budget_w": 20000}, True, "all else by default"),
    ({"budget_w": 20000, "gpu_w": {"a100": 400, "v100": 250}}, True, "by type"),
    ({"budget_w": 0}, False, "nothing may run"),
    ({"budget_w": 20000, "gpu_w": 0}, False, "a GPU that draws nothing"),
    ({"budget_w": 20000, "gpu_w": {}}, False, "no type"),
    ({"budget_w": 20000, "gpu_w": {"a,b": 1}}, False, "no name of a type"),
    ({"budget_w": 20000, "licence": "watts:1"}, False, "a name with a number"),
    ({"budget_w": 20000, "licence": "a,b"}, False, "two names"),
    ({"budget_w": 20000, "licence": "a|b"}, False, "alternatives"),
    ({"budget_w": 20000, "licence": "watts@far"}, False, "another server's"),
    ({"budget": 20000}, False, "no such key"),
]


@pytest.mark.parametrize(("given", "good", "why"), SETTINGS, ids=[case[2] for case in SETTINGS])
def test_settings(given: dict[str, object], good: bool, why: str) -> None:
    if good:
        assert Power.model_validate(given), why
    else:
        with pytest.raises(ValidationError):
            Power.model_validate(given)


WANTED = Power(budget_w=20000, gpu_w=250)
#: (what slurmctld has, whether the budget may be in the rules, what is said, why)
SLURMS = [
    (Licences({"watts": 20000}, True), True, [], "all is there"),
    (Licences({}, True), False, ["Licenses=watts:20000", "then scontrol reconfigure"], "no licence"),
    (Licences({"watts": 20000}, False), False, ["bf_licenses", "then scontrol reconfigure"], "jobs would starve"),
    (Licences({}, False), False, ["Licenses=watts:20000", "bf_licenses", "then scontrol reconfigure"], "neither"),
    (Licences({"watts": 5}, True), True, ["slurmctld has watts:5"], "another number: Slurm's holds"),
]


@pytest.mark.parametrize(("there", "good", "said", "why"), SLURMS, ids=[case[3] for case in SLURMS])
def test_what_slurmctld_has(there: Licences, good: bool, said: list[str], why: str) -> None:
    assert (not lacking(WANTED, there)) == good, why
    found = notes(WANTED, there)
    assert len(found) == len(said) and all(words in line for words, line in zip(said, found, strict=True)), found


def test_nothing_is_said_without_a_budget() -> None:
    assert notes(Power(), Licences({}, False)) == []


def test_licences_of_slurmctld() -> None:
    text = (
        "LicenseName=watts Total=20000 Used=500 Free=19500 Reserved=0 Remote=no\n"
        "LicenseName=matlab@far Total=10 Used=0 Free=10 Reserved=0 Remote=yes\nNo licenses configured in Slurm.\n"
    )
    assert parse(text) == {"watts": 20000}


def test_it_is_explained() -> None:
    from tests.policy.test_user_limits import policy

    rows = dict(explain(policy("version = 1\n[power]\nbudget_w = 20000\ngpu_w = { a100 = 400 }\n")))
    assert rows["power"].startswith("All GPUs in use together count as 20000 W at most, each as 400 W (a100)")
