"""[power]: what may stand there, when it is left out, and what an operator is told."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from adminkit.deploy.power_budget import lacking, notes
from adminkit.policy.compile import policy_table
from adminkit.policy.explain import explain
from adminkit.policy.power_settings import Power
from adminkit.slurm.licences import Licences, parse
from adminkit.slurm.site import Site

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
    (Licences({}, True), False, ["Licenses=watts:20000", "then run scontrol reconfigure"], "no licence"),
    (Licences({"watts": 20000}, False), False, ["bf_licenses", "then run scontrol reconfigure"], "jobs would starve"),
    (Licences({}, False), False, ["Licenses=watts:20000", "bf_licenses", "then run scontrol reconfigure"], "neither"),
    (Licences({"watts": 5}, True), True, ["slurmctld has watts:5"], "another number: Slurm's holds"),
    (
        Licences({}, True, {}, True),
        False,
        ["Licenses=watts:20000", "- {resource: watts, mode: MODE_3, layers: [{nodes: [NODES], count: 20000}]}", "then"],
        "no licence, where Slurm has layers",
    ),
    (Licences({"watts": 20000}, True, {"watts": 3}, True), True, ["counts on each node"], "a resource by node"),
    (Licences({"watts": 20000}, True, {"watts": 2}, True), True, ["has mode 2"], "a resource by job"),
    (
        Licences({"watts": 5}, True, {"watts": 3}, True),
        True,
        ["counts on each node", "budget_w is 20000: correct one"],
        "a resource with another number",
    ),
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
    assert parse(text)[:2] == ({"watts": 20000}, {})


def test_layers_of_slurmctld() -> None:
    """As 26.05 prints them: a line for each layer, in the order of the file."""
    line = "LicenseName=watts Total={} Used=0 Free={} Reserved=0 Remote=no Nodes={} Mode=3\n"
    text = line.format(750, 750, "n[1-2]") + line.format(1000, 1000, "n[1-4]") + line.format(750, 750, "n[3-4]")
    assert parse(text)[:2] == ({"watts": 1000}, {"watts": 3})


def test_the_rules_say_that_slurm_counts_by_node() -> None:
    from tests.policy.test_user_limits import policy

    rules, there = policy("version = 1\n[power]\nbudget_w = 20000\n"), Site("alpha")
    assert policy_table(rules, there, 0, each_node=True)["power"]["each_node"] is True
    assert "each_node" not in policy_table(rules, there, 0)["power"]


def test_it_is_explained() -> None:
    from tests.policy.test_user_limits import policy

    rows = dict(explain(policy("version = 1\n[power]\nbudget_w = 20000\ngpu_w = { a100 = 400 }\n")))
    assert rows["power"].startswith("All GPUs in use together count as at most 20000 W, each as 400 W (a100)")
