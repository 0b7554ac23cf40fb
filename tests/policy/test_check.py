"""A policy that contradicts itself or its cluster is refused with the two places that clash."""

from __future__ import annotations

import tomllib
from datetime import UTC

import pytest

from adminkit.policy.load import examine_table
from tests.support.policies import parsed, rules

#: (rules, the two places, a part of what is said)
CLASHES = [
    (
        ("a: min_limit = '4h'; queues = ['gq']", "b: max_limit = '2h'; queues = ['gq', 'gq-long']"),
        ("rules[1].min_limit (a)", "rules[2].max_limit (b)"),
        "the minimum 04:00:00 is above the maximum 02:00:00",
    ),
    (
        ("b: max_limit = '2h'", "a: min_limit = '4h'; queues = ['gq']"),
        ("rules[2].min_limit (a)", "rules[1].max_limit (b)"),
        "the minimum",
    ),
    (
        ("a: default_limit = '4h'", "b: max_limit = '2h'"),
        ("rules[1].default_limit (a)", "rules[2].max_limit (b)"),
        "the default 04:00:00 is above the maximum",
    ),
    (
        ("a: default_limit = '1h'", "b: min_limit = '2h'"),
        ("rules[1].default_limit (a)", "rules[2].min_limit (b)"),
        "the default 01:00:00 is below the minimum",
    ),
    (
        ("a: min_limit = '2h'", "b: restartable_above = '1h'; action = 'amend'"),
        ("rules[1].min_limit (a)", "rules[2].restartable_above (b)"),
        "to which other jobs are lowered",
    ),
    (
        ("a: require_limit = true", "b: default_limit = '1h'"),
        ("rules[1].require_limit (a)", "rules[2].default_limit (b)"),
        "refused before it gets",
    ),
    (
        ("a: gpus = '1-2'", "b: gpus = '4-'; users = ['ada']"),
        ("rules[1].gpus (a)", "rules[2].gpus (b)"),
        "have no number in common",
    ),
    (("a: cpus = 1", "a: cpus = 1"), ("rules[1].name (a)", "rules[2].name (a)"), "two rules have the same name"),
    (
        ("a: require_limit = true; action = 'amend'",),
        ("rules[1].action (a)", "rules[1].require_limit (a)"),
        "require_limit cannot amend",
    ),
    (("a: gpus = 1; action = 'amend'",), ("rules[1].action (a)", "rules[1].gpus (a)"), "gpus cannot amend"),
    (
        ("a: default_limit = '1h'; action = 'reject'",),
        ("rules[1].action (a)", "rules[1].default_limit (a)"),
        "default_limit cannot reject",
    ),
    (
        ("a: max_limit = '1h'; text.en = '{fit} {lim}'",),
        ("rules[1].text.en (a)", "the placeholders of max_limit.reject"),
        "no such placeholder: {lim}",
    ),
]

#: Rules that part the jobs between them, so that nothing clashes.
PARTED = [
    ("a: min_limit = '4h'; queues = ['gq']", "b: max_limit = '2h'; queues = ['gq-short']"),
    ("a: min_limit = '4h'; classes = ['multi-node']", "b: max_limit = '2h'; classes = ['single-gpu', 'cpu']"),
    ("a: min_limit = '4h'; users = ['ada']", "b: max_limit = '2h'; except_users = ['ada', 'bob']"),
    ("a: min_limit = '4h'; accounts = ['x']", "b: max_limit = '2h'; except_accounts = ['x']"),
    ("a: min_limit = '4h'; qos = ['x']", "b: max_limit = '2h'; qos = ['y']"),
    ("a: min_limit = '2h'", "b: max_limit = '2h'"),
    ("a: gpus = '1-4'", "b: gpus = '4-'"),
    ("a: require_limit = true; action = 'warn'", "b: default_limit = '1h'"),
    ("a: min_limit = '2h'", "b: restartable_above = '1h'"),
]


@pytest.mark.parametrize(("lines", "places", "said"), CLASHES)
def test_a_clash_names_both_places(lines: tuple[str, ...], places: tuple[str, str], said: str) -> None:
    _, problems = parsed(rules(*lines))
    assert [one.places for one in problems] == [places]
    assert said in problems[0].message


@pytest.mark.parametrize("lines", PARTED)
def test_rules_for_different_jobs_do_not_clash(lines: tuple[str, ...]) -> None:
    assert parsed(rules(*lines))[1] == []


def test_a_date_for_a_rule_that_only_warns_is_noted() -> None:
    found, problems = parsed(rules("a: cpus = 1; action = 'warn'; from = 2027-04-01"))
    assert found is not None
    assert [(one.places, one.note) for one in problems] == [(("rules[1].action (a)", "rules[1].from (a)"), True)]


def test_a_queue_that_is_tried_and_avoided_names_both_lists() -> None:
    _, problems = parsed('version = 1\n[routing]\norder = ["gq"]\navoid = ["gq"]')
    assert [one.places for one in problems] == [("routing.order", "routing.avoid")]


@pytest.mark.parametrize(
    ("text", "places", "said", "hint", "note"),
    [
        (
            'version = 1\n[routing]\norder = ["gq-shrt"]',
            ("routing.order", "the cluster's queues"),
            "no such queue: gq-shrt",
            "did you mean gq-short?",
            False,
        ),
        (
            rules("a: cpus = 1; queues = ['gq', 'qg']"),
            ("rules[1].queues (a)", "the cluster's queues"),
            "no such queue: qg",
            "did you mean gq?",
            False,
        ),
        (
            rules("a: default_limit = '4h'; queues = ['gq-short']"),
            ("rules[1].default_limit (a)", "MaxTime of the queue gq-short"),
            "04:00:00 is above 03:00:00",
            "raise MaxTime",
            False,
        ),
        (
            rules("a: max_limit = '4h'; queues = ['gq-short']"),
            ("rules[1].max_limit (a)", "MaxTime of the queue gq-short"),
            "never applies: Slurm stops jobs at 03:00:00",
            "",
            True,
        ),
    ],
)
def test_what_does_not_go_with_the_cluster_is_named(
    text: str, places: tuple[str, str], said: str, hint: str, note: bool
) -> None:
    queues = {"gq": None, "gq-short": 3 * 3600}
    _, problems = examine_table(tomllib.loads(text), queues, UTC)
    assert [one.places for one in problems] == [places]
    assert said in problems[0].message
    assert hint in problems[0].hint
    assert problems[0].note is note
