"""Whose jobs run past their limits because they are given more time: the finding, one's own line, the metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adminkit.config import Config
from adminkit.feedback.site_findings import of_users
from adminkit.findings import estimate, run_over
from adminkit.findings.finding import Stake, Subject
from adminkit.integrations.prometheus import exposition
from adminkit.reports import my
from adminkit.stats.extensions import RanOver
from adminkit.stats.own import Owner, ran_over
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.extended import make_extended

GIVEN = {"ext_asked": HOUR, "ext_limit": 2 * HOUR, "ext_times": 2, "time_limit": 2 * HOUR}


@pytest.mark.parametrize(
    ("runs", "over", "found", "why"),
    [
        (20, 10, ["run_over"], "half of twenty"),
        (21, 10, [], "less than half"),
        (9, 9, [], "fewer than ten"),
        (10, 10, ["run_over"], "all of ten"),
    ],
)
def test_a_habit(runs: int, over: int, found: list[str], why: str) -> None:
    measure = RanOver("aaic", "$(x)", runs, over, over * 600.0, over * 3600.0, 7200.0, 0.0)
    said = run_over.check(measure, run_over.Limits())
    assert [one.verdict for one in said] == found, why
    for one in said:
        assert (one.stake, one.evidence["more"], one.evidence["req_limit"]) == (Stake(7200.0), 600, 3600)
        assert one.command == "adminkit report extensions --user '$(x)'"


def test_who_asks_for_an_hour_and_needs_two_is_found_and_who_was_given_in_vain_is_not(tmp_path: Path) -> None:
    jobs = [job(n, elapsed=100 * 60, **GIVEN) for n in range(1, 11)]
    jobs += [job(n, elapsed=50 * 60, user="bob", **GIVEN) for n in range(21, 41)]
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        found = [*of_users(db, Filter(checkpoint_code=85), ["run_over"])]
    assert [(one.kind, one.subject.user, one.stake) for one in found] == [("run_over", "ada", Stake(10 * 40 * 60.0))]


@pytest.mark.parametrize(
    ("elapsed", "limit", "state", "more", "tasks", "verdict", "why"),
    [
        (4700, 3600, "COMPLETED", 1100, (), "ran_over", "it completed after its limit"),
        (4700, 3600, "FAILED", 1100, (), "ran_over", "so did one that failed later"),
        (7200, 3600, "TIMEOUT", 3600, (), "hit_limit", "it ended at its last limit"),
        (3700, 3600, "COMPLETED", None, (), "hit_limit", "Slurm was late"),
        (3500, 3600, "COMPLETED", 0, (), "accurate", "it needed none of it"),
        (4700, 3600, "COMPLETED", 1100, (1000, 2000, 4700), "accurate", "an array is judged by its median task"),
    ],
)
def test_a_verdict(
    elapsed: int, limit: int, state: str, more: int | None, tasks: tuple[int, ...], verdict: str, why: str
) -> None:
    measure = estimate.Measure(Subject(cluster="aaic"), elapsed, limit, state, tasks, more)
    (found,) = estimate.check(measure, estimate.LETTERS)
    assert found.verdict == verdict, why


@pytest.mark.parametrize(
    ("recommended", "verdict", "worth"),
    [(7200, "ran_over", True), (3600, "ran_over", False), (1800, "ran_over", False), (1800, "overestimated", True)],
)
def test_who_ran_over_is_told_a_longer_limit_only(recommended: int, verdict: str, worth: bool) -> None:
    assert estimate.worth_typing(recommended, 3600, verdict, estimate.LETTERS) is worth


def test_my_says_it_in_one_line(tmp_path: Path) -> None:
    jobs = [job(1, uid=7, elapsed=78 * 60, **GIVEN), job(2, uid=7, elapsed=2 * HOUR, state="TIMEOUT", **GIVEN),
            job(3, uid=7, elapsed=50 * 60, **GIVEN), job(4, uid=8, elapsed=90 * 60, **GIVEN)]  # fmt: skip
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        mine = ran_over(db, Owner("aaic", 7, "ada"), 0)
        nobodys = ran_over(db, Owner("aaic", 9, "eve"), 0)
    assert (mine, nobodys) == ((2, 78 * 60, 1), (0, 0, 0))
    (line,) = my._over(*mine)
    assert "2 jobs ran past the limit that you asked for, by 39 min on average" in line and "1 completed" in line
    assert my._over(*nobodys) == []


def test_metrics(tmp_path: Path) -> None:
    with reader(make_extended(tmp_path / "t.db")) as db:
        text = exposition(db, Config(), MONDAY + 24 * HOUR, 24 * HOUR).decode()
        later = exposition(db, Config(), MONDAY + 72 * HOUR, 24 * HOUR).decode()
    found = {
        (sample.name.removeprefix("adminkit_"), *(value for key, value in sorted(sample.labels.items())
         if key != "cluster")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }  # fmt: skip
    assert {key: value for key, value in found.items() if key[0].startswith(("ext", "saved"))} == {
        ("extended_runs", "completed", "gq"): 3, ("extended_runs", "limit", "gq"): 1,
        ("extended_runs", "within", "gq"): 0,
        ("extended_runs", "completed", "gq-short"): 0, ("extended_runs", "limit", "gq-short"): 0,
        ("extended_runs", "within", "gq-short"): 1, ("extended_seconds", "gq"): 6.5 * HOUR,
        ("extended_seconds", "gq-short"): 0, ("saved_gpu_seconds", "gq"): 4 * HOUR,
        ("saved_gpu_seconds", "gq-short"): 0,
        ("saved_cpu_seconds", "gq"): 256 * HOUR, ("saved_cpu_seconds", "gq-short"): 0,
        ("extension_refusals", "most"): 1, ("extension_refusals", "planned"): 1, ("extension_refusals", "waiting"): 1,
    }  # fmt: skip
    assert "adminkit_extended_runs{" not in later, "nothing ended in that window"
