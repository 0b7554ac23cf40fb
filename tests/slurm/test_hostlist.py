"""Slurm's lists of hosts, as sacct prints where a job ran."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from adminkit.slurm.hostlist import MOST, hosts


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("n1", ["n1"], "one"),
        ("n[1-3,7],login2", ["n1", "n2", "n3", "n7", "login2"], "ranges"),
        ("gpu[008-010]", ["gpu008", "gpu009", "gpu010"], "as wide as they are written"),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"], "two brackets"),
        ("", [], "nothing"),
        ("n[x,2]", ["n2"], "what is no number is left out"),
        ("n[1-999999999]", [], "no list of a job's nodes"),
        ("n[5-1]", [], "backwards"),
        ("n[1-2", [], "not closed"),
    ],
)
def test_a_list(text: str, expected: list[str], why: str) -> None:
    assert hosts(text) == expected, why


@given(some.text("n[]0123456789,-", max_size=40))
def test_any_text_has_an_end(text: str) -> None:
    assert len(hosts(text)) <= MOST
