"""What is believed of a measurement, and what is idle: only what is certainly of this run, whole, and not old."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.usage.held import held
from adminkit.usage.usage import Answer, GpuUse
from tests.usage.jobs import HOUR, NOW, answer, job, use

IDLE = (use(0), use(1))


@pytest.mark.parametrize(
    ("given", "of", "why", "reason"),
    [
        (answer(*IDLE), job(), "", "all is well"),
        (Answer(source="dcgm", at=NOW, uses={}), job(), "nobody", "the exporter is dead, or knows no job"),
        (answer(*IDLE, job_id=12), job(), "nobody", "what it measured is of another job"),
        (answer(use(0, node="n2"), use(1, node="n2")), job(), "node", "a job id that was used on another node"),
        (answer(*IDLE, at=NOW + 90), job(), "clock", "the source's clock is fast"),
        (answer(*IDLE, at=NOW - 90), job(), "clock", "the source's clock is slow"),
        (answer(use(0, until=NOW + 90), use(1)), job(), "clock", "a reading of the future"),
        (answer(use(0, last_used=NOW + 90), use(1)), job(), "clock", "it was in use in the future"),
        (answer(use(0, until=NOW - 301, measured=5.9 * HOUR), use(1)), job(), "stale", "one GPU has no new reading"),
        (answer(use(0)), job(), "count", "one of two GPUs is measured: the other may be busy"),
        (answer(use(0), use(1), use(2)), job(), "count", "more GPUs than the job has"),
        (answer(use(0), use(0)), job(), "shared", "one GPU twice is not two"),
        (answer(use(0, measured=3.0 * HOUR), use(1)), job(), "gaps", "half of the time was not measured"),
        (answer(use(0, since=NOW, measured=0.0), use(1)), job(), "gaps", "one reading is no time"),
        (answer(*IDLE), job(gpus=2, kind="slice"), "parts", "MIG: the GPU's use is nobody's"),
        (answer(*IDLE), job(gpus=0, kind="shard"), "parts", "two jobs on one GPU"),
        (answer(*IDLE), job(gpus=2, kind="mixed"), "parts", "whole ones and parts"),
        (answer(*IDLE), job(start_time=None), "run", "nobody knows when the run began"),
        (answer(*(replace(one, until=NOW - 200, since=NOW - HOUR) for one in IDLE)), job(age=100), "run",
         "all readings are of the run before"),
    ],
)  # fmt: skip
def test_what_is_not_certainly_of_the_job_is_not_measured(given: Answer, of: GpuJob, why: str, reason: str) -> None:
    (one,) = held([of], [given], NOW, 300)
    assert (one.why, one.measured) == (why, not why), reason
    if why:
        assert (one.idle(1), one.quiet, one.idle_hours(1), one.unused_hours, one.uses) == (0, None, None, None, ())


def test_a_gpu_that_two_jobs_have_measures_neither() -> None:
    given = Answer(source="dcgm", at=NOW, uses={11: [use(0), use(1)], 12: [use(1), use(2)]})
    assert [one.why for one in held([job(11), job(12)], [given], NOW, 300)] == ["shared", "shared"]


def test_a_gpu_that_another_job_had_before_is_not_shared() -> None:
    before = [replace(use(gpu, quiet=5 * HOUR), until=NOW - 6 * HOUR, since=NOW - 9 * HOUR) for gpu in (0, 1)]
    given = Answer(source="dcgm", at=NOW, uses={10: before, 11: [use(0), use(1)]})
    assert [one.why for one in held([job(11)], [given], NOW, 300)] == [""]


@pytest.mark.parametrize(
    ("uses", "least", "idle", "hours", "reason"),
    [
        ((use(0), use(1)), HOUR, 2, 12.0, "never used"),
        ((use(0, quiet=0), use(1)), HOUR, 1, 6.0, "one is in use"),
        ((use(0, quiet=1800), use(1, quiet=HOUR)), HOUR, 1, 1.0, "one was used half an hour ago"),
        ((use(0, quiet=1800), use(1, quiet=HOUR)), 600, 2, 1.5, "both were used longer ago than ten minutes"),
        ((use(0, quiet=30), use(1, quiet=0)), 600, 0, 0.0, "both are in use"),
        ((use(0, span=500), use(1, span=500)), 600, 0, 0.0, "measured for less than that"),
    ],
)
def test_a_gpu_is_idle_that_no_reading_saw_in_use(
    uses: tuple[GpuUse, ...], least: int, idle: int, hours: float, reason: str
) -> None:
    (one,) = held([job()], [answer(*uses)], NOW, 300)
    assert (one.idle(least), one.idle_hours(least)) == (idle, pytest.approx(hours)), reason


def test_what_an_earlier_run_of_the_same_id_did_is_not_this_runs() -> None:
    """It was put back an hour ago; the readings reach six hours back."""
    (one,) = held([job(age=HOUR)], [answer(use(0, quiet=2 * HOUR), use(1, quiet=600))], NOW, 300)
    never, used = one.uses
    assert (never.last_used, never.quiet, never.busy, never.measured) == (None, HOUR, 0.0, HOUR)
    assert (used.last_used, used.quiet, used.measured) == (NOW - 600, 600, HOUR)
    assert used.busy <= used.measured


def test_the_first_source_that_measured_all_of_a_job_counts() -> None:
    less = Answer(source="sampler", at=None, uses={11: [use(0)]})
    more = Answer(source="dcgm", at=NOW, uses={11: [use(0), use(1)]})
    (one,) = held([job()], [less, more], NOW, 300)
    assert (one.source, one.measured) == ("dcgm", True)
    (one,) = held([job()], [less, Answer(source="dcgm", at=NOW, uses={})], NOW, 300)
    assert (one.why, one.source) == ("count", "sampler"), "the reason of the source that got furthest"
