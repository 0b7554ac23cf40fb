"""What a message says of the jobs that its rule is for, and of two bounds the one that binds."""

from __future__ import annotations

import pytest

from adminkit.policy.request import Typed, typed_request
from tests.support.policies import LUAS, decider, rules

NOW = 1_800_000_000
ADA = {"user": "ada", "queues": ("gq",), "account": "physics", "qos": "low"}
JA = 'languages = ["en", "ja"]\n'

#: conditions of a rule, what is typed besides ADA, the phrase in English and in Japanese
NAMED: list[tuple[str, dict[str, object], str, str]] = [
    ("queues = ['gq']", {}, "Jobs in gq may", "gq の実行時間"),
    ("queues = ['gq', 'long']", {}, "Jobs in gq may", "gq の実行時間"),
    ("qos = ['low']", {}, "Jobs of the QOS low may", "QOS low の実行時間"),
    ("qos = ['low', 'high']", {}, "Jobs of the QOS low may", "QOS low の実行時間"),
    ("qos = ['low']", {"qos": "high,low"}, "Jobs of the QOS low may", "QOS low の実行時間"),
    ("qos = ['low']; queues = ['gq']", {}, "Jobs in gq of the QOS low may", "gq の QOS low の実行時間"),
    ("accounts = ['Physics']", {}, "Jobs under the account physics may", "アカウント physics の実行時間"),
    (
        "classes = ['single-gpu', 'cpu']",
        {"gpus": 1},
        "Jobs of the class single-gpu may",
        "クラス single-gpu の実行時間",
    ),
    ("users = ['ada']", {}, "Jobs of yours may", "あなた の実行時間"),
    ("except_users = ['bob']", {}, "Jobs on this cluster may", "このクラスタ の実行時間"),
    ("action = 'reject'", {}, "Jobs on this cluster may", "このクラスタ の実行時間"),
]


@pytest.mark.parametrize(("conditions", "typed", "english", "japanese"), NAMED)
def test_a_message_names_what_the_rule_is_for(
    conditions: str, typed: dict[str, object], english: str, japanese: str
) -> None:
    text = rules(f"a: max_limit = '1h'; {conditions}").replace("version = 1\n", "version = 1\n" + JA)
    request = typed_request(Typed(**{**ADA, "limit": "120", **typed}), None, NOW)  # type: ignore[arg-type]
    for version in LUAS:
        first, second = decider(text, version=version).decide(request).messages
        assert first.startswith(english)
        assert second.startswith(japanese)


HIGH, LOW = "queues = ['gq']; max_limit = '12h'", "qos = ['low']; max_limit = '1h'"
WARN = "; action = 'warn'"
AMEND = "; action = 'amend'"

#: rules, the limit that is typed, what the user reads, why
BINDING: list[tuple[tuple[str, ...], str, list[str], str]] = [
    (
        (HIGH, LOW),
        "20:00:00",
        ["Jobs of the QOS low may ask for at most 01:00:00; this one asks for 20:00:00. Type: --time=01:00:00"],
        "a job that keeps the lower maximum keeps both",
    ),
    (
        (LOW, HIGH),
        "20:00:00",
        ["Jobs of the QOS low may ask for at most 01:00:00; this one asks for 20:00:00. Type: --time=01:00:00"],
        "in whatever order they stand",
    ),
    (
        (HIGH + AMEND, LOW + AMEND),
        "20:00:00",
        ["Jobs of the QOS low may ask for at most 01:00:00; this one asked for 20:00:00 and got 01:00:00."],
        "lowered twice it was asked for once",
    ),
    (
        (HIGH + AMEND, LOW),
        "unlimited",
        ["Jobs of the QOS low may ask for at most 01:00:00; this one asks for UNLIMITED. Type: --time=01:00:00"],
        "a refusal says what was typed, and not what a rule made of it",
    ),
    (
        (HIGH + WARN, LOW + WARN),
        "20:00:00",
        ["Jobs of the QOS low should ask for at most 01:00:00; this one asks for 20:00:00. Type: --time=01:00:00"],
        "the same of warnings",
    ),
    (
        ("min_limit = '2h'", "queues = ['gq']; min_limit = '3h'"),
        "60",
        ["Jobs in gq must ask for 03:00:00 or more; this one asks for 01:00:00. Type: --time=03:00:00"],
        "of two minima the higher one",
    ),
    (
        ("gpus = '-4'", "queues = ['gq']; gpus = '-2'"),
        "60",
        ["The number of GPUs must be 0-2 for a job in gq; this one asks for 8. Type: --gpus=N"],
        "of two maxima of a number",
    ),
    (
        ("gpus = '-4'", "nodes = 2"),
        "60",
        [
            "The number of GPUs must be 0-4 for a job on this cluster; this one asks for 8. Type: --gpus=N",
            "The number of nodes must be 2 for a job on this cluster; this one asks for 1. Type: --nodes=N",
        ],
        "two numbers do not bind each other",
    ),
    (
        ("queues = ['gq']; max_limit = '2h'", "restartable_above = '3h'"),
        "4:00:00",
        ["Jobs in gq may ask for at most 02:00:00; this one asks for 04:00:00. Type: --time=02:00:00"],
        "a limit that no checkpoint lifts makes another one idle",
    ),
    (
        ("max_limit = '3h'", "restartable_above = '2h'"),
        "4:00:00",
        [
            "Jobs on this cluster may ask for at most 03:00:00; this one asks for 04:00:00. Type: --time=03:00:00",
            "Jobs on this cluster that ask for more than 02:00:00 must be able to resume from a checkpoint; this one"
            " asks for"
            " 04:00:00. Type: --ckpt if it can, otherwise --time=02:00:00",
        ],
        "both hold: three hours with a checkpoint, two without",
    ),
]


@pytest.mark.parametrize(("lines", "limit", "said", "why"), BINDING)
def test_of_two_bounds_the_one_that_binds_is_said(
    lines: tuple[str, ...], limit: str, said: list[str], why: str
) -> None:
    text = rules(*(f"r{number}: {line}" for number, line in enumerate(lines)))
    request = typed_request(Typed(**ADA, limit=limit, nodes=1, gpus=8), None, NOW)  # type: ignore[arg-type]
    for version in LUAS:
        assert list(decider(text, version=version).decide(request).messages) == said, why


def test_every_rule_that_fires_is_on_record_though_one_is_said() -> None:
    text = rules(f"a: {HIGH}", f"b: {LOW}")
    decision = decider(text).decide(typed_request(Typed(**ADA, limit="20:00:00"), None, NOW))  # type: ignore[arg-type]
    assert decision.fired == (("a", "reject"), ("b", "reject"))


def test_a_job_in_two_queues_reads_the_lower_of_their_maxima() -> None:
    text = rules("a: queues = ['gq']; max_limit = '12h'", "b: queues = ['short']; max_limit = '1h'")
    typed = Typed("ada", queues=("gq", "short"), limit="20:00:00")
    (message,) = decider(text).decide(typed_request(typed, None, NOW)).messages
    assert message.startswith("Jobs in short may ask for at most 01:00:00; this one asks for 20:00:00.")


#: a rule, fields of the request, what the user reads; nodes have 8 GPUs
ASKED: list[tuple[str, dict[str, object], str, str]] = [
    (
        "gpus_per_node = '-4'",
        {"nodes": 1, "gpus": 20, "gpus_per_node": None, "gpus_fixed": 20, "most_nodes": 20},
        "This job asks for gpus=20 but could get 8 gpus_per_node; jobs in gq may take 0-4.",
        "--gpus=20: a node may get eight of them",
    ),
    (
        "gpus = '-4'",
        {"nodes": 1, "gpus": 1, "gpus_per_node": 1, "gpus_fixed": 0, "gpus_each": 1, "whole": True, "exclusive": True},
        "This job asks for gpus=1 exclusive but could get 8 gpus; jobs in gq may take 0-4.",
        "--exclusive --gpus-per-node=1 takes all GPUs of the node",
    ),
    (
        "nodes = '-2'",
        {"nodes": 1, "gpus": 20, "gpus_per_node": None, "gpus_fixed": 20, "most_nodes": 20},
        "This job asks for gpus=20 but could get 3 nodes; jobs in gq may take 0-2.",
        "twenty GPUs need three nodes",
    ),
    (
        "nodes = '-2'",
        {"nodes": 1, "max_nodes": 8, "gpus": 0},
        "This job asks for nodes=1-8 but could get 8 nodes; jobs in gq may take 0-2.",
        "-N1-8",
    ),
    (
        "gpus = '-4'",
        {"nodes": 1, "gpus": 20},
        "The number of GPUs must be 0-4 for a job in gq; this one asks for 20.",
        "--gpus=20 itself",
    ),
    (
        "gpus_per_node = '-4'",
        {"nodes": 2, "gpus": 16, "gpus_per_node": 8},
        "The number of GPUs per node must be 0-4 for a job in gq; this one asks for 8.",
        "--gpus-per-node=8",
    ),
]


@pytest.mark.parametrize("action", ["reject", "warn"])
@pytest.mark.parametrize(("line", "fields", "said", "why"), ASKED)
def test_what_a_job_asks_for_is_what_was_typed(
    line: str, fields: dict[str, object], said: str, why: str, action: str
) -> None:
    text = rules(f"a: queues = ['gq']; {line}; action = '{action}'")
    request = {**typed_request(Typed("ada", queues=("gq",), limit="60"), None, NOW), "cpus": 1, **fields}
    (message,) = decider(text).decide(request).messages
    if action == "reject":
        assert message.startswith(said), why
    else:
        assert "asks for 8" not in message or "asks for 8" in said, why
