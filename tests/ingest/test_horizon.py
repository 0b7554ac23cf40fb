"""Whether slurmdbd has lost a run or never had it: pairs of submission and end, held against each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.ingest.horizon import NEVER, Pair, _first, _last, follows, precedes


@pytest.mark.parametrize(
    ("held", "one", "lost", "why"),
    [
        ([(10, 20)], (15, 25), False, "an earlier one is there, and has been over earlier"),
        ([(10, 20)], (10, 20), False, "one of the very same times is"),
        ([(10, 20)], (5, 25), True, "submitted before all that is held: purged by submission"),
        ([(10, 20)], (15, 18), True, "over before all that is held: of a database that was made anew"),
        ([(10, 90)], (15, 25), True, "the earlier one ran through the purge, so it was spared"),
        ([(10, 90), (12, 22)], (15, 25), False, "another one did not"),
        ([], (15, 25), True, "nothing is held"),
    ],
)
def test_what_may_have_been_lost(held: list[Pair], one: Pair, lost: bool, why: str) -> None:
    assert precedes(_first(held), one) is not lost, why


@pytest.mark.parametrize(
    ("held", "one", "told", "why"),
    [
        ([(30, 40)], (15, 25), True, "a later one is there"),
        ([(30, NEVER)], (15, 25), True, "a later one runs"),
        ([(10, NEVER)], (15, 25), False, "what runs was submitted before: since then nothing was heard"),
        ([(30, 40)], (35, 38), False, "submitted after all that is held"),
        ([], (15, 25), False, "nothing is held"),
    ],
)
def test_what_may_not_have_come_yet(held: list[Pair], one: Pair, told: bool, why: str) -> None:
    assert follows(_last(held), one) is told, why


PAIRS = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(st.lists(PAIRS), PAIRS)
def test_few_runs_stand_for_all(held: list[Pair], one: Pair) -> None:
    assert precedes(_first(held), one) == precedes(held, one)
    assert follows(_last(held), one) == follows(held, one)
