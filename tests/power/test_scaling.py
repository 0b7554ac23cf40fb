"""The model of a training: what it finds again, what it refuses, and what it says of itself."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.power.scaling import Model, Point, model, refusal

COUNTS = (1, 2, 4, 8, 16)


def points_of(made: Model, batches: tuple[float, ...] = (64, 256), counts: tuple[int, ...] = COUNTS) -> list[Point]:
    return [Point(n, b, made.seconds(n, b), made.watts(n, b)) for b, n in product(batches, counts)]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (Model((0.002, 0.03), (0.05, 0.001, 0.0), 80.0, 300.0), "arithmetic, then talking"),
        (Model((0.01, 0.0), (0.0, 0.0, 0.0), 50.0, 400.0), "all arithmetic: twice the GPUs, half the time"),
        (Model((0.0, 0.0), (1.0, 0.5, 0.25), 60.0, 60.0), "all talking: more GPUs take longer"),
        (Model((0.004, 0.1), (0.02, 0.0, 0.03), 0.0, 250.0), "a GPU that waits draws nothing"),
    ],
)
def test_a_fit_finds_the_seconds_and_watts_of_what_made_the_points(made: Model, why: str) -> None:
    found = model(points_of(made))
    assert found is not None and found.idle is not None and found.busy is not None, why
    for n, b in product((1, 3, 6, 12), (64, 128)):
        assert found.seconds(n, b) == pytest.approx(made.seconds(n, b), rel=0.2), (why, n, b)
    for point in points_of(made):
        assert found.seconds(point.gpus, point.batch) == pytest.approx(point.seconds, rel=1e-6), why
        assert found.watts(point.gpus, point.batch) == pytest.approx(point.watts, rel=1e-6), why
    assert found.error and found.error.points == 10


@pytest.mark.parametrize(
    ("points", "said", "why"),
    [
        ([], "0 points: a model needs 3", "nothing"),
        ([Point(1, 1, 9.99), Point(2, 1, 10.35)], "2 points: a model needs 3", "the pair of Zeus"),
        (
            [Point(1, b, 1.0) for b in (1, 2, 4)],
            "all points have the same number of GPUs",
            "nothing says how it scales",
        ),
        ([Point(1, 1, 4.0), Point(2, 1, 2.0), Point(4, 1, 1.0)], None, "three are enough"),
    ],
)
def test_a_model_is_refused_where_points_are_too_few(points: list[Point], said: str | None, why: str) -> None:
    assert refusal(points) == said, why
    assert (model(points) is None) == (said is not None), why


def test_watts_take_three_points_of_their_own() -> None:
    points = [Point(n, 64, 1 / n, 300.0 * n if n < 4 else None) for n in (1, 2, 4, 8)]
    found = model(points)
    assert found is not None and found.watts(2, 64) is None and found.power_error is None


def test_the_error_is_that_of_points_that_were_not_shown() -> None:
    """A point that is twice as slow as its neighbours say is as far off as that."""
    made = Model((0.01, 0.0), (0.0, 0.0, 0.0))
    points = [Point(n, b, made.seconds(n, b) * (2 if (n, b) == (4, 64) else 1)) for n in COUNTS for b in (64, 128, 256)]
    found = model(points)
    assert found is not None and found.error is not None
    assert found.error.worst == pytest.approx(0.5, abs=0.05) and found.error.median < 0.05


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(COUNTS), st.sampled_from((1.0, 64.0, 256.0)), st.floats(1e-6, 1e6),
                  st.one_of(st.none(), st.floats(1, 1e5))),
        unique_by=lambda one: one[:2], max_size=12,
    )
)  # fmt: skip
def test_whatever_was_measured_no_coefficient_is_negative(rows: list[tuple[int, float, float, float | None]]) -> None:
    points = [Point(*row) for row in rows]
    found = model(points)
    assert (found is None) == (refusal(points) is not None)
    if found is None:
        return
    assert min(*found.arithmetic, *found.talking) >= 0
    assert found.error and found.error.points == len(points) and not math.isnan(found.error.median)
    if found.idle is not None and found.busy is not None:
        assert 0 <= found.idle <= found.busy
    for point in points:
        assert 0 <= found.used(point.gpus, point.batch) <= 1
