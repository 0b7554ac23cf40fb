"""The two months after the study's: its jobs stay as they are, the machine is never overfull, findings speak."""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter, defaultdict
from itertools import accumulate
from pathlib import Path
from statistics import median

import pytest

from adminkit.config import Config
from adminkit.demo import generate, nights, story, training
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
from tests.support.study import study as made
from tests.support.typed import typed_for_a_page as run
from tools.docs import DOCS

HOUR = 3600
#: sha256 of the text of the jobs without a meter, and of all until March: traces that people made stay what they are.
BEFORE = "21d14e07eb99b86c5c94a8cba5f7a56ba02fe464e59afe11af399c046a7a343f"
UNTIL_MARCH = "879ea681c3be7ff3357f1dead7c86f2d74f6140b8243d534b1de26a9ddd22ae1"
UNTIL = END + story.DAYS * 24 * HOUR


@pytest.fixture(scope="module")
def study() -> list[Job]:
    return list(made())


@pytest.fixture(scope="module")
def later(study: list[Job]) -> list[Job]:
    return list(story.after(study, generate.SEED))


def test_each_job_has_a_number_of_its_own_and_comes_after_the_study(study: list[Job], later: list[Job]) -> None:
    numbers = [job.job_id_raw for job in later]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > study[-1].job_id_raw
    assert min(job.submit_time for job in later) >= END > max(job.end_time or 0 for job in study)


def in_use(jobs: list[Job]) -> int:
    """The most GPUs at a time."""
    starts = [(job.start_time or 0, job.gpus or 0) for job in jobs]
    ends = [(job.end_time or 0, -(job.gpus or 0)) for job in jobs]
    return max(accumulate(gpus for _, gpus in sorted([*starts, *ends])))


def test_no_job_starts_before_it_may_and_no_more_gpus_are_used_than_there_are(later: list[Job]) -> None:
    for job in later:
        assert job.submit_time <= (job.eligible_time or 0) < (job.start_time or 0)
        assert job.end_time == (job.start_time or 0) + (job.elapsed or 0)
    assert 350 < in_use(later) <= 400


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
    # Nobody is given more time, no node of the story is bad, and nobody looked whether its programs wait for files.
    silent = {"images", "run_over", "bad_node", "io_bound"}
    assert {one.kind for one in findings} == {*QUEUES, *USERS} - silent
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


@pytest.fixture(scope="module")
def april(study: list[Job], later: list[Job], metered: list[Job]) -> list[Job]:
    return list(story.with_nights(study, [*later, *metered], generate.SEED))


def test_the_jobs_of_april_come_when_all_others_have_ended(metered: list[Job], april: list[Job]) -> None:
    assert max(job.end_time or 0 for job in metered) < nights.BEGIN <= min(job.submit_time for job in april)
    numbers = [job.job_id_raw for job in april]
    assert numbers == sorted(set(numbers)) and numbers[0] > metered[-1].job_id_raw
    assert in_use(april) <= 400


def test_on_some_nights_there_is_a_queue_that_is_gone_by_ten(april: list[Job]) -> None:
    waits: defaultdict[int, list[int]] = defaultdict(list)  # by hour, JST
    for job in april:
        waits[((job.eligible_time or 0) // HOUR + 9) % 24].append((job.start_time or 0) - (job.eligible_time or 0))
    medians = {hour: median(waits[hour]) for hour in waits}
    assert min(medians[hour] for hour in (22, 23, 0, 1, 2, 3)) > 1000
    assert {medians[hour] for hour in range(9, 21)} == {1}
    assert max(max(waits[hour]) for hour in range(10, 21)) == 1


def test_a_pipeline_starts_one_image_in_many_short_runs(april: list[Job], tmp_path: Path) -> None:
    path, until = tmp_path / "april.db", nights.BEGIN + 15 * 24 * HOUR
    wanted = Import(
        None, path, generate.CLUSTER, kind="demo", origin="demo", site=generate.SITE, site_since=generate.BEGIN
    )
    import_stream(wanted, io.BytesIO(b"".join(generate.sacct_text(april))), until)
    scope = Scope(since=nights.BEGIN, until=until, now=until, clusters=[generate.CLUSTER], everybody=True)
    with reader(path) as db:
        (finding,) = gather(db, Config(), scope, ["images"])
    assert finding.subject.name == nights.CONTAINER
    assert {name: finding.evidence[name] for name in ("starts", "users", "share")} == {
        "starts": 1200, "users": 1, "share": 1,
    }  # fmt: skip


@pytest.fixture(scope="module")
def typed(
    study: list[Job], later: list[Job], metered: list[Job], april: list[Job], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """The folder of story.db and sacct.txt, and what `adminkit demo --story` says of the jobs of the fixtures."""
    folder = tmp_path_factory.mktemp("story")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate, "jobs", lambda seed=generate.SEED: iter(study))
        for name, jobs in (("after", later), ("with_meter", metered), ("with_nights", april)):
            patch.setattr(story, name, lambda *_, jobs=jobs: iter(jobs))
        return folder, run(folder, "demo", "--story", "--db", "story.db", "--text", "sacct.txt").stderr


def test_the_pages_show_what_the_story_says_and_it_names_what_to_try(typed: tuple[Path, str]) -> None:
    folder, said = typed
    words_of = [line.split() for line in re.findall(r"^  adminkit (.*)$", said, re.MULTILINE)]
    answers = {frozenset(words): run(folder, *words).stdout.rstrip() for words in words_of}
    assert all(len(answer.splitlines()) > 3 for answer in answers.values())
    pages = [(DOCS / f"{name}.md").read_text() for name in ("demo", "energy", "recommend-gpus")]
    shown = re.findall(r"^```\n\$ adminkit ([^\n]* --db story.db.*?)^```", "\n".join(pages), re.MULTILINE | re.DOTALL)
    assert len(shown) == 6
    for block in shown:
        line, _, expected = block.partition("\n")
        words = line.split()
        answer = answers.get(frozenset(words)) or run(folder, *words).stdout.rstrip()
        assert answer == expected.rstrip()


def test_earlier_jobs_are_the_same_to_the_byte_whatever_comes_after_them(
    typed: tuple[Path, str], metered: list[Job], april: list[Job]
) -> None:
    lines = (typed[0] / "sacct.txt").read_bytes().splitlines(keepends=True)
    rows = {line.partition(b"\x1f")[0].decode(): number for number, line in enumerate(lines)}
    before, until_march = (b"".join(lines[: rows[jobs[0].job_id]]) for jobs in (metered, april))
    assert b"energy=" not in before
    assert hashlib.sha256(before).hexdigest() == BEFORE
    assert hashlib.sha256(until_march).hexdigest() == UNTIL_MARCH


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
