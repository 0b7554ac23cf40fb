"""The days that ran on a real Slurm with extending and without, and the measures of their runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from tests.cluster.harness.processes import ClusterError
from tests.extend_real import page, runs
from tests.extend_real.arms import ARMS, GROUPS
from tests.extend_real.drive import NOT_HELD, Told, acts_of, heads, rows_of, run_of, script
from tests.extend_real.measure import (
    Estimate,
    Three,
    behind_extended,
    bootstrap,
    extra,
    group,
    held_by,
    killed,
    late,
    later,
    lost,
    lost_between,
    lost_change,
    lost_for,
    mean_wait,
    noise,
    put_back,
    threes,
    wait_between,
    wait_change,
)
from tests.extend_real.runs import Act, Row, Run
from tests.extend_real.simulated import against, all_days, all_waits
from tests.extend_real.verdict import reached
from tests.extend_real.workloads import Day, day
from tests.simulate_real.drive import limits_of

DAY = day(1, 10)

IDS = {7: 0, 8: 1, 9: 2}
LIMITS = {7: 60, 8: 120, 9: 60}


def test_the_runs_of_a_job_that_was_put_back_are_counted() -> None:
    listed = (
        "7|100|101|161|TIMEOUT|c1\n"
        "8|120|180|200|COMPLETED|c[2-3]\n"
        "8|100|100|110|REQUEUED|c2\n"
        "6|1|2|3|COMPLETED|c1\n"
        "9|100|105|106|CANCELLED by 0|c1\n"
    )
    assert rows_of(listed, LIMITS, IDS, {8: -3}, 100) == (
        Row(0, 1, 0, 1, 61, "TIMEOUT", "c1", 60, None),
        Row(1, 1, 0, 0, 10, "REQUEUED", "c2", 120, -3),
        Row(1, 2, 20, 80, 100, "COMPLETED", "c[2-3]", 120, None),
        Row(2, 1, 0, 5, 6, "CANCELLED", "c1", 60, None),
    )


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        ("7|1|2|3|COMPLETED|c1\n8|1|2|3|COMPLETED|c1\n", "a job is missing"),
        ("7|1|2|3|A|c1\n8|1|2|3|A|c1\n9|1|2|Unknown|RUNNING|c1\n", "one has no end"),
    ],
)
def test_a_run_without_all_its_ends_is_none(listed: str, why: str) -> None:
    with pytest.raises(ClusterError):
        rows_of(listed, LIMITS, IDS, {}, 0)


def test_what_did_not_hold_is_told_apart() -> None:
    line = {
        "what": "extend", "at": 130, "did": "given", "job": 7, "was": 60, "becomes": 120, "why": "free", "behind": None,
        "starts": None, "held": None,
    }  # fmt: skip
    lines = [
        line,
        {**line, "held": True},
        {**line, "held": False},
        {**line, "did": "refused", "becomes": None, "why": "planned", "behind": 9, "starts": 150},
        {**line, "job": 6, "held": True},
        {"what": "policy install", "at": 1},
    ]
    assert acts_of("\n".join(map(json.dumps, lines)), IDS, 100) == (
        Act(30, "given", 0, 60, 120, "free", None, None),
        Act(30, "given, not read back", 0, 60, 120, "free", None, None),
        Act(30, "refused", 0, 60, None, "planned", 2, 50),
    )


@pytest.mark.parametrize(
    ("listed", "expected", "why"),
    [
        ("7|5|gq|Resources|200\n8|9|gq|Priority|300\n", {8: 300}, "the highest priority"),
        ("8|5|gq|Resources|200\n7|5|gq|Priority|300\n", {7: 300}, "of equals the older"),
        ("7|5|gq|Resources|200\n8|1|gq-short|Resources|300\n", {7: 200, 8: 300}, "one of each queue"),
        ("7|9|gq|BeginTime|200\n8|1|gq|Resources|300\n", {8: 300}, "one that was put back does not wait for nodes"),
        ("7|9|gq|Resources|N/A\n8|1|gq|Resources|300\n", {}, "the head has no plan yet"),
        ("", {}, "nobody waits"),
    ],
)
def test_a_head_is_the_first_that_waits_for_nodes(listed: str, expected: dict[int, int], why: str) -> None:
    assert heads(listed) == expected, why


def test_what_programs_said_is_read_whole() -> None:
    """The text of a limit stands behind a reason, and jobs of others are left out."""
    jobs = "JobId=7 JobName=x Reason=None Dependency=(null) TimeLimit=00:02:00 TimeMin=N/A \n"
    runs_ = "7|100|101|161|TIMEOUT|c1\n"
    kept = {"head": {"arm": "off"}, "began": 100, "ids": {7: 0}, "promised": {7: 3}, "acts": ""}
    told = Told.of(json.dumps({**kept, "jobs": jobs, "runs": runs_}))
    assert limits_of(jobs) == {7: (120, None)}
    assert run_of(told) == Run({"arm": "off"}, (Row(0, 1, 0, 1, 61, "TIMEOUT", "c1", 120, 3),))


def test_only_a_job_with_a_checkpoint_saves() -> None:
    job = DAY.workload.jobs[0]
    assert script(job, False) == f"exec sleep {job.sleep}" and "exit 85" in script(job, True)


def made(one: Day, arm: str, *rows: Row, acts: tuple[Act, ...] = (), shift: int = 0) -> Run:
    """A run in which every job waits `shift` seconds and does what it needs, except those of `rows`."""
    own = {row.number for row in rows}
    usual = [
        Row(job.number, 1, job.offset, job.offset + shift, job.offset + shift + job.sleep, "COMPLETED", "c1", 60, None)
        for job in one.workload.jobs
        if job.number not in own
    ]
    head = {
        "seed": str(one.seed), "risk": str(one.risk), "arm": arm, "digest": one.digest, "release": "22.05.8",
        "date": "2026-01-01", "commit": "1", "rounds": "9", "slowest round": "1.0 s", "longest pause": "0.5 s",
        "latest submission": "0.1 s behind",
    }  # fmt: skip
    return Run(head, tuple(sorted([*usual, *rows], key=lambda row: (row.number, row.attempt))), acts)


#: In the run with extending, job 0 got a minute more and job 1 was refused.
GIVEN = (Act(50, "given", 0, 60, 120, "free", None, None), Act(60, "refused", 1, 60, None, "planned", 2, 70))


@pytest.fixture
def three() -> Three:
    """Jobs 0 and 1 reach their limits; job 2 is a head."""
    one = DAY
    limit = [job.limit for job in one.workload.jobs]
    end = [Row(number, 1, 0, 0, limit[number], "TIMEOUT", "c[1-2]", limit[number], None) for number in (0, 1)]
    head = Row(2, 1, 0, limit[0] + 20, 900, "COMPLETED", "c2", 60, limit[0] + 10)
    return Three(
        one,
        made(one, "off", *end, replace(head, start=head.start - 7)),
        made(one, "on", replace(end[0], end=limit[0] + 30, state="COMPLETED"), end[1], head, acts=GIVEN, shift=2),
        made(one, "again", *end, replace(head, promised=None)),
    )


def test_work_is_lost_where_slurm_ended_a_run_at_its_limit(three: Three) -> None:
    jobs = three.day.workload.jobs
    whole = [job.limit * job.nodes * job.gpus for job in jobs[:2]]
    assert lost(three.day, three.off)[:3].tolist() == [*whole, 0] and killed(three.off) == 2
    assert lost(three.day, three.on).sum() == whole[1] and killed(three.on) == 1
    assert lost_change([three]).value == pytest.approx(whole[1] / sum(whole) - 1)
    assert lost_change([three], allowed=True).value == pytest.approx(whole[1] / sum(whole) - 1)
    assert extra(three) == 30 * jobs[0].nodes * jobs[0].gpus and three.given == {0}


def test_work_is_lost_for_the_last_reason(three: Three) -> None:
    seconds = float(lost(three.day, three.on).sum())
    assert lost_for([three]) == {"planned": seconds}
    twice = (*GIVEN, replace(GIVEN[1], why="most"))
    assert lost_for([replace(three, on=Run({}, three.on.rows, twice))]) == {"most": seconds}
    assert lost_for([replace(three, on=Run({}, three.on.rows))]) == {"": seconds}


def test_a_run_that_was_put_back_lost_nothing(three: Three) -> None:
    first = Row(0, 1, 0, 0, 50, "REQUEUED", "c1", 60, None)
    run = made(three.day, "off", first, replace(first, attempt=2, end=90, state="COMPLETED"))
    assert not lost(three.day, run).any() and put_back(run) == 1


def test_a_head_is_late_by_more_than_any_without_extending(three: Three) -> None:
    assert late(three.off) == {2: 3} and late(three.again) == {} and late(three.on) == {2: 10}
    assert noise([three]) == 3
    assert (later(three, 3), later(three, 10)) == ([2], [])


def test_a_head_waited_for_an_extended_job(three: Three) -> None:
    """Job 0 still ran, beyond the limit that it asked for, when the head was to start on one of its nodes."""
    assert behind_extended(three, 2) == [0]
    elsewhere = replace(three, on=Run({}, tuple(replace(row, nodes="c9") if row.number == 2 else row for row in
                                                three.on.rows), GIVEN))  # fmt: skip
    assert behind_extended(elsewhere, 2) == []
    assert behind_extended(replace(three, on=Run({}, three.on.rows)), 2) == [], "nobody was given anything"


def test_a_head_starts_when_the_last_job_has_left_its_nodes(three: Three) -> None:
    """Job 0 got more time; another job ends later on the head's node, 4 s after its limit."""
    head, limit = Row(2, 1, 0, 100, 130, "COMPLETED", "c2", 60, 90), three.day.workload.jobs[0].limit
    job = Row(0, 1, 0, 95 - limit, 95, "COMPLETED", "c[1-2]", limit + 60, None)
    later_ = Row(1, 1, 0, 35, 99, "TIMEOUT", "c[2-3]", 60, None)
    elsewhere = Row(3, 1, 0, 35, 100, "TIMEOUT", "c3", 60, None)

    def held(*rows: Row) -> list[tuple[bool, int]]:
        return held_by(replace(three, on=Run({}, (head, *rows), GIVEN)), 2)

    assert held(job) == [(True, -60)] and held(job, later_, elsewhere) == [(False, 4)] and held(elsewhere) == []


def test_waits_are_of_jobs_that_got_no_more_time(three: Three) -> None:
    """They waited two seconds longer, but for job 1, which did not, and the head."""
    count = len(three.day.workload.jobs) - 1
    head = next(row for row in three.on.rows if row.number == 2)
    more = head.start - fmean([head.start - 7, head.start])
    change = wait_change([three], "on")
    assert change.value == pytest.approx((2 * (count - 2) + more) / count) and change.low <= change.value <= change.high
    assert mean_wait([three], "on") == pytest.approx((2 * (count - 2) + head.start) / count)
    assert wait_change([three], "again").value == pytest.approx(7 / count)


def test_keys_are_compared_on_jobs_that_got_no_more_time_with_either(three: Three) -> None:
    """With other keys, job 1 was finished too, and nobody waited; jobs 0 and 1 do not count in the waits."""
    limit = [job.limit for job in three.day.workload.jobs]
    ended = [Row(number, 1, 0, 0, limit[number] + 30, "COMPLETED", "c1", limit[number], None) for number in (0, 1)]
    head = Row(2, 1, 0, limit[0] + 20, 900, "COMPLETED", "c2", 60, None)
    acts = (GIVEN[0], replace(GIVEN[0], number=1))
    other = replace(three, on=made(three.day, "most3", *ended, head, acts=acts))
    assert lost_between([other], [three]).value == -1 and wait_between([three], [three]).value == 0
    count = len(three.day.workload.jobs) - 2
    assert wait_between([other], [three]).value == pytest.approx(-2 * (count - 1) / count)


@pytest.mark.parametrize(
    ("days", "value", "low", "high", "why"),
    [
        ([[1.0] * 9, [1.0] * 9], 1.0, 1.0, 1.0, "all alike"),
        ([[0.0] * 9, [2.0] * 9], 1.0, 0.0, 2.0, "days are drawn whole: both may be the same"),
    ],
)
def test_the_bootstrap_draws_days(days: list[list[float]], value: float, low: float, high: float, why: str) -> None:
    found = bootstrap([np.array(one)[:, None] for one in days], lambda lines: float(lines.mean()))
    assert (found.value, found.low, found.high) == (value, low, high), why


def test_a_file_gives_back_the_run(tmp_path: Path, three: Three) -> None:
    for run in (three.off, three.on, three.again):
        runs.save(run, tmp_path)
    assert runs.load(tmp_path) == [three.off, three.on, three.again]


def test_a_day_of_which_a_run_is_missing_is_left_out(three: Three) -> None:
    assert threes([three.off, three.on, three.again]) == [three] and threes([three.off, three.on]) == []
    with pytest.raises(ValueError, match="another one"):
        threes([Run({**three.off.head, "digest": "0"}, three.off.rows)])


def test_an_arm_has_a_part_of_its_own_for_its_days(three: Three) -> None:
    one = day(7, 30)
    jobs = one.workload.jobs
    ended = Row(0, 1, 0, 0, jobs[0].limit, "TIMEOUT", "c1", jobs[0].limit, None)
    given = made(one, "most3", Row(0, 1, 0, 0, jobs[0].limit + 5, "COMPLETED", "c1", 120, None), acts=GIVEN[:1])
    without = [made(one, arm, ended) for arm in ("off", "again")]
    said = page.markdown([*without, given])
    assert "- Risk 30 %, `most` 3: day 7 ran three times; **not run: days 8, 9, 10, 11, 12**." in said
    assert "## Limits at a risk of 30 %, `most` 3, six new days" in said
    assert "-100 % (-100 to -100 %). The goal was 80 % less: reached." in said
    assert "`most` is 3 times the limit that was asked for." in said
    assert "all twelve days" not in said
    assert "Compared with the default keys" not in said, "the day did not run with them"
    assert "Compared with the default keys on day 7" in page.markdown([*without, given, made(one, "on", ended)])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Estimate(-0.79, -0.9, -0.7), "**not reached**"),
        (Estimate(-0.8, -0.9, -0.7), "reached, but not by the whole interval"),
        (Estimate(-0.85, -0.9, -0.8), "reached"),
    ],
)
def test_the_goal_is_reached_by_the_figure_or_by_its_interval(change: Estimate, expected: str) -> None:
    assert reached(change) == expected


def test_the_page_says_what_did_not_run_and_what_went_wrong(three: Three) -> None:
    said = page.markdown([three.off, three.on, three.again])
    assert "- Risk 10 %: day 1 ran three times; **not run: days 2, 3, 4, 5, 6**." in said
    assert "- Risk 30 %: no day ran three times; **not run: days 1, 2, 3, 4, 5, 6**." in said
    assert "later than planned by more than the noise: **1** of 1 (day 1: 10 s late; " in said
    assert "The noise is 3 s, the latest head of the runs without extending." in said
    assert "for: 1 (day 1: 10 s late, in the runs without extending 3 s and no head)." in said
    assert "Later than planned by any time: 1 with extending, 1 and 0 without." in said
    assert "**not reached**" in said and "**significantly longer**" in said


@pytest.fixture(scope="module")
def kept() -> list[Run]:
    return runs.load()


def test_what_ran_is_what_was_ordered(kept: list[Run]) -> None:
    """None longer than twelve minutes, and nothing waited for the host; rounds ran all the while."""
    for run in kept:
        what = day(run.seed, run.risk)
        assert run.head["digest"] == what.digest and run.arm in ARMS
        longest = max(row.end for row in run.rows)
        assert {row.number for row in run.rows} == set(range(len(what.workload.jobs))) and longest <= 720
        assert (int(run.head["rounds"]) >= longest // 10) == (ARMS[run.arm] is not None)
        limits = {row.number: row.limit for row in run.rows}
        over = {job.number for job in what.workload.jobs if limits[job.number] > job.limit}
        assert over <= {act.number for act in run.acts if act.did in ("given", f"given{NOT_HELD}")}
        assert all(limits[job.number] >= job.limit for job in what.workload.jobs)


def test_the_simulator_says_of_these_days_what_they_showed(kept: list[Run]) -> None:
    """Each day has the same sign, and all days of a group together lie within its range. Two days with keys that ran
    later lie further beyond their own range than those that ran first; the page names them.
    """
    beyond = set()
    for of in GROUPS:
        found = group(kept, of)
        for one in found:
            made = against(one)
            assert made.real < 0 and made.simulated[2] < 0, (of, one.day.seed)
            if made.beyond > 0.05:
                beyond.add((of.arm, one.day.seed))
        real, (_, low, high) = all_days(found)
        assert low <= real <= high, of
        waited, (mean, _, _) = all_waits(found)
        assert waited * mean > 0 or abs(waited) < 0.1, of
    assert beyond == {("on", 9), ("most3lead40", 10)}


def test_the_page_is_fresh(kept: list[Run]) -> None:
    assert page.PAGE.read_text() == page.markdown(kept), "write it again: python -m tests.extend_real compare"
