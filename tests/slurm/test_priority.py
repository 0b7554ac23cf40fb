"""How the cluster ranks jobs, from what its programs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm import priority
from adminkit.slurm.priority import Ranking, Spread
from tests.support.fakes import Programs

CONFIG = """Configuration data as of 2026-11-21T07:00:00
PriorityParameters      = (null)
PrioritySiteFactorParameters = (null)
PrioritySiteFactorPlugin = {plugin}
PriorityMaxAge          = {age}
PriorityType            = {kind}
PriorityWeightAge       = {weight}
"""


def config(
    kind: str = "priority/multifactor", weight: str = "1000", age: str = "7-00:00:00", plugin: str = "(null)"
) -> str:
    return CONFIG.format(kind=kind, weight=weight, age=age, plugin=plugin)


@pytest.mark.parametrize(
    ("text", "expected", "per_hour", "why"),
    [
        (
            config(),
            Ranking("priority/multifactor", 1000, 604_800, None),
            1000 / 168,
            "a week of ageing for 1000 points",
        ),
        (config(weight="0"), Ranking("priority/multifactor", 0, 604_800, None), 0.0, "age does not count"),
        (config(age="1-00:00:00", weight="2400"), Ranking("priority/multifactor", 2400, 86_400, None), 100.0, "a day"),
        (config(plugin="site_factor/none"), Ranking("priority/multifactor", 1000, 604_800, None), 1000 / 168, "none"),
        (
            config(plugin="site_factor/own"),
            Ranking("priority/multifactor", 1000, 604_800, "site_factor/own"),
            1000 / 168,
            "a",
        ),
        ("PriorityType = priority/basic\n", Ranking("priority/basic", 0, 0, None), 0.0, "basic shows nothing else"),
    ],
)
def test_what_an_hour_of_ageing_is_worth(text: str, expected: Ranking, per_hour: float, why: str) -> None:
    found = priority.parse_ranking(text)
    assert found == expected, why
    assert found.points_per_hour == pytest.approx(per_hour), why


def test_a_slurmctld_that_names_no_priority_is_an_error() -> None:
    with pytest.raises(AdminkitError, match="shows no PriorityType"):
        priority.parse_ranking("ClusterName = alpha\n")


@pytest.mark.parametrize(
    ("found", "accept", "error", "why"),
    [
        (Ranking("priority/multifactor", 1, 1, None), False, "", "stock"),
        (Ranking("priority/basic", 0, 0, None), False, "PriorityType is priority/basic", "no factors at all"),
        (Ranking("priority/basic", 0, 0, None), True, "PriorityType is priority/basic", "nothing to accept"),
        (Ranking("priority/multifactor", 1, 1, "site_factor/own"), False, "PrioritySiteFactorPlugin is", "overwritten"),
        (Ranking("priority/multifactor", 1, 1, "site_factor/own"), True, "", "known and accepted"),
    ],
)
def test_a_bonus_that_would_do_nothing_is_refused(found: Ranking, accept: bool, error: str, why: str) -> None:
    if not error:
        priority.refuse_ranking(found, accept)
        return
    with pytest.raises(AdminkitError, match=error) as caught:
        priority.refuse_ranking(found, accept)
    assert caught.value.hint, why


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("4294\n1000\n     2500\n", Spread(3, 1000, 4294), "one line for each job and queue"),
        ("7\n", Spread(1, 7, 7), "one job is as wide as nothing"),
        ("", None, "nothing waits"),
        ("Unable to find jobs matching user/id(s) specified\n", None, "said in words"),
    ],
)
def test_the_spread_of_those_who_wait(text: str, expected: Spread | None, why: str) -> None:
    assert priority.parse_spread(text) == expected, why


def test_slurm_is_asked_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("scontrol", f"""[ "$*" = "show config" ] && echo '{config()}'""")
    programs.add("sprio", """[ "$*" = "-h -o %Y" ] && printf '10\\n30\\n'""")
    assert priority.ranking().weight_age == 1000
    assert priority.spread() == Spread(2, 10, 30)
