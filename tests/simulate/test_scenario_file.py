"""Scenarios from a file: what they become, and what is said of a mistake."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.scenario import Scenario, load_scenarios, scenarios_of

HEAD = "version = 1\n[[scenarios]]\n"


def of(text: str) -> list[Scenario]:
    return scenarios_of(tomllib.loads(text), "s.toml", text)


def test_the_example_has_every_kind_and_loads() -> None:
    scenarios = load_scenarios(Path(__file__).parents[2] / "etc" / "scenarios.toml")
    assert {step.kind.name for one in scenarios for step in one.steps} == set(KINDS)


@pytest.mark.parametrize(
    ("text", "names", "why"),
    [
        ('name = "a"\nkind = "nodes"\nfactor = 2.0', ["a"], "one value keeps the name"),
        ('name = "a"\nkind = "estimates"\nuptake = [0, 0.25, 1]', ["a 0 %", "a 25 %", "a 100 %"], "shares"),
        ('name = "a"\nkind = "checkpoint"\nmax_limit = ["4h", "1d"]', ["a 04:00:00", "a 1-00:00:00"], "limits"),
        ('name = "a"\nkind = "load"\nfactor = [1.1, 2]', ["a 1.1", "a 2"], "factors"),
        (
            'name = "a"\nkind = "nodes"\nfactor = 2\n[[scenarios]]\nname = "b"\nkind = "load"\nfactor = 2\non = "a"',
            ["a", "b"],
            "one on another",
        ),
    ],
)
def test_each_value_is_a_scenario(text: str, names: list[str], why: str) -> None:
    assert [one.name for one in of(HEAD + text)] == names, why


def test_a_scenario_on_another_has_its_changes_first() -> None:
    text = 'name = "a"\nkind = "nodes"\nfactor = 2\n[[scenarios]]\nname = "b"\nkind = "load"\nfactor = 3\non = "a"'
    assert [step.value for step in of(HEAD + text)[1].steps] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("version = 1\n[[scenario]]\n", "s.toml: scenario: no such key", "did you mean scenarios?"),
        ("version = 2\n", "s.toml:1: version: this release of adminkit knows version 1", "write version = 1"),
        ("version = 1\n", "s.toml: scenarios: no scenario", "write [[scenarios]]"),
        (HEAD + 'name = "a"', "s.toml:2: scenarios[1] (a): no kind", "known: checkpoint, estimates"),
        (
            HEAD + 'name = "a"\nkind = "node"',
            "s.toml:4: scenarios[1].kind (a): no such kind: node",
            "did you mean nodes?",
        ),
        (HEAD + 'kind = "nodes"', "s.toml:2: scenarios[1].name: is missing", "give it one"),
        (
            HEAD + 'name = "a"\nkind = "estimates"\nuptak = 1',
            "s.toml:5: scenarios[1].uptak (a): no such key",
            "did you mean uptake?",
        ),
        (
            HEAD + 'name = "a"\nkind = "estimates"\nuptake = [0, 1.5]',
            "s.toml:5: scenarios[1].uptake[2] (a): 1.5: should be less than or equal to 1",
            "docs/simulate-scenarios.md",
        ),
        (HEAD + 'name = "a"\nkind = "load"\nfactor = []', "an empty list is not a scenario", "docs"),
        (HEAD + 'name = "a"\nkind = "load"\nfactor = [1, 1]', "one value appears twice", "docs"),
        (HEAD + 'name = "a"\nkind = "load"\nfactor = true', "a number belongs here", "docs"),
        (HEAD + 'name = "a"\nkind = "nodes"', "give it a factor other than 1, or gpus", "docs"),
        (
            HEAD + 'name = "a"\nkind = "scheduler"\nset = { bf_windo = 1 }',
            "s.toml:2: scenarios[1] (a): no such setting: bf_windo",
            "did you mean bf_window?",
        ),
        (HEAD + 'name = "a"\nkind = "scheduler"\nmodel = "easi"', "no such word: easi", "did you mean easy?"),
        (
            HEAD + 'name = "a"\nkind = "checkpoint"\nmax_limit = 240',
            '240: minutes or seconds? write "240m" or "240s"',
            "docs",
        ),
        (
            HEAD + 'name = "a"\nkind = "checkpoint"\nmax_limit = "10m"',
            "lead and overhead take 720 s of each piece of 600 s: no job would ever end",
            "docs",
        ),
        (
            HEAD + 'name = "a"\nkind = "policy"\npolicy = "p"\nrefused = { resubmit = 0.5, leaf = 0.5 }',
            "scenarios[1].refused.leaf (a): no such key",
            "did you mean leave?",
        ),
        (
            HEAD + 'name = "a"\nkind = "policy"\npolicy = "p"\nrefused = { resubmit = 0.5 }',
            "must add up to 1",
            "docs",
        ),
        (HEAD + 'name = "a"\nkind = "queue"\nqueue = "gq"', "give it what to change", "docs"),
        (
            HEAD + 'name = "a"\nkind = "load"\nfactor = 2\n[[scenarios]]\nname = "a"\nkind = "load"\nfactor = 3',
            "s.toml:7: scenarios[2].name (a): two scenarios have the same name",
            "give each its own",
        ),
        (
            HEAD + 'name = "a"\nkind = "load"\nfactor = 2\non = "b"',
            "no such scenario above this one: b",
            "write the other one above it",
        ),
        (HEAD + 'name = "a\\u001b"\nkind = "load"\nfactor = 2', "characters that can be printed", "docs"),
        (HEAD + f'name = "a"\nkind = "load"\nfactor = {[1 + n for n in range(51)]}', "51 scenarios", "docs"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_the_nearest_right_word(text: str, message: str, hint: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        of(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_file_that_is_no_toml_or_not_there_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("version = \n")
    for name, message in (("bad.toml", "is not TOML"), ("none.toml", "couldn't read")):
        with pytest.raises(AdminkitError, match=message):
            load_scenarios(tmp_path / name)
