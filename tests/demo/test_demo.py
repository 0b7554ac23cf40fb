"""The look-alike trace holds the study's figures, is possible on the study's machine and is the same everywhere."""

from __future__ import annotations

import hashlib
import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adminkit.demo import generate
from adminkit.job import Job
from tests.support.study import study

HOUR = 3600
DAY = 24 * HOUR
OTHER_SEED = 7
Jobs = list[Job]


@pytest.fixture(params=[generate.SEED, OTHER_SEED], ids=["seed", "another-seed"])
def jobs(request: pytest.FixtureRequest) -> Jobs:
    return list(study(request.param))


def single(jobs: Jobs, queue: str) -> Jobs:
    return [job for job in jobs if job.queue == queue and job.gpus == 1]


def parallel(jobs: Jobs, nodes: int, gpus: int) -> int:
    return sum(job.nodes == nodes and job.gpus == gpus for job in jobs)


def accuracy(queue: str, of: Callable[[list[float]], float]) -> Callable[[Jobs], float]:
    return lambda jobs: of([job.elapsed / job.time_limit for job in single(jobs, queue)])


def share(queue: str, true: Callable[[Job], bool]) -> Callable[[Jobs], float]:
    def measure(jobs: Jobs) -> float:
        chosen = single(jobs, queue)
        return sum(map(true, chosen)) / len(chosen)

    return measure


MULTI_GPU = {2: 246, 3: 8, 4: 407, 5: 6, 6: 5, 7: 2, 8: 1473}
MULTI_NODE = {2: 273, 4: 28, 7: 1, 8: 22, 10: 5, 16: 9, 32: 5}
TABLE_3 = {
    # queue: jobs, mean, std dev, median
    "gq": (49_938, 0.103, 0.194, 0.032),
    "gq-short": (2_137, 0.147, 0.180, 0.033),
    "gq-middle": (446, 0.354, 0.362, 0.224),
    "gq-long": (116, 0.472, 0.407, 0.245),
}

FIGURES: list[tuple[str, Callable[[Jobs], float], float, float, str]] = [
    # measure, how it is taken, expected, tolerance, where the study says so
    ("jobs", len, 55_127, 0, "left after the exclusions: 55,127 jobs"),
    ("completed", lambda jobs: sum(j.state == "COMPLETED" for j in jobs), 53_488, 0, "53,488 ended normally"),
    ("timeout", lambda jobs: sum(j.state == "TIMEOUT" for j in jobs), 1_639, 0, "1,639 hit the limit"),
    ("single-gpu", lambda jobs: parallel(jobs, 1, 1), 52_637, 0, "single GPU 52,637 (95.48 %)"),
    ("multi-gpu", lambda jobs: sum(j.nodes == 1 and j.gpus > 1 for j in jobs), 2_147, 0, "multi-GPU 2,147 (3.89 %)"),
    ("multi-node", lambda jobs: sum(j.nodes > 1 for j in jobs), 343, 0, "multi-node 343 (0.62 %)"),
    ("users", lambda jobs: len({j.user for j in jobs}), 64, 0, "64 users"),
    ("gq: asks 72 h", share("gq", lambda j: j.time_limit == 72 * HOUR), 0.70, 0.01, "about 70 % ask for 72 h"),
    ("gq: asks at most 1 h", share("gq", lambda j: j.time_limit <= HOUR), 0.02, 0.01, "about 2 % ask for ≤ 1 h"),
    ("gq: ends within 1 h", share("gq", lambda j: j.elapsed <= HOUR), 0.50, 0.01, "about 50 % end within 1 h"),
    ("gq: runs 70 h", share("gq", lambda j: j.elapsed >= 70 * HOUR), 0.02, 0.01, "about 2 % run 70 h or more"),
    ("gq-short: ends within 1 h", share("gq-short", lambda j: j.elapsed <= HOUR), 0.975, 0.01, "nearly every job"),
    ("gq-long: ends within 72 h", share("gq-long", lambda j: j.elapsed <= 72 * HOUR), 0.60, 0.01, "about 60 %"),
    *(
        (f"multi-gpu of {gpus}", lambda jobs, gpus=gpus: parallel(jobs, 1, gpus), count, 0, "multi-GPU jobs by GPUs")
        for gpus, count in MULTI_GPU.items()
    ),
    *(
        (f"multi-node of {nodes}", lambda jobs, n=nodes: parallel(jobs, n, 8 * n), count, 0, "multi-node jobs by nodes")
        for nodes, count in MULTI_NODE.items()
    ),
    *(
        figure
        for queue, (count, mean, std, median) in TABLE_3.items()
        for figure in (
            (f"{queue}: single-GPU jobs", lambda jobs, queue=queue: len(single(jobs, queue)), count, 0, "table 3"),
            (f"{queue}: mean", accuracy(queue, statistics.fmean), mean, 0.005, "table 3"),
            (f"{queue}: std dev", accuracy(queue, statistics.stdev), std, 0.005, "table 3, n − 1"),
            (f"{queue}: median", accuracy(queue, statistics.median), median, 0.005, "table 3"),
            (f"{queue}: max", accuracy(queue, max), 1.0, 0.0004, "table 3"),
        )
    ),
    # A job of gq-short runs for more than 60 s and asks for at most 3 h: 61 / 10,800 is the least there can be.
    ("gq-short: min", accuracy("gq-short", min), 61 / 10_800, 0.001, "table 3 has 0.000, see docs/demo.md"),
    ("gq: min", accuracy("gq", min), 0.0, 0.0005, "table 3: 0.000"),
    ("gq-middle: min", accuracy("gq-middle", min), 0.0, 0.0005, "table 3: 0.000"),
    ("gq-long: min", accuracy("gq-long", min), 0.0, 0.0005, "table 3: 0.000"),
]


@pytest.mark.parametrize(("name", "measure", "expected", "tolerance", "why"), FIGURES, ids=[f[0] for f in FIGURES])
def test_the_studys_figures_hold_whatever_the_seed(
    jobs: Jobs, name: str, measure: Callable[[Jobs], float], expected: float, tolerance: float, why: str
) -> None:
    assert measure(jobs) == pytest.approx(expected, rel=0, abs=tolerance), f"{name}: {why}"


@pytest.mark.parametrize("queue", TABLE_3)
def test_at_least_half_of_a_queues_jobs_ask_for_its_maximum_and_none_for_more(jobs: Jobs, queue: str) -> None:
    maximum = generate.QUEUES[queue][1]
    limits = [job.time_limit for job in jobs if job.queue == queue]
    assert max(limits) == maximum
    assert limits.count(maximum) >= len(limits) / 2


def test_a_timeout_is_a_job_that_reached_its_limit_and_every_job_ran_for_more_than_a_minute(jobs: Jobs) -> None:
    for job in jobs:
        assert job.elapsed > 60
        assert (job.state == "TIMEOUT") == (job.elapsed >= job.time_limit)
        assert job.elapsed <= job.time_limit * 1.0004
        assert job.time_limit % 60 == 0


def test_few_popular_limits_are_asked_for(jobs: Jobs) -> None:
    popular = Counter(job.time_limit for job in jobs).most_common(20)
    assert sum(count for _, count in popular) > 0.9 * len(jobs)


def test_parallel_jobs_are_in_the_queues_that_the_page_says(jobs: Jobs) -> None:
    places = Counter((job.nodes, job.gpus, job.queue) for job in jobs if job.gpus > 1)
    shapes = {(1, gpus): count for gpus, count in MULTI_GPU.items()}
    shapes |= {(nodes, nodes * 8): count for nodes, count in MULTI_NODE.items()}
    expected = Counter()
    for shape, count in shapes.items():
        expected[*shape, "gq-short"] = count // 10
        expected[*shape, "gq-long"] = count // 20
        expected[*shape, "gq"] = count - count // 10 - count // 20
    assert places == +expected


def test_thirty_users_are_active_and_few_of_them_run_most_jobs(jobs: Jobs) -> None:
    counts = [count for _, count in Counter(job.user for job in jobs).most_common()]
    months = (generate.END - generate.BEGIN) / DAY / 30.4
    assert [count >= 10 * months for count in counts] == [True] * 30 + [False] * 34
    assert sum(counts[:10]) > len(jobs) / 2


def test_a_program_repeated_by_its_user_runs_about_as_long_as_before() -> None:
    """Predicting from two earlier runs of the same user, name, GPUs and limit beats taking the limit."""
    runs = defaultdict(list)
    for job in list(study()):
        runs[job.user, job.queue, job.gpus, job.job_name, job.time_limit].append(job.elapsed)
    by_runs, by_limit = [], []
    for (*_, limit), times in runs.items():
        for one, two, actual in zip(times, times[1:], times[2:], strict=False):
            guess = (one + two) / 2
            by_runs.append(min(guess / actual, actual / guess))
            by_limit.append(min(limit / actual, actual / limit))
    assert statistics.fmean(by_runs) > 3 * statistics.fmean(by_limit)


def test_the_cluster_sleeps_at_night_at_weekends_in_obon_and_at_the_years_end() -> None:
    moments = [datetime.fromtimestamp(job.submit_time, UTC) + timedelta(hours=9) for job in list(study())]
    hours = Counter(moment.hour for moment in moments)
    days = Counter(moment.date().isoformat()[5:] for moment in moments)
    weekdays = [sum(m.weekday() == day for m in moments) for day in range(7)]
    typical = statistics.median(days.values())
    assert sum(hours[h] for h in range(2, 7)) < 0.2 * sum(hours[h] for h in range(13, 18))
    assert max(weekdays[5:]) < 0.6 * min(weekdays[:5])
    assert sum(days[f"08-{day}"] for day in range(12, 17)) < 5 * 0.5 * typical
    assert sum(days[f"12-{day}"] for day in range(28, 32)) < 4 * 0.5 * typical


def test_every_job_lies_within_the_period() -> None:
    begin = int(datetime(2017, 7, 13, 15, tzinfo=UTC).timestamp())  # midnight in Japan
    end = int(datetime(2017, 12, 31, 15, tzinfo=UTC).timestamp())
    assert begin == generate.BEGIN
    assert end == generate.END
    assert min(job.submit_time for job in list(study())) >= begin
    assert max(job.end_time for job in list(study())) <= end


def test_the_times_of_a_job_follow_each_other_and_add_up(jobs: Jobs) -> None:
    for job in jobs:
        assert job.submit_time <= job.eligible_time < job.start_time
        assert job.end_time - job.start_time == job.elapsed + job.suspended
    assert any(job.suspended for job in jobs)
    assert any(job.submit_time < job.eligible_time for job in jobs)


def test_most_jobs_start_at_once_and_some_wait_for_very_long(jobs: Jobs) -> None:
    waits = sorted(job.start_time - job.eligible_time for job in jobs)
    assert waits[len(waits) // 2] < 60
    assert waits[len(waits) * 99 // 100] > 6 * HOUR


def nodes_of(job: Job) -> list[int]:
    numbers = []
    for part in re.sub(r"^gpu|[\[\]]", "", job.node_list).split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def test_no_node_ever_gives_more_gpus_than_it_has(jobs: Jobs) -> None:
    changes = []
    for job in jobs:
        nodes = nodes_of(job)
        assert len(nodes) == len(set(nodes)) == job.nodes
        assert 1 <= min(nodes) <= max(nodes) <= 50
        for node in nodes:
            changes += [(job.start_time, job.gpus // job.nodes, node), (job.end_time, -job.gpus // job.nodes, node)]
    used = Counter()
    for _, gpus, node in sorted(changes):  # an end before a start of the same second
        used[node] += gpus
        assert used[node] <= 8
    assert not any(used.values())


def test_ids_rise_with_submission_and_array_tasks_have_their_own(jobs: Jobs) -> None:
    raw = [job.job_id_raw for job in jobs]
    assert raw == sorted(set(raw))
    assert [job.submit_time for job in jobs] == sorted(job.submit_time for job in jobs)
    assert [job.db_index for job in jobs] == list(range(1, len(jobs) + 1))
    arrays = defaultdict(list)
    for job in jobs:
        if job.array_job is None:
            assert job.job_id == str(job.job_id_raw)
        else:
            assert job.job_id == f"{job.array_job}_{job.array_task}"
            arrays[job.array_job].append(job)
    assert len({job.job_id for job in jobs}) == len(jobs)
    for number, tasks in arrays.items():
        assert sorted(task.array_task for task in tasks) == list(range(len(tasks)))
        assert len({(task.submit_time, task.user, task.job_name, task.time_limit) for task in tasks}) == 1
        assert [task.job_id_raw for task in tasks if task.array_task == len(tasks) - 1] == [number], "the last keeps it"
    assert 0.1 < sum(map(len, arrays.values())) / len(jobs) < 0.6


# Column -> what it must hold. GPU type, memory and the like ride in the TRES columns.
CELLS: dict[str, Callable[[Job], object]] = {
    "JobID": lambda j: j.job_id,
    "JobIDRaw": lambda j: j.job_id_raw,
    "Cluster": lambda j: "aaic-demo",
    "DBIndex": lambda j: j.db_index,
    "User": lambda j: j.user,
    "UID": lambda j: j.uid,
    "Group": lambda j: j.group,
    "Account": lambda j: j.account,
    "Partition": lambda j: j.queue,
    "QOS": lambda j: j.qos,
    "State": lambda j: j.state,
    "ExitCode": lambda j: "0:0",
    "DerivedExitCode": lambda j: "0:0",
    "Priority": lambda j: j.priority,
    "Submit": lambda j: j.submit_time,
    "Eligible": lambda j: j.eligible_time,
    "Start": lambda j: j.start_time,
    "End": lambda j: j.end_time,
    "ElapsedRaw": lambda j: j.elapsed,
    "Suspended": lambda j: str(timedelta(seconds=j.suspended)).zfill(8),
    "TimelimitRaw": lambda j: j.time_limit // 60,
    "ReqNodes": lambda j: j.req_nodes,
    "ReqCPUS": lambda j: j.req_gpus * 5,
    "ReqMem": lambda j: f"{j.req_gpus * 48 * 1024}M",
    "ReqTRES": lambda j: (
        f"billing={j.cpus},cpu={j.cpus},gres/gpu={j.gpus},mem={j.req_mem // 1024**2}M,node={j.req_nodes}"
    ),
    "AllocNodes": lambda j: j.nodes,
    "AllocCPUS": lambda j: j.cpus,
    "AllocTRES": lambda j: (
        f"billing={j.cpus},cpu={j.cpus},gres/gpu:p100={j.gpus},gres/gpu={j.gpus},mem={j.mem // 1024**2}M,node={j.nodes}"
    ),
    "NodeList": lambda j: j.node_list,
    "Restarts": lambda j: 0,
    "AdminComment": lambda j: j.admin_comment,
    "JobName": lambda j: j.job_name,
}
#: What used.py adds, which tests/demo/test_used.py reads.
USED = ("NTasks", "TotalCPU", "MaxRSS", "TRESUsageInTot", "SubmitLine")


def job_lines(jobs: Jobs, delimiter: str, seed: int = generate.SEED) -> list[list[str]]:
    """The header and the jobs' rows of the text, without the steps and what used.py adds."""
    return _rows_of_jobs(generate.sacct_text(jobs, delimiter, seed), delimiter)


def _rows_of_jobs(text: Iterable[bytes], delimiter: str) -> list[list[str]]:
    kept = [number for number, name in enumerate(generate.COLUMNS) if name not in USED]
    rows = [line.decode().removesuffix("\n").split(delimiter) for line in text]
    return [[row[number] for number in kept] for row in rows if "." not in row[0]]


@pytest.mark.parametrize("delimiter", ["\x1f", "|"])
def test_the_text_is_what_sacct_would_print_of_these_jobs(delimiter: str) -> None:
    some = list(study())[::97] + [job for job in list(study()) if job.suspended or job.nodes > 8]
    header, *rows = job_lines(some, delimiter)
    assert header == list(CELLS)
    for job, row in zip(some, rows, strict=True):
        assert dict(zip(CELLS, row, strict=True)) == {column: str(cell(job)) for column, cell in CELLS.items()}


def test_what_a_demo_job_cannot_know_stays_unknown() -> None:
    unknown = {field.name for field in fields(Job) if all(getattr(job, field.name) is None for job in list(study()))}
    assert unknown == {
        "audited", "seen_open", "het_job", "het_offset", "cancelled_by", "reason", "flags", "cpu_time",
        "max_rss", "ckpt_at", "ckpt_heard", "ckpt_requeues", "ckpt_end",
        "disk_read", "disk_write", "energy", "submitted_by", "ckpt_asked", "program", "framework",
        "container", "fingerprint", "array_tasks", "gpu_parts", "req_gpu_parts",
        "ext_asked", "ext_limit", "ext_times",
    }  # fmt: skip


def test_the_queues_are_the_studys() -> None:
    assert generate.QUEUES == {
        "gq": (1 * HOUR, 72 * HOUR, 50),
        "gq-short": (1 * HOUR, 3 * HOUR, 50),
        "gq-middle": (72 * HOUR, 168 * HOUR, 50),
        "gq-long": (72 * HOUR, 336 * HOUR, 50),
    }


#: sha256 of the text; tests/cli/test_demo.py compares it with that of another process, which has other hashes.
STUDY = "c372e9997802f6a28a42af99f2b5550da9834ea28f61b2281fdffdc75f1b0153"


def test_the_trace_is_the_same_on_every_machine() -> None:
    """A changed sum is a changed trace: look at its pictures again, then say so in the CHANGELOG."""
    text = list(generate.sacct_text(study()))
    assert hashlib.sha256(b"".join(text)).hexdigest() == STUDY
    alone = "".join("\x1f".join(row) + "\n" for row in _rows_of_jobs(text, "\x1f"))
    told = hashlib.sha256(alone.encode()).hexdigest()
    assert told == "b9267ac54b9399fda16c8bf84b65617e8ea4446c263b4827a32081a9d1a718b9", "the jobs, whatever they used"
    assert study(OTHER_SEED) != study()


def test_making_the_trace_needs_no_heavy_package() -> None:
    code = "import sys; from adminkit.demo import generate; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pandas", "scipy", "matplotlib", "sqlite_utils"} & set(loaded)


def test_the_page_shows_the_figures_of_the_trace() -> None:
    page = (Path(__file__).parents[2] / "docs" / "demo.md").read_text(encoding="utf-8")
    jobs = list(study())
    for queue, (_, mean, std, median) in TABLE_3.items():
        taken = [accuracy(queue, of)(jobs) for of in (statistics.fmean, statistics.stdev, statistics.median, min, max)]
        cells = [f"{a:.3f} [{b:.3f}]" for a, b in zip(taken, (mean, std, median, 0, 1), strict=True)]
        assert f"| {queue} | {' | '.join(cells)} |" in page
        asks = share(queue, lambda j, most=generate.QUEUES[queue][1]: j.time_limit == most)(jobs)
        assert re.search(rf"\| ask for (72 h|the maximum), in {queue} \| {100 * asks:.1f} % \|", page)
    for name, queue, hours in (("1 h", "gq", 1), ("1 h", "gq-short", 1), ("72 h", "gq-long", 72)):
        ends = share(queue, lambda j, hours=hours: j.elapsed <= hours * HOUR)(jobs)
        assert f"| end within {name}, in {queue} | {100 * ends:.1f} % |" in page
