"""The share of jobs that asked for the maximum of their queue, from sums by bin; tests/reports has whole reports."""

from __future__ import annotations

import pytest

from adminkit.stats import from_rollups


@pytest.mark.parametrize(
    ("limit", "maximum", "jobs", "asked", "why"),
    [
        (3600, 3600, 7, None, "the bin above 45 minutes has the maximum, and shorter limits"),
        (3600, 2701, 7, 7, "every limit of the bin is the maximum at least"),
        (3600, 2702, 7, None, "one limit of the bin is below it"),
        (3600, 3601, 7, 0, "the whole bin is below it"),
        (3600, 600, 7, 7, "the maximum was longer when they were submitted"),
        (3600, None, 0, 0, "no maximum is known"),
    ],
)
def test_a_bin_counts_for_the_maximum_if_all_of_it_does(
    limit: int, maximum: int | None, jobs: int, asked: int | None, why: str
) -> None:
    queue = from_rollups._Queue()
    from_rollups._count(queue, {"jobs": 7}, (None, maximum), limit, "explicit")
    assert (queue.with_maximum, queue.maximum) == (jobs, asked), why
