"""The two months after the study's: its jobs stay as they are, the machine is never overfull, findings speak."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from pathlib import Path

import pytest

from adminkit.config import Config
from adminkit.demo import generate, story, training
from adminkit.demo.backfill import Wish, starts
from adminkit.demo.meter import metered as metered_of
from adminkit.demo.used import uses
from adminkit.demo.users import END
from adminkit.feedback.site_findings import QUEUES, USERS
from adminkit.ingest.files import Import, import_stream
from adminkit.job import Job
from adminkit.reports.findings import Scope, gather
from adminkit.slurm.hostlist import hosts
from adminkit.trace.connect import reader

HOUR = 3600
#: sha256 of the text of the jobs without a meter: traces that people made must stay what they are.
BEFORE = "21d14e07eb99b86c5c94a8cba5f7a56ba02fe464e59afe11af399c046a7a343f"
UNTIL = END + story.DAYS * 24 * HOUR


@pytest.fixture(scope="module")
def study() -> list[Job]:
    return list(generate.jobs())


@pytest.fixture(scope="module")
def later(study: list[Job]) -> list[Job]:
    return list(story.after(study, generate.SEED))


def test_each_job_has_a_number_of_its_own_and_comes_after_the_study(study: list[Job], later: list[Job]) -> None:
    numbers = [job.job_id_raw for job in later]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > study[-1].job_id_raw
    assert min(job.submit_time for job in later) >= END > max(job.end_time or 0 for job in study)


def test_no_job_starts_before_it_may_and_no_more_gpus_are_used_than_there_are(later: list[Job]) -> None:
    changes = []
    for job in later:
        assert job.submit_time <= (job.eligible_time or 0) < (job.start_time or 0)
        assert job.end_time == (job.start_time or 0) + (job.elapsed or 0)
        changes += [(job.start_time or 0, job.gpus or 0), (job.end_time or 0, -(job.gpus or 0))]
    used = most = 0
    for _, gpus in sorted(changes):
        used += gpus
        most = max(most, used)
    assert 350 < most <= 400


def test_from_february_on_single_gpu_jobs_of_gq_ask_for_a_day_at_most(later: list[Job]) -> None:
    asked = Counter(
        (job.submit_time >= story.RULE, (job.time_limit or 0) > story.RULE_LIMIT)
        for job in later
        if job.queue == "gq" and job.gpus == 1
    )
    assert asked[False, True] > 0 == asked[True, True]


def test_a_job_that_ran_into_its_limit_timed_out_and_none_ran_longer(later: list[Job]) -> None:
    for job in later:
        assert (job.elapsed or 0) <= (job.time_limit or 0)
        assert job.state != "TIMEOUT" or job.elapsed == job.time_limit
        assert job.state != "COMPLETED" or job.exit_code == 0
    assert {job.state for job in later} == {
        "COMPLETED", "TIMEOUT", "FAILED", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL",
    }  # fmt: skip


def test_every_kind_of_finding_on_jobs_has_something_to_say(study: list[Job], later: list[Job], tmp_path: Path) -> None:
    """One user of the five months is enough: somebody's limits have become better."""
    improved = [job for job in study if job.user == "user041"]
    path = tmp_path / "story.db"
    wanted = Import(
        None, path, generate.CLUSTER, kind="demo", origin="demo", site=generate.SITE, site_since=generate.BEGIN
    )
    import_stream(wanted, io.BytesIO(b"".join(generate.sacct_text([*improved, *later]))), UNTIL)
    scope = Scope(since=END, until=UNTIL, now=UNTIL, clusters=[generate.CLUSTER], everybody=True)
    with reader(path) as db:
        findings = gather(db, Config(), scope, (*QUEUES, *USERS))
    assert {one.kind for one in findings} == {*QUEUES, *USERS} - {"images"}
    told = {(one.kind, one.verdict, one.subject.user) for one in findings}
    assert ("month", "better", "user041") in told
    names = {one.subject.name for one in findings if one.kind == "failing"}
    assert names == {"nan_loss.sh", "bigbatch.sh"}
    assert [one.evidence["most"] for one in findings if one.kind == "flood"] == [700]


@pytest.fixture(scope="module")
def metered(study: list[Job], later: list[Job]) -> list[Job]:
    return list(story.with_meter(study, later, generate.SEED))


def test_jobs_with_a_meter_come_when_all_others_have_ended(later: list[Job], metered: list[Job]) -> None:
    assert max(job.end_time or 0 for job in later) < story.METER <= min(job.submit_time for job in metered)
    numbers = [job.job_id_raw for job in metered]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > later[-1].job_id_raw
    assert {job.energy for job in later} == {None}


def test_the_training_has_its_nodes_alone(metered: list[Job]) -> None:
    trained = [job for job in metered if job.job_name == training.NAME]
    assert Counter(job.gpus for job in trained) == {gpus: kind.runs for gpus, kind in training.KINDS.items()}
    assert {(job.cpus, job.nodes, job.state, job.user) for job in trained} == {(40, 1, "COMPLETED", trained[0].user)}
    for job in trained:
        for other in metered:
            if other is not job and job.node_list in hosts(other.node_list or ""):
                assert (other.end_time or 0) <= (job.start_time or 0) or (job.end_time or 0) <= (other.start_time or 0)


def test_no_node_draws_less_than_at_rest_or_more_than_all_it_has(metered: list[Job]) -> None:
    for job, _ in metered_of(uses(metered, generate.SEED)):
        assert 540 <= (job.energy or 0) / ((job.elapsed or 0) * (job.nodes or 0)) <= 300 + 8 * 250


def test_earlier_jobs_are_the_same_to_the_byte(study: list[Job], later: list[Job], metered: list[Job]) -> None:
    before = b"".join(generate.sacct_text([*study, *later]))
    assert b"energy=" not in before
    assert b"".join(generate.sacct_text([*study, *later, *metered])).startswith(before)
    assert hashlib.sha256(before).hexdigest() == BEFORE


GPUS = 8
CASES = [
    # wishes (ready, busy, limit, nodes, GPUs of each), starts, why
    ([(0, 100, 100, 50, GPUS), (1, 10, 10, 1, 1)], [0, 100], "the machine is full"),
    ([(0, 100, 100, 49, GPUS), (1, 50, 50, 50, GPUS), (2, 90, 90, 1, 1)], [0, 100, 2], "a short one is backfilled"),
    ([(0, 100, 100, 49, GPUS), (1, 50, 50, 50, GPUS), (2, 90, 200, 1, 1)], [0, 100, 150], "a long limit is not"),
    ([(0, 100, 900, 49, GPUS), (1, 50, 50, 50, GPUS), (2, 90, 800, 1, 1)], [0, 100, 2], "limits say until when"),
    ([(0, 10, 10, 1, 4), (0, 10, 10, 1, 4), (0, 10, 10, 1, 1)], [0, 0, 0], "there is room for all"),
]


@pytest.mark.parametrize(("wishes", "expected", "why"), CASES, ids=[case[2] for case in CASES])
def test_the_queue_backfills_by_limits(
    wishes: list[tuple[int, int, int, int, int]], expected: list[int], why: str
) -> None:
    assert [start for start, _ in starts([Wish(*one) for one in wishes])] == expected, why
