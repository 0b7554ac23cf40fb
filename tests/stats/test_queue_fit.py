"""How long the jobs of a queue really run, and which fit a shorter queue."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.stats.queue_fit import QueueJobs, Share, queue_jobs
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

QUEUES = [("aaic", "gq", 0, HOUR, 72 * HOUR), ("aaic", "short", 0, HOUR, 3 * HOUR)]


def measured(path: Path) -> list[QueueJobs]:
    """gq: six users, of whom the first has ten jobs of two hours, the others one each of five. short: two jobs."""
    jobs = [job(n, elapsed=2 * HOUR, user="ada", time_limit=72 * HOUR) for n in range(10)]
    jobs += [job(10 + n, elapsed=5 * HOUR, user=f"u{n}", time_limit=6 * HOUR, gpus=2) for n in range(5)]
    jobs += [job(20, queue="short", elapsed=HOUR), job(21, queue="short", elapsed=HOUR, gpus=1)]
    with reader(make_trace(path / "t.db", jobs, QUEUES)) as db:
        return queue_jobs(db, Filter(checkpoint_code=85), MONDAY)


def test_a_share_has_an_interval_over_users(tmp_path: Path) -> None:
    gq, short = measured(tmp_path)
    assert (gq.queue, len(gq.elapsed), gq.max_limit) == ("gq", 15, 72 * HOUR)
    share = gq.longer(3 * HOUR)
    assert (share.jobs, share.share) == (5, 5 / 15)
    assert share.low is not None and share.high is not None
    assert share.low < 0.2 and share.high == 1.0, "ten jobs are one user's: without that user all jobs are longer"
    assert gq.longer(3 * HOUR) == share, "the same jobs have the same interval"
    assert gq.longer(6 * HOUR) == Share(0, 0.0, 0.0, 0.0)
    assert short.longer(HOUR // 2) == Share(2, 1.0, None, None), "one user: no interval"


@pytest.mark.parametrize(
    ("limit", "hours", "why"),
    [(72, 0, "nobody asks for more"), (6, 10 * 66, "ten jobs of one GPU"), (5, 10 * 67 + 5 * 2, "five of two besides")],
)
def test_hours_that_a_shorter_maximum_would_not_reserve(tmp_path: Path, limit: int, hours: int, why: str) -> None:
    gq, _ = measured(tmp_path)
    assert gq.reserved_beyond(limit * HOUR) == (hours * HOUR, None), why


def test_a_job_fits_by_its_time_and_its_size(tmp_path: Path) -> None:
    gq, short = measured(tmp_path)
    assert gq.fitting(short).tolist() == [True] * 10 + [False] * 5, "five hours are longer than three"
    jobs = [
        job(1, elapsed=HOUR, gpus=2),
        job(2, elapsed=3 * HOUR),
        job(3, elapsed=HOUR, nodes=2),
        job(4, queue="short"),
    ]
    with reader(make_trace(tmp_path / "sizes.db", jobs, QUEUES)) as db:
        gq, short = queue_jobs(db, Filter(checkpoint_code=85), MONDAY)
    assert gq.fitting(short).tolist() == [False, True, False], "nobody had two GPUs or two nodes there"


UNKNOWN = [
    ({"gpus": None}, {"gpus": 1}, False, "it may have had more than the one GPU of the largest job there"),
    ({"nodes": None}, {"nodes": 4}, False, "or more nodes"),
    ({"gpus": 0}, {"gpus": None}, False, "nobody knows what ran there"),
    ({"gpus": None}, {"gpus": None}, True, "a cluster whose accounting counts no GPUs: nodes decide"),
    ({"gpus": 0}, {"gpus": 0}, True, "none is known, and no more than none"),
]


@pytest.mark.parametrize(("mine", "theirs", "fits", "why"), UNKNOWN)
def test_a_job_of_unknown_size_fits_nowhere_where_sizes_are_known(
    mine: dict[str, int | None], theirs: dict[str, int | None], fits: bool, why: str, tmp_path: Path
) -> None:
    jobs = [job(1, **mine), job(2, queue="short", **theirs)]
    with reader(make_trace(tmp_path / "t.db", jobs, QUEUES)) as db:
        found = {one.queue: one for one in queue_jobs(db, Filter(checkpoint_code=85), MONDAY)}
    assert found["gq"].fitting(found["short"]).tolist() == [fits], why


def test_no_job(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db", [], QUEUES)) as db:
        assert queue_jobs(db, Filter(checkpoint_code=85), MONDAY) == []
