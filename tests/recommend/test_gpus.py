"""How many GPUs: the ratios, when a change is advised, and when nothing is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.recommend.gpus import Known, Ratio, advise
from adminkit.reports.recommend_gpus import sentence

STAY = "stay with {}: no other known number is better and at most {} % slower"
#: Zeus' pair: ResNet-18 on one and two V100 at 250 W.
ZEUS = [Known(1, 9.991050186916254, 1900.3329999999842), Known(2, 10.353665743023157, 2763.6879999999994)]
NO_ENERGY = [Known(1, 10.0), Known(2, 5.2), Known(4, 5.0)]
#: Twice the GPUs, half the time: an idle machine costs less.
SCALES = [Known(1, 8.0, 2400.0), Known(2, 4.0, 2000.0), Known(8, 1.0, 1600.0)]


@pytest.mark.parametrize(
    ("known", "present", "slower", "said", "why"),
    [
        (ZEUS, 2, 0.05, "ask for 1 GPU instead of 2: about the same time (4 % less), 31 % less energy",
         "PowerFlow's own line, of Zeus' pair"),
        (ZEUS, 1, 0.05, STAY.format("1 GPU", 5), "the other way"),
        (SCALES, 1, 0.0, "ask for 8 GPUs instead of 1: 88 % less time, 33 % less energy", "more GPUs, less energy"),
        (SCALES, 8, 0.05, STAY.format("8 GPUs", 5), "the best already"),
        (NO_ENERGY, 4, 0.05, "ask for 2 GPUs instead of 4: about the same time (4 % more), 48 % less GPU-hours",
         "no energy is known"),
        (NO_ENERGY, 2, 0.05, STAY.format("2 GPUs", 5), "1 is slow"),
        (NO_ENERGY, 2, 1.0, STAY.format("2 GPUs", 100), "4 % of hours"),
        ([Known(1, 1.0, 100.0), Known(2, 1.0, 102.0)], 2, 0.05, STAY.format("2 GPUs", 5), "2 % is no reason"),
    ],
)  # fmt: skip
def test_what_is_advised(known: list[Known], present: int, slower: float, said: str, why: str) -> None:
    advice = advise(known, present, slower)
    assert advice is not None
    assert sentence(advice, slower) == said, why


def test_nothing_is_said_of_a_number_that_was_not_measured() -> None:
    assert advise(ZEUS, 4, 0.05) is None


def test_numbers_between_measured_ones_are_the_models_and_beyond_them_unknown() -> None:
    advice = advise([Known(2, 4.0, 2000.0), Known(8, 1.0, 1600.0), Known(16, 0.5, 1600.0)], 8, 0.05)
    assert advice is not None
    assert {one.gpus: one.how for one in advice.choices} == {
        1: "not known", 2: "measured", 4: "model", 8: "measured", 16: "measured",
    }  # fmt: skip
    four = next(one for one in advice.choices if one.gpus == 4)
    assert four.off is not None and four.time is not None and four.time.value == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(
    ("spread", "stays", "why"),
    [(0.01, False, "runs are alike: 20 % less energy is a difference"), (0.3, True, "runs differ by more than that")],
)
def test_a_difference_that_runs_do_not_show_surely_is_no_reason(spread: float, stays: bool, why: str) -> None:
    def around(value: float) -> list[float]:
        return [value * (1 - spread), value, value * (1 + spread)]

    known = [
        Known(1, 1.0, 80.0, 3, around(1.0), around(80.0)),
        Known(2, 1.0, 100.0, 3, around(1.0), around(100.0)),
    ]
    advice = advise(known, 2, 0.05)
    assert advice is not None and (advice.best.gpus == 2) is stays, why
    one = advice.choices[0]
    assert one.energy is not None and one.energy.low is not None and one.energy.low < 0.8 < (one.energy.high or 0)


def test_gpu_hours_have_to_be_surely_fewer_too() -> None:
    """Without energy: the times of three runs differ by a factor of four."""
    known = [Known(1, 1.7, None, 3, (1.0, 1.7, 4.0)), Known(2, 1.0, None, 3, (0.5, 1.0, 2.0))]
    advice = advise(known, 2, 1.0)
    assert advice is not None and advice.best.gpus == 2 and not advice.by_energy
    sure = advise([replace(one, each_seconds=[one.seconds] * 3) for one in known], 2, 1.0)
    assert sure is not None and sure.best.gpus == 1


@pytest.mark.parametrize(
    ("ratio", "sure"),
    [(Ratio(0.7), True), (Ratio(0.7, 0.6, 0.8), True), (Ratio(0.7, 0.4, 1.1), False), (Ratio(1.3, 1.1, 1.5), True)],
)
def test_what_is_a_difference(ratio: Ratio, sure: bool) -> None:
    assert ratio.sure is sure
