"""The days that ran on a real Slurm with soft limits and without, their history, and the measures of the pairs."""

from __future__ import annotations

import json
import pwd
import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

import pytest

from adminkit.cli.main import main
from adminkit.policy.load import load_policy
from adminkit.policy.soft_settings import SoftLimits
from tests.cluster.harness.ruled import HEAD
from tests.soft_real import page, runs
from tests.soft_real.history import CLUSTER, GAP, LEAST, POLICY, QUANTILE, QUIET, sacct, soft_limits
from tests.soft_real.measure import cut, heads, interval
from tests.soft_real.runs import Row, Run
from tests.soft_real.workloads import ACCURACY, SEEDS, SHAPE, SIZES, Day, day, size_of

#: As they were committed before the first run; who changes a day has to run it again.
DIGESTS = {
    1: "dc680ed12db53311",
    2: "35511196ca7c071d",
    3: "c8e3853b7f0e19d8",
    4: "604b5a9b000a53ba",
    5: "8767e6a5ec678acb",
    6: "df686038335155b3",
}
DAYS = [day(seed) for seed in SEEDS]


def row(number: int, come: int, start: int, end: int, priority: int = 1, **more: int) -> Row:
    usual = Row(number, come, come, start, end, "COMPLETED", priority, "main", "c1", 1200, None, None)
    return replace(usual, **more)


def test_a_seed_makes_the_day_that_was_committed() -> None:
    assert {one.seed: one.digest for one in DAYS} == DIGESTS


@pytest.mark.parametrize("one", DAYS, ids=lambda one: str(one.seed))
def test_a_day_is_what_the_order_asks_for(one: Day) -> None:
    jobs = one.workload.jobs
    assert 300 <= len(jobs) <= 600 and len(SHAPE.node_names) == 16
    assert all(5 <= job.sleep <= 120 and 300 <= job.limit <= 3600 for job in jobs)
    assert all(job.limit <= SHAPE.queue(job.queues[0]).max_limit for job in jobs)
    assert {size_of(job) for job in jobs} == set(SIZES)
    assert 0.94 <= fmean(job.nodes * job.gpus == 1 for job in jobs) <= 0.96
    assert [job.offset for job in jobs] == sorted(job.offset for job in jobs)
    assert all(soft is None or LEAST <= soft < job.limit for job, soft in zip(jobs, soft_limits(one), strict=True))


def test_limits_are_asked_for_as_in_the_study() -> None:
    """In the large queue; the small ones have a few names each."""
    jobs = [job for one in DAYS for job in one.workload.jobs if job.queues == ("gq",) and job.nodes * job.gpus == 1]
    assert median(job.sleep / job.limit for job in jobs) == pytest.approx(ACCURACY["gq"][0], abs=0.01)
    assert fmean(job.limit == SHAPE.queue("gq").max_limit for job in jobs) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("one", DAYS[:1], ids=lambda one: str(one.seed))
def test_the_commands_make_the_table_that_the_tests_expect(one: Day, tmp_path: Path) -> None:
    """adminkit import, adminkit incentives compute, and what the script takes of it."""
    (tmp_path / "past.txt").write_text(sacct(one.past, int(time.time())))
    (tmp_path / "policy.toml").write_text(HEAD + QUIET + POLICY["open"])
    trace = ("--db", str(tmp_path / "trace.db"))
    run("import", str(tmp_path / "past.txt"), *trace, "--cluster", CLUSTER, "--trusted", "--apply")
    words = ("--policy", str(tmp_path / "policy.toml"), "--points-per-hour", "1000", "--out", str(tmp_path))
    run("incentives", "compute", *words, *trace)
    users = json.loads((tmp_path / "soft_limits.json").read_text())["users"]
    found = []
    for job, name in zip(one.workload.jobs, one.names, strict=True):
        row = users[str(pwd.getpwnam(job.user).pw_uid)].get(name, {}).get(job.queues[0])
        need = None if row is None else -(-int(row.split("-")[1]) // 60) * 60
        found.append(None if need is None or job.limit - need < GAP else need)
    assert found == soft_limits(one) and any(found) and not all(found)


def run(*words: str) -> None:
    assert main([*words]) == 0, words


@pytest.mark.parametrize(("more", "settings"), [({}, "open"), ({"settings": "default"}, "default")])
def test_a_file_gives_back_the_run(more: dict[str, str], settings: str) -> None:
    kept = Run({"seed": "1", "arm": "on", **more}, (row(0, 1, 2, 3), row(1, 1, 2, 3, soft=60, promised=4)))
    assert runs.parse(runs.text(kept)) == kept and kept.settings == settings


def test_each_run_has_a_file_of_its_own() -> None:
    names = [runs.name(1, "on", number, settings) for settings in runs.SETTINGS for number in (1, 2)]
    assert names == ["1-on.csv", "1-on-2.csv", "1-on-default.csv", "1-on-2-default.csv"]


def test_the_settings_are_what_the_page_says(tmp_path: Path) -> None:
    """`default` is what policy.toml has by itself, but for the two spans of a faster day."""
    usual, found = SoftLimits(), {}
    for name in runs.SETTINGS:
        (tmp_path / "policy.toml").write_text(HEAD + QUIET + POLICY[name])
        found[name] = load_policy(tmp_path / "policy.toml").soft_limits
    assert found["default"] == usual.model_copy(update={"enabled": True, "least": LEAST, "gap": GAP})
    assert (usual.quantile, usual.longest, usual.outlived, usual.wide) == (90, 3600, 40, 100)
    assert found["open"] == found["default"].model_copy(update={"quantile": QUANTILE, "wide": 0, "outlived": 100})


def test_the_second_section_comes_with_the_second_pair(kept: list[Run]) -> None:
    """The runs that there are stand for those with the defaults."""
    twins = [Run({**run.head, "settings": "default"}, run.rows) for run in kept if run.number == 1 and run.seed < 3]
    first = [run for run in kept if run.settings == "open" and run.seed < 3]
    alone, both = page.markdown([*first, *twins[:2]]), page.markdown([*first, *twins])
    assert alone == page.markdown(first)
    assert both.startswith(alone) and "## With the default settings\n" in both[len(alone) :]
    assert "\n## " not in both[len(alone) + 2 :].partition("## With the default settings")[2]


@pytest.mark.parametrize(
    ("rows", "expected", "why"),
    [
        ([(0, 0, 0), (1, 0, 4)], set(), "it was head for four seconds"),
        ([(0, 0, 9), (1, 0, 20)], {0, 1}, "one after the other"),
        ([(0, 0, 20), (1, 0, 20)], {0}, "of equals the first"),
        ([(0, 0, 20), (1, 0, 20, 9)], {1}, "the higher priority"),
        ([(0, 0, 40), (1, 36, 60, 5)], {0, 1}, "what 36 s of age are worth, and then the only one"),
        ([(0, 0, 40), (1, 20, 60, 9)], {1, 0}, "it passes the older one"),
    ],
)
def test_a_head_has_the_highest_priority_for_some_time(
    rows: list[tuple[int, ...]], expected: set[int], why: str
) -> None:
    made = [row(number, come, start, start + 9, *more) for number, come, start, *more in rows]
    assert heads(made) == expected, why


def test_a_job_is_cut_where_it_got_less_than_it_asked_for() -> None:
    one, first = DAYS[0], DAYS[0].workload.jobs[0]
    good = replace(row(0, 0, 0, first.sleep), limit=first.limit)
    rows = (
        good,
        replace(good, limit=first.limit - 60),
        replace(good, end=first.sleep - 1),
        replace(good, state="TIMEOUT"),
    )
    assert cut(one, Run({}, rows)) == list(rows[1:])


def test_an_interval_is_students() -> None:
    assert interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).half == pytest.approx(1.9633, abs=1e-3)
    assert interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).sign == 1 and interval([-1.0, 1.0]).sign == 0


@pytest.fixture(scope="module")
def kept() -> list[Run]:
    return runs.load()


def test_what_ran_is_what_was_ordered(kept: list[Run]) -> None:
    """Six pairs on 26.05, none longer than twelve minutes; the guard ran all the while."""
    first = [(run.seed, run.arm) for run in kept if run.number == 1 and run.settings == "open"]
    assert first == [(seed, arm) for seed in SEEDS for arm in runs.ARMS]
    for run in kept:
        what = day(run.seed)
        assert run.head["digest"] == what.digest and run.head["release"].startswith("26.05")
        assert len(run.rows) == len(what.workload.jobs) and max(row.end for row in run.rows) <= 720
        assert int(run.head["rounds of the guard"]) >= max(row.end for row in run.rows) // 30
        given = [row.soft for row in run.rows]
        assert any(given) == (run.arm == "on") and all(soft is None or soft in (60, 120, 180) for soft in given)


def test_no_job_was_cut(kept: list[Run]) -> None:
    assert [one for run in kept for one in cut(day(run.seed), run)] == []


def test_the_page_is_fresh(kept: list[Run]) -> None:
    assert page.PAGE.read_text() == page.markdown(kept), "write it again: python -m tests.soft_real compare"
