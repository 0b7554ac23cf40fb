"""The finding about a node: when there is one, and what an operator may paste."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.feedback.site_findings import of_queues
from adminkit.findings.bad_node import Limits, check, drain
from adminkit.stats.bad_nodes import Node
from adminkit.stats.select import Filter
from adminkit.stats.weeks import Reserved
from adminkit.trace.connect import reader
from tests.stats.test_bad_nodes import runs
from tests.support.builders import make_trace

BAD = Node("aaic", "gpu7", 1, 40, 20, 3, 12, 6.0, 1.5, 3.0, 1e-6, Reserved(7200.0, 0.0))


def test_a_named_node_is_a_warning_with_its_numbers_and_the_command() -> None:
    (found,) = check(BAD, Limits())
    assert (found.verdict, found.severity, found.subject.name) == ("bad", "warn", "gpu7")
    assert (found.evidence["ratio"], found.at_stake) == (4.0, 7200.0)
    assert found.evidence["ratio_low"] < 4 < found.evidence["ratio_high"]
    assert shlex.split(found.command) == [
        "scontrol", "update", "NodeName=gpu7", "State=DRAIN", "Reason=adminkit: 20 of 40 runs failed",
    ]  # fmt: skip


def test_the_findings_of_a_site_name_the_node(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db", runs(lambda user, day, number: number % 8 == 3))) as db:
        found = [*of_queues(db, Filter(checkpoint_code=85), 0, ("bad_node",))]
    assert [(one.kind, one.verdict, one.subject.name) for one in found] == [("bad_node", "bad", "n3")]


@pytest.mark.parametrize(
    ("changes", "findings", "why"),
    [
        ({"among": 0}, 0, "a node like the others"),
        ({"failed": 3}, 0, "three failed runs"),
        ({"failed": 4}, 1, "four failed runs"),
        ({"users": 1}, 0, "one user's runs: they can be made to fail"),
        ({"users": 2}, 1, "two users' runs"),
    ],
)
def test_a_finding_needs_several_runs_of_several_users(changes: dict[str, int], findings: int, why: str) -> None:
    assert len(check(replace(BAD, **changes), Limits())) == findings, why  # type: ignore[arg-type]


def test_of_nodes_that_cannot_be_told_apart_none_is_to_be_drained() -> None:
    (found,) = check(replace(BAD, among=3), Limits())
    assert (found.verdict, found.severity, found.evidence["among"], found.command) == ("one_of", "info", 3, "")


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"expected": 0.0}, (None, None, None)),
        ({"score": 4.0, "squares": 4.0, "expected": 2.0}, (2.0, 0.54, 5.12)),
        ({"score": 0.5, "squares": 0.0625, "expected": 0.25}, (2.0, 0.54, 5.12)),
    ],
)
def test_the_interval_of_a_ratio_is_that_of_a_poisson_count(
    changes: dict[str, float], wanted: tuple[float | None, ...]
) -> None:
    """Of 4 events, 1.09 to 10.24 are within the exact 95 % interval; Byar's approximation is near."""
    node = replace(BAD, **changes)  # type: ignore[arg-type]
    found = (node.ratio, *node.interval)
    assert found == tuple(None if one is None else pytest.approx(one, abs=0.02) for one in wanted)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gpu-01.site", True), ("n_1", True), ("4", True),
        ("ALL", False), ("all", False), ("n[1-100]", False), ("n1,n2", False), ("n1 State=DOWN", False),
        ("n1;reboot", False), ("$(reboot)", False), ("-n1", False), ("n1\nreboot", False), ("n1\n", False), ("", False),
    ],
)  # fmt: skip
def test_the_command_drains_one_node_or_is_not_shown(name: str, shown: bool) -> None:
    assert bool(drain(replace(BAD, name=name))) is shown
