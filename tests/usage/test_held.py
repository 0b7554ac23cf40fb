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


def had(gpu: int, since: int, until: int = 0) -> GpuUse:
    """GPU `gpu`, never in use, measured from `since` to `until` seconds before NOW."""
    return use(gpu, since=NOW - since, until=NOW - until, measured=float(since - until))


@pytest.mark.parametrize(
    ("others", "step", "shared", "reason"),
    [
        ({10: [had(0, 9 * HOUR, 6 * HOUR)]}, 60, [], "it ended before job 11 began"),
        ({10: [had(0, 9 * HOUR, 5 * HOUR), had(1, 9 * HOUR, 5 * HOUR)]}, 60, [11], "they had both for an hour"),
        ({9: [had(0, 9 * HOUR, 7 * HOUR)], 10: [had(0, 8 * HOUR, 6 * HOUR)]}, 60, [],
         "two jobs that are over shared it, before job 11 began"),
        ({10: [had(0, 9 * HOUR, 6 * HOUR - 119)]}, 60, [], "its last reading stands for the step after it"),
        ({10: [had(0, 9 * HOUR, 6 * HOUR - 120)]}, 60, [11], "no step is that long"),
        ({10: [had(0, 9 * HOUR, 6 * HOUR - 600)]}, 600, [], "a site that scrapes every ten minutes"),
        ({9: [had(0, 9 * HOUR)], 10: [had(0, 7 * HOUR, 6 * HOUR)]}, 60, [11], "the first of them has it still"),
        ({12: [had(0, 8 * HOUR)]}, 60, [], "job 12 had it in an earlier run; this one began a moment ago"),
        ({12: [had(0, 50)]}, 60, [], "exporters that read a file may be late with the next job"),
    ],
)  # fmt: skip
def test_a_gpu_is_shared_only_while_two_jobs_have_it(
    others: dict[int, list[GpuUse]], step: int, shared: list[int], reason: str
) -> None:
    jobs = [job(11), job(12, age=50)]
    given = Answer(source="dcgm", at=NOW, step=step, uses={11: [use(0), use(1)], **others})
    why = {one.job.job_id: one.why for one in held(jobs, [given], NOW, 300)}
    assert [job_id for job_id, word in why.items() if word == "shared"] == shared, reason
    assert why[11] == ("shared" if shared else ""), reason


def test_another_jobs_hour_on_a_gpu_between_two_runs_of_a_job_is_not_shared() -> None:
    """Job 11 was put back, and got the same GPU again: its readings reach over those of job 10."""
    given = Answer(source="dcgm", at=NOW, uses={10: [had(0, 3 * HOUR, 2 * HOUR)], 11: [use(0), use(1)]})
    (one,) = held([job(11, age=HOUR)], [given], NOW, 300)
    assert (one.why, one.quiet) == ("", HOUR)


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


def test_jobs_of_one_node_do_not_share_gpus_of_which_a_source_has_only_the_sums() -> None:
    """The plugin's words and sstat say nothing of which GPU it is: each job has whole ones of its own."""
    sums = replace(use(), gpu="", gpus=2, measured=12.0 * HOUR)
    given = Answer(source="sampler", at=None, uses={11: [sums], 12: [sums]})
    assert [one.why for one in held([job(11), job(12)], [given], NOW, 300)] == ["", ""]


def test_the_first_source_that_measured_all_of_a_job_counts() -> None:
    less = Answer(source="sampler", at=None, uses={11: [use(0)]})
    more = Answer(source="dcgm", at=NOW, uses={11: [use(0), use(1)]})
    (one,) = held([job()], [less, more], NOW, 300)
    assert (one.source, one.measured) == ("dcgm", True)
    (one,) = held([job()], [less, Answer(source="dcgm", at=NOW, uses={})], NOW, 300)
    assert (one.why, one.source) == ("count", "sampler"), "the reason of the source that got furthest"
