"""Which combinations are tried: each once, none that contradicts itself, the same ones for the same seed."""

from __future__ import annotations

import pytest

from adminkit.tune.candidates import Choice, changed, drawn, every, near, size, without_one

GRID = ((1, 2, 3), ("a", "b"), (True,))


def any_fits(choice: Choice) -> bool:
    return True


def test_a_space_has_all_combinations_and_that_of_today() -> None:
    found = list(every(GRID, any_fits))
    assert size(GRID) == 24 == len(set(found)) + 1
    assert (None, None, None) not in found


def test_a_small_space_is_looked_at_whole_and_then_there_is_nothing_new() -> None:
    known: set[Choice] = set()
    assert len(drawn(GRID, 100, any_fits, "1", known)) == 23
    assert drawn(GRID, 100, any_fits, "2", known) == []
    assert near(GRID, [(1, None, None)], 100, any_fits, "3", known) == []


def test_the_same_seed_draws_the_same_and_another_one_others() -> None:
    first, again, other = (drawn(GRID, 8, any_fits, seed, set()) for seed in ("1", "1", "2"))
    assert first == again != other
    assert len(set(first)) == 8


def test_what_contradicts_itself_is_never_drawn() -> None:
    def fits(choice: Choice) -> bool:
        return choice[0] is None or choice[1] is None

    known: set[Choice] = set()
    found = [*drawn(GRID, 5, fits, "1", known), *near(GRID, [(1, None, None)], 20, fits, "2", known)]
    assert found and all(map(fits, found))


def test_what_is_known_is_not_drawn_again() -> None:
    known: set[Choice] = set()
    first = drawn(GRID, 8, any_fits, "1", known)
    second = drawn(GRID, 8, any_fits, "1 again", known)
    assert not set(first) & set(second)
    assert known == {*first, *second}


@pytest.mark.parametrize("parent", [(2, None, None), (3, "a", True)])
def test_a_neighbour_of_one_parent_differs_in_one_or_two_levers(parent: Choice) -> None:
    for one in near(GRID, [parent], 10, any_fits, "1", {parent}):
        assert 1 <= sum(own != other for own, other in zip(one, parent, strict=True)) <= 2


def test_a_value_moves_to_the_next_one_or_to_that_of_today() -> None:
    grid = ((1, 2, 3, 4, 5),)
    found = {one[0] for seed in range(50) for one in near(grid, [(4,)], 9, any_fits, str(seed), {(4,)})}
    assert found == {3, 5}, "and that of today is no combination"


def test_two_parents_are_mixed() -> None:
    grid = ((1,), (1,), (1,), (1,))
    parents: list[Choice] = [(1, 1, None, None), (None, None, 1, 1)]
    found = near(grid, parents, 15, any_fits, "1", set(parents))
    assert (1, 1, 1, 1) in found


def test_one_lever_less_is_still_a_combination() -> None:
    assert without_one((1, "a", None)) == [(None, "a", None), (1, None, None)]
    assert without_one((1, None, None)) == []
    assert changed((1, "a", None)) == 2
