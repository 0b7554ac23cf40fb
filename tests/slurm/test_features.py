"""What --constraint asks of a node."""

from __future__ import annotations

import pytest

from adminkit.slurm.features import parse_features


@pytest.mark.parametrize(
    ("text", "node", "on", "why"),
    [
        ("a", "a b", True, "it has it"),
        ("a", "ab", False, "another name"),
        ("a&b", "a b c", True, "all of them"),
        ("a&b", "a", False, "one of them"),
        ("a|b", "b", True, "one is enough"),
        ("a|b", "c", False, "none of them"),
    ],
)
def test_a_node_has_all_or_one(text: str, node: str, on: bool, why: str) -> None:
    wanted = parse_features(text)
    assert wanted is not None and wanted.on(frozenset(node.split())) is on, why


@pytest.mark.parametrize("text", ["a&b|c", "[a|b]", "a*2", "(a&b)", "a,b", "", "&a", "a|", "a b", "!a", "a" * 101])
def test_what_is_not_known_is_none(text: str) -> None:
    assert parse_features(text) is None
