"""`adminkit demo --fit`: a look-alike is alike, and has nothing in it that names or singles out anybody."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.demo import fit, fitted
from adminkit.demo.fit import One, Shape
from adminkit.ingest.files import Import, import_file
from adminkit.job import Job
from adminkit.stats.select import Filter
from adminkit.stats.workload import read_runs
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.swf import public

SECRET = "zqx"  # every name of the original begins with it
RARE_LIMIT = 77 * 60


@pytest.fixture(autouse=True)
def plain(no_settings: None) -> None:
    """No settings of this host."""


def original(users: int = 9, jobs: int = 900) -> list[Job]:
    rng = random.Random(5)
    made = []
    for number in range(1, jobs + 1):
        user = min(int(rng.expovariate(0.5)), users - 1)
        start = MONDAY + rng.randrange(21 * 24) * HOUR
        limit, gpus = rng.choice((HOUR, 4 * HOUR, 24 * HOUR)), rng.choice((1, 1, 1, 8))
        elapsed = rng.randint(30, limit)
        made.append(job(
            number, user=f"{SECRET}_user_{user}", uid=770_000 + user, group=f"{SECRET}_group",
            cluster=f"{SECRET}-cluster", account=f"{SECRET}_account", queue=f"{SECRET}_queue_{user % 2}",
            job_name=f"{SECRET}-job\x1b[31m'{number}",
            node_list=f"{SECRET}node[1-3]", admin_comment=f"{SECRET} comment", reason=f"{SECRET}Reason",
            qos=f"{SECRET}qos", gpu_type=f"{SECRET}gpu", program=f"{SECRET}.sh", submit_time=start - rng.randrange(900),
            start_time=start, end_time=start + elapsed, elapsed=elapsed, time_limit=limit, gpus=gpus,
            state="TIMEOUT" if elapsed == limit else rng.choice(("COMPLETED", "COMPLETED", "FAILED")),
        ))  # fmt: skip
    lonely = replace(made[0], job_id_raw=jobs + 1, time_limit=RARE_LIMIT, cpus=777, queue=f"{SECRET}_private")
    return [*made, lonely]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return make_trace(tmp_path / f"{SECRET}.db", original())


def looked(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def test_nothing_of_the_originals_names_is_in_the_new_file(trace: Path, tmp_path: Path) -> None:
    made, text = tmp_path / "made.db", tmp_path / "made.txt"
    assert main(["demo", "--fit", str(trace), "--db", str(made), "--text", str(text)]) == 0
    written = made.read_bytes() + text.read_bytes()
    names = {
        str(value)
        for one in original()
        for value in (one.user, one.uid, one.group, one.account, one.queue, one.job_name, one.node_list, one.cluster)
    }
    assert [name for name in {SECRET, *names} if name.encode() in written] == []
    assert looked(made, "SELECT DISTINCT cluster, source FROM job") == [("look-alike", "demo")]
    assert {name for (name,) in looked(made, "SELECT DISTINCT user FROM job")} <= {f"u{n:03}" for n in range(1, 10)}
    assert {name for (name,) in looked(made, "SELECT DISTINCT queue FROM job")} == {"q1", "q2"}


def test_queues_keep_their_names_where_that_is_asked_for_but_rare_ones_do_not(trace: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.db"
    assert main(["demo", "--fit", str(trace), "--db", str(made), "--keep-queues"]) == 0
    queues = {name for (name,) in looked(made, "SELECT DISTINCT queue FROM job")}
    assert queues == {f"{SECRET}_queue_0", f"{SECRET}_queue_1"}
    assert f"{SECRET}_private".encode() not in made.read_bytes()


def test_each_limit_and_size_is_that_of_several_users(trace: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.db"
    assert main(["demo", "--fit", str(trace), "--db", str(made), "--jobs", "2000"]) == 0
    whose: defaultdict[object, set[object]] = defaultdict(set)
    jobs: defaultdict[object, int] = defaultdict(int)
    for one in original():
        for value in (one.time_limit, one.cpus, one.gpus):
            whose[value].add(one.user)
            jobs[value] += 1
    for values in looked(made, "SELECT DISTINCT time_limit, cpus, gpus FROM job"):
        assert all(len(whose[value]) >= fit.USERS and jobs[value] >= fit.JOBS for value in values)
    ((many, over, first),) = looked(made, "SELECT count(*), sum(elapsed > time_limit), min(submit_time) FROM job")
    assert abs(int(str(many)) - 2000) <= 9
    assert main(["demo", "--fit", str(trace), "--db", str(made)]) != 0  # never a mixture of two
    assert over == 0
    assert int(str(first)) >= fit.BEGIN


def past(trace: Path) -> tuple[list[One], list[One], fit.Merged]:
    with reader(trace) as db:
        return fit.past_of(read_runs(db, Filter([f"{SECRET}-cluster"], checkpoint_code=85)), False)


def test_a_seed_gives_the_same_jobs_and_another_one_others(trace: Path) -> None:
    _, merged, _ = past(trace)
    one, again, other = (fit.draw(merged, 500, seed) for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize("jobs", [200, 201, 333, 1000])
def test_there_are_as_many_jobs_as_asked_for_and_all_users(trace: Path, jobs: int) -> None:
    old, _, _ = past(trace)
    made = fit.draw(old, jobs, 1)
    assert len(made) == jobs
    assert {one.user for one in made} == {one.user for one in old}


def test_what_the_original_does_not_know_stays_unknown(tmp_path: Path) -> None:
    unknown = {"gpus": None, "nodes": None, "time_limit": None, "limit_kind": "unknown"}
    path = make_trace(tmp_path / "t.db", [replace(one, **unknown) for one in original()])
    made = tmp_path / "made.db"
    assert main(["demo", "--fit", str(path), "--db", str(made)]) == 0
    columns = "gpus, req_gpus, nodes, req_nodes, time_limit, limit_kind, cpus"
    assert looked(made, f"SELECT DISTINCT {columns} FROM job") == [(None,) * 5 + ("unknown", 8)]


def test_what_is_merged_is_counted(trace: Path) -> None:
    _, _, merged = past(trace)
    assert (merged.limits, merged.sizes, merged.queues) == (1, 1, 1)


def test_no_combination_of_one_job_is_given_away() -> None:
    """Every value is that of many users, every combination that of one job."""
    real = [
        One(n % 7, Shape("q", 1 + n % 5, 1 + n // 5 % 5, n // 25 % 4, 3600 * (1 + n // 100)), n * 900, 0, n, "FAILED")
        for n in range(300)
    ]
    assert len({one.shape for one in real}) == 300
    made = fit.draw(real, 3000, 1)
    often = Counter(one.shape for one in made).most_common(1)[0][1]
    assert often < 0.02 * len(made), "one job's combination came again and again"


def test_no_run_time_of_one_job_is_left(trace: Path) -> None:
    """A run time is a point between means of five; the longest and the shortest are no one's."""
    real, merged, _ = past(trace)
    made = fit.draw(merged, 900, 1)
    assert max(one.elapsed for one in made if one.state != "TIMEOUT") < max(one.elapsed for one in real)
    assert min(one.elapsed for one in made) > min(one.elapsed for one in real)


@pytest.mark.parametrize(
    ("jobs", "words", "message"),
    [
        (lambda: original(jobs=150), [], "error: 151 jobs of"),
        (lambda: original(users=4), [], "error: 901 jobs of 4 users are too few to hide anybody"),
        (lambda: [*original(), job(5000, cluster="beta")], [], "has several clusters"),
        (original, ["--cluster", "beta"], "has no cluster beta"),
        (original, ["--story"], "--story and --page describe"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_hint(
    jobs: Callable[[], list[Job]], words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_trace(tmp_path / "t.db", jobs())
    assert main(["demo", "--fit", str(path), "--db", str(tmp_path / "made.db"), *words]) != 0
    said = capsys.readouterr().err
    assert message in said
    assert said.count("hint:") == 1
    assert not (tmp_path / "made.db").exists()


def test_options_of_fit_need_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--keep-queues", "--db", str(tmp_path / "made.db")]) != 0
    assert "need --fit" in capsys.readouterr().err


def test_a_real_trace_is_not_written_over(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--fit", str(trace), "--db", str(trace)]) != 0
    assert "that are not the demo" in capsys.readouterr().err


SOME = [One(n % 7, Shape("q1", 1, 4, 0, 3600), n * 60, n % 50, 10 * n + 1, "COMPLETED") for n in range(300)]


def test_a_trace_is_like_itself() -> None:
    report = fitted.report(SOME, SOME, fit.Merged(0, 0, 0, 0), "t.db")
    assert {row[3] for row in report.rows} == {0.0}


@pytest.mark.parametrize(
    ("a", "b", "expected"), [([1, 2], [1, 2], 0), ([1, 2], [3, 4], 1), ([1, 2, 3, 4], [1, 2, 5, 6], 0.5)]
)
def test_kolmogorov_smirnov(a: list[float], b: list[float], expected: float) -> None:
    assert fitted.ks(a, b) == expected


def test_the_public_trace_of_kth_has_a_look_alike(tmp_path: Path) -> None:
    source = public("KTH-SP2-1996-2.swf.gz")
    if source is None:
        pytest.skip("not run: no KTH-SP2-1996-2.swf.gz under $ADMINKIT_TRACES")
    path = tmp_path / "kth.db"
    import_file(Import(source, path, cluster="kth"), 0)
    with reader(path) as db:
        real, merged, counts = fit.past_of(read_runs(db, Filter(["kth"], checkpoint_code=85)), False)
    report = fitted.report(real, fit.draw(merged, len(real), 2018), counts, str(path))
    told = {row["figure"]: row["distance"] for row in report.records()}
    for figure in ("run time (s)", "limit (s)", "accuracy", "wait (s)", "CPUs", "time between submissions (s)"):
        assert told[figure] < 0.1, figure
    assert told["states"] < 0.05
    assert told["hour of the week"] < 0.15
