"""What replicates say: the wider interval counts, and a change that is there is found with its sign."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adminkit.simulate.outcome import EDGES
from adminkit.stats.bootstrap import block_length
from adminkit.tune.measured import LATE, LEAST_BLOCKS, Change, Outcome, each_of, waits_of, whole_of, widened
from tests.tune.outcomes import DAYS, FRAME, JOBS, NAMES, outcome_of, outcomes


def wait(share: tuple[float, float], many: int = 20, noise: float = 0.01) -> list[Change]:
    return waits_of(outcomes(share, many, noise), FRAME)


def test_each_group_has_its_own_change_with_its_sign() -> None:
    whole, small, wide = wait((0.5, 1.1))
    assert [(one.part, one.value) for one in (whole, small, wide)] == list(NAMES)
    assert small.is_less and wide.is_more
    assert small.relative == pytest.approx(-0.5, abs=0.01)
    assert wide.relative == pytest.approx(0.1, abs=0.01)
    today = (80 * 600 + 20 * 3600) / 100
    assert whole.today == pytest.approx(today, rel=0.01)
    assert whole.change == pytest.approx((80 * -300 + 20 * 360) / 100, rel=0.05)


def test_no_change_is_neither_more_nor_less() -> None:
    for one in wait((1.0, 1.0)):
        assert not one.is_more and not one.is_less
        assert one.low <= 0 <= one.high


def test_days_that_differ_make_the_interval_wide_however_alike_the_replicates_are() -> None:
    """One day in ten has all of the gain: twenty equal replicates cannot tell whether the next weeks have such days."""
    one = outcome_of((1.0, 1.0), 1, noise=0)
    gain = np.where(np.arange(DAYS) % 20 == 0, 0.05, 1.0)
    then = one.waits.copy()
    then[2] *= gain
    several = [replace(one, waits=then)] * 20
    (whole, *_) = waits_of(several, FRAME)
    assert whole.change < 0
    assert whole.low < whole.change < whole.high
    assert not whole.is_less, "two days of forty"
    even = one.waits.copy()
    even[2] *= gain.mean()
    (same, *_) = waits_of([replace(one, waits=even)] * 20, FRAME)
    assert same.change == pytest.approx(whole.change) and same.is_less


def test_replicates_that_differ_make_the_interval_wide_however_alike_the_days_are() -> None:
    several = [outcome_of((share, share), 1, noise=0) for share in (0.5, 1.3, 0.7, 1.2)]
    (whole, *_) = waits_of(several, FRAME)
    assert whole.change < 0 < whole.high


def test_one_replicate_has_the_interval_of_its_days() -> None:
    (whole, *_) = wait((0.5, 0.5), many=1, noise=0.1)
    assert whole.is_less and whole.low < whole.change


def test_a_group_of_few_jobs_is_not_judged() -> None:
    rare = [replace(one, waits=one.waits * np.array([1, 1, 0.01])[None, :, None]) for one in outcomes((0.5, 2), 5)]
    assert [one.value for one in waits_of(rare, FRAME)] == ["(all)", "small"]
    assert [one.value for one in waits_of(rare, FRAME, least=2)] == ["(all)", "small", "wide"]


def with_sums(one: Outcome, **sums: float) -> Outcome:
    """With so much of these on each day."""
    return replace(one, sums={**one.sums, **{name: np.full(DAYS, value) for name, value in sums.items()}})


def test_hours_lost_and_late_starts_are_sums_of_all_days() -> None:
    several = [with_sums(one, lost_today=3600, lost=1800, late_today=0, late=2) for one in outcomes((1, 1), 3)]
    lost, late = whole_of("lost_hours", several, FRAME), whole_of(LATE, several, FRAME)
    assert lost and (lost.today, lost.then, lost.unit) == (DAYS, DAYS / 2, "hours") and lost.is_less
    assert late and (late.today, late.then, late.unit) == (0, 2 * DAYS, "count") and late.is_more


def test_late_starts_are_unknown_where_the_model_promises_nothing() -> None:
    bare = [replace(one, sums={name: of for name, of in one.sums.items() if "late" not in name})
            for one in outcomes((1, 1), 2)]  # fmt: skip
    assert whole_of(LATE, bare, FRAME) is None


def test_use_is_compared_part_by_part() -> None:
    base = outcomes((1, 1), 3)
    lower = [replace(one, busy=np.array([np.full(120, 0.8), np.full(120, 0.7)]), whole={"utilization": (0.8, 0.7)})
             for one in base]  # fmt: skip
    found = whole_of("utilization", lower, FRAME)
    assert found and found.is_less and found.change == pytest.approx(-0.1)
    uneven = np.array([np.full(120, 0.8), np.where(np.arange(120) < 4, 0.0, 0.8)])
    rare = [replace(one, busy=uneven, whole={"utilization": (0.8, 0.773)}) for one in base]
    found = whole_of("utilization", rare, FRAME)
    assert found and found.change < 0 and not found.is_less


def test_slowdown_follows_the_waits() -> None:
    found = whole_of("mean_slowdown", outcomes((0.5, 0.5), 5), FRAME)
    assert found and found.is_less and found.relative == pytest.approx(-0.5, abs=0.01) and found.unit == "ratio"


def counted(waits: np.ndarray) -> list[list[int]]:
    return [np.searchsorted(np.sort(waits), EDGES, side="right").tolist()] * DAYS


def test_the_interval_of_the_95th_percentile_is_of_the_days() -> None:
    rng = np.random.default_rng(1)
    before, after = rng.exponential(1000, 500), rng.exponential(500, 500)
    ends = {"p95_wait": (float(np.quantile(before, 0.95)), float(np.quantile(after, 0.95)))}
    alike = np.array([counted(before), counted(after)], float)
    base = [replace(one, tail=alike, whole=ends) for one in outcomes((1, 1), 3)]
    found = whole_of("p95_wait", base, FRAME)
    assert found and found.is_less
    assert found.change == pytest.approx(ends["p95_wait"][1] - ends["p95_wait"][0])
    rare = alike.copy()
    rare[1][np.arange(DAYS) >= 2] = rare[0][0]  # two days of forty
    unsure = whole_of("p95_wait", [replace(one, tail=rare) for one in base], FRAME)
    assert unsure and unsure.high - unsure.low > found.high - found.low


def test_two_changes_are_compared_by_what_each_replicate_has() -> None:
    several = outcomes((0.5, 0.5), 4)
    assert len(set(each_of("mean_wait", several))) == 4
    assert each_of("mean_wait", several)[0] == pytest.approx(600, rel=0.05)
    assert each_of("p95_wait", several) == (3600.0,) * 4
    assert each_of("lost_hours", several) == (0.0,) * 4


def test_blocks_are_longer_where_days_depend_on_each_other() -> None:
    rng = np.random.default_rng(3)
    slow = np.repeat(rng.standard_normal(DAYS // 10), 10)
    one = outcome_of((1, 1), 1, noise=0)
    waits = one.waits.copy()
    waits[2] *= 1 + 0.2 * slow
    assert widened([replace(one, waits=waits)], FRAME).length > 1
    assert widened(outcomes((0.5, 0.5), 20), FRAME).length < 5


def test_four_blocks_are_left_however_the_days_depend_on_each_other() -> None:
    """A gain of every other day: the longest length of all fits that, and leaves two blocks that show nothing."""
    one = outcome_of((1.0, 1.0), 1, noise=0)
    waits = one.waits.copy()
    waits[2] *= np.where(np.arange(DAYS) % 2, 0.4, 0.6)
    assert block_length(waits[2][0] - waits[1][0]) > DAYS // LEAST_BLOCKS
    assert widened([replace(one, waits=waits)], FRAME).length == DAYS // LEAST_BLOCKS
    assert JOBS.sum() == one.waits[0][0].sum()
