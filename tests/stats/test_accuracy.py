"""elapsed / limit, against numbers worked out by hand and by the standard library."""

from __future__ import annotations

import statistics
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.job import Job
from adminkit.stats import accuracy as accuracy_module
from adminkit.stats import grouped
from adminkit.stats.accuracy import POINTS, Accuracy, Spread, Wanted, accuracy, curve, spread
from adminkit.stats.distribution import distribution
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.stats import regrouped
from tests.support.builders import HOUR, MONDAY, job, make_trace

NOW = MONDAY + 30 * 86_400
QUEUES = [("aaic", "gq", 0, HOUR, 72 * HOUR), ("aaic", "gq", NOW - 5, HOUR, 4 * HOUR), ("aaic", "gq", NOW + 5, 1, 1)]


def measured(path: Path, jobs: list[Job], *, curves: bool = False, points: tuple[int, ...] = ()) -> Accuracy:
    path.mkdir(exist_ok=True)
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return accuracy(db, Filter(checkpoint_code=85), NOW, Wanted(curves, points))


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**6)), min_size=2, max_size=60))
def test_the_spread_is_that_of_the_standard_library(pairs: list[tuple[int, int]]) -> None:
    ratios = [elapsed / limit for elapsed, limit in pairs]
    found = spread(distribution(np.array(ratios)))
    tenths = statistics.quantiles(ratios, n=20, method="inclusive")
    wanted = Spread(
        min(ratios), max(ratios), statistics.fmean(ratios), statistics.stdev(ratios), statistics.median(ratios),
        tenths[1], tenths[4], tenths[14], tenths[17],
    )  # fmt: skip
    assert astuple(found) == pytest.approx(astuple(wanted), rel=1e-9, abs=1e-12)


def test_one_job_has_no_deviation_and_none_has_nothing() -> None:
    one = spread(distribution(np.array([0.5])))
    assert (one.min, one.max, one.mean, one.median, one.p90, one.std) == (0.5, 0.5, 0.5, 0.5, 0.5, None)
    assert set(astuple(spread(distribution(np.zeros(0))))) == {None}


def test_queues_come_by_their_jobs_and_their_means_count_once_each(tmp_path: Path) -> None:
    jobs = [
        job(1, queue="small", elapsed=4 * HOUR),
        job(2, elapsed=HOUR),
        job(3, elapsed=3 * HOUR),
        job(4, cluster="other", elapsed=5 * HOUR),
    ]
    found = measured(tmp_path, jobs)
    assert [(q.cluster, q.queue, q.jobs, q.spread.mean) for q in found.queues] == [
        ("aaic", "gq", 2, 0.5), ("aaic", "small", 1, 1.0), ("other", "gq", 1, 1.25),
    ]  # fmt: skip
    assert found.mean_of_queues == pytest.approx((0.5 + 1 + 1.25) / 3)
    assert (found.overall.jobs, found.overall.spread.mean) == (4, pytest.approx(13 / 16))
    assert found.overall.over_limit == 1
    assert found.clusters == ("aaic", "other")


def test_shares_use_the_limits_that_hold_now(tmp_path: Path) -> None:
    jobs = [
        job(1, time_limit=4 * HOUR),
        job(2, time_limit=72 * HOUR),  # above today's maximum: it asked for the maximum of its day
        job(3, time_limit=2 * HOUR),
        job(4, time_limit=HOUR, limit_source="unknown"),  # just the default: taken for it
        job(5, time_limit=HOUR, limit_source="explicit"),  # typed, by chance the same
        job(6, time_limit=2 * HOUR, limit_source="default"),  # the default of its day
        job(7, queue="nolimits", limit_source="unknown"),
        job(8, queue="nolimits", limit_source="default"),
    ]
    gq, nolimits = measured(tmp_path, jobs).queues
    assert (gq.default_limit, gq.max_limit) == (HOUR, 4 * HOUR)
    assert gq.share_maximum == pytest.approx(2 / 6)
    assert gq.share_default == pytest.approx(2 / 6)
    assert nolimits.share_maximum is None
    assert nolimits.share_default == 1.0  # of the one job that can be told


def test_the_overall_shares_are_of_the_jobs_that_can_be_told(tmp_path: Path) -> None:
    jobs = [job(1), job(2, time_limit=2 * HOUR), job(3, queue="nolimits", limit_source="unknown")]
    overall = measured(tmp_path, jobs).overall
    assert overall.share_maximum == pytest.approx(1 / 2)
    assert overall.share_default == pytest.approx(0)


def test_hours_unused_are_what_was_reserved_and_not_used(tmp_path: Path) -> None:
    jobs = [
        job(1, elapsed=HOUR, time_limit=4 * HOUR, gpus=2, cpus=16),  # 3 h unused
        job(2, elapsed=5 * HOUR, time_limit=4 * HOUR, gpus=8, cpus=8),  # nothing is unused beyond the limit
        job(3, gpus=None, cpus=None, req_gpus=4, req_cpus=4),  # 3 h of what was requested
        job(4, gpus=None, cpus=None),  # unknown
        job(5, gpus=10**9, cpus=0),  # nonsense is unknown, none is none
        job(6, queue="blind", gpus=None, cpus=None),
    ]
    found = measured(tmp_path, jobs)
    gq, blind = found.queues
    assert gq.gpu_seconds_unused == 3 * HOUR * (2 + 4)
    assert gq.cpu_seconds_unused == 3 * HOUR * (16 + 4)
    assert (blind.gpu_seconds_unused, blind.cpu_seconds_unused) == (None, None)
    assert (found.gpus_unknown, found.cpus_unknown) == (3, 2)
    assert found.overall.gpu_seconds_unused == gq.gpu_seconds_unused


def test_what_was_asked_at_submission_is_the_limit(tmp_path: Path) -> None:
    found = measured(tmp_path, [job(1, elapsed=HOUR, time_limit=HOUR, limit_original=10 * HOUR)])
    assert found.overall.spread.mean == pytest.approx(0.1)


def test_queues_that_appear_in_a_later_block_are_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "BLOCK", 100)
    jobs = [job(n, queue="early" if n <= 100 else f"late{n % 3}") for n in range(1, 200)]
    found = measured(tmp_path, jobs)
    assert [(q.queue, q.jobs) for q in found.queues] == [("early", 100), ("late0", 33), ("late1", 33), ("late2", 33)]
    assert sum(q.cpu_seconds_unused or 0 for q in found.queues) == 199 * 8 * 3 * HOUR


def test_an_empty_trace_has_an_empty_measure(tmp_path: Path) -> None:
    found = measured(tmp_path, [], curves=True)
    assert (found.queues, found.overall.jobs, found.mean_of_queues) == ([], 0, None)
    assert (found.overall.share_maximum, found.overall.gpu_seconds_unused) == (None, None)
    assert found.overall.elapsed_curve.seconds == ()


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=3000))
def test_a_curve_is_short_ascending_and_true(values: list[int]) -> None:
    found = curve(distribution(np.array(values, np.int32)))
    assert len(found.seconds) <= POINTS
    assert list(found.seconds) == sorted(set(found.seconds))
    assert (found.seconds[0], found.seconds[-1], found.share[-1]) == (min(values), max(values), 1.0)
    place = len(found.seconds) // 2
    below = sum(value <= found.seconds[place] for value in values)
    assert found.share[place] == pytest.approx(below / len(values))


def test_curves_are_made_only_when_wanted(tmp_path: Path) -> None:
    found = measured(tmp_path, [job(1), job(2, elapsed=2 * HOUR)], curves=True).queues[0]
    assert (found.elapsed_curve.seconds, found.elapsed_curve.share) == ([HOUR, 2 * HOUR], [0.5, 1.0])
    assert (found.req_limit_curve.seconds, found.req_limit_curve.share) == ([4 * HOUR], [1.0])


def test_the_used_fraction_is_a_ratio_of_sums(tmp_path: Path) -> None:
    jobs = [job(1, elapsed=HOUR, time_limit=HOUR), job(2, elapsed=10 * HOUR, time_limit=100 * HOUR), job(3, queue="b")]
    found = measured(tmp_path, jobs)
    assert [queue.used_fraction for queue in found.queues] == [pytest.approx(11 / 101), 0.25]
    assert found.overall.used_fraction == pytest.approx(12 / 105)


def test_shares_at_points_are_exact_and_take_the_jobs_of_just_so_long(tmp_path: Path) -> None:
    jobs = [job(n, elapsed=n * HOUR, time_limit=10 * n * HOUR) for n in range(1, 5)]
    found = measured(tmp_path, jobs, points=(HOUR - 1, HOUR, 20 * HOUR, 10**12)).overall
    assert found.ran_within == (0.0, 0.25, 1.0, 1.0)
    assert found.asked_within == (0.0, 0.0, 0.5, 1.0)
    assert measured(tmp_path / "none", [], points=(1,)).overall.ran_within == (None,)


def test_neither_the_order_nor_the_grouping_of_rows_changes_a_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    regrouped.check(
        monkeypatch,
        tmp_path,
        accuracy_module,
        lambda db: accuracy(db, Filter(checkpoint_code=85), NOW, Wanted(True, (HOUR,))),
    )
