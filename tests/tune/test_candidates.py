"""Which combinations are tried: each once, none that contradicts itself, the same ones for the same seed."""

from __future__ import annotations

from adminkit.tune.candidates import Choice, changed, drawn, every, size

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


def test_the_same_seed_draws_the_same_and_another_one_others() -> None:
    first, again, other = (drawn(GRID, 8, any_fits, seed, set()) for seed in ("1", "1", "2"))
    assert first == again != other
    assert len(set(first)) == 8


def test_what_contradicts_itself_is_never_drawn() -> None:
    def fits(choice: Choice) -> bool:
        return choice[0] is None or choice[1] is None

    known: set[Choice] = set()
    found = [*drawn(GRID, 5, fits, "1", known), *drawn(GRID, 20, fits, "2", known)]
    assert found and all(map(fits, found))


def test_what_is_known_is_not_drawn_again() -> None:
    known: set[Choice] = set()
    first = drawn(GRID, 8, any_fits, "1", known)
    second = drawn(GRID, 8, any_fits, "1 again", known)
    assert not set(first) & set(second)
    assert known == {*first, *second}


def test_as_many_levers_differ_from_today_as_there_are() -> None:
    choice: Choice = (1, "a", None)
    assert changed(choice) == 2
