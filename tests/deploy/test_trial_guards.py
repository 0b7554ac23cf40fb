"""The guards of a trial: what they count of a day, and when they end the trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy import trial_guards
from adminkit.deploy.soft_guard_plan import Records
from adminkit.deploy.trial import Side
from adminkit.deploy.trial_file import Guards
from adminkit.deploy.trial_guards import judge
from adminkit.deploy.trial_numbers import is_cut, numbers_of, widest_of
from adminkit.deploy.trial_state import Numbers
from adminkit.errors import AdminkitError
from adminkit.slurm import day_jobs, switching
from adminkit.slurm.day_jobs import DayJob, parse_day_jobs
from adminkit.slurm.seal import Marks
from adminkit.slurm.switching import Cycles, parse_cycles
from adminkit.stats.switchback import Day
from tests.support.trials import DAY, NOW, Tried, tried

GUARD = trial_guards.guard
A_DAY = Numbers(0, "a", 200, 3600.0, 20, 7200.0, 0, 1000, 100_000_000, 300, 300_000_000)
A = [replace(A_DAY, since=nth * DAY, p95_wait=3600.0 + 600 * nth) for nth in range(4)]
B = replace(A_DAY, side="b", since=9 * DAY)
JOB = DayJob(NOW + 7200, NOW + 7260, NOW + 9000, "COMPLETED", 1, 1740, 36_000, "gq", "")


@pytest.mark.parametrize(
    ("b", "guards", "fires", "why"),
    [
        ([B], {}, "", "as any day of A"),
        ([replace(B, widest_wait=10_801.0)], {}, "guard widest_wait: 10801.0 s", "half as much again"),
        ([replace(B, widest_wait=10_801.0)], {"widest_wait": 2.0}, "", "the site allows more"),
        ([replace(B, widest_wait=10_801.0)], {"widest_wait": None}, "", "no such guard"),
        ([replace(B, widest_wait=10_801.0, widest_jobs=4)], {}, "", "four jobs say nothing"),
        ([replace(B, p95_wait=8101.0)], {}, "guard p95_wait", "beyond the worst of A's days, 5400 s"),
        ([replace(B, p95_wait=8099.0)], {}, "", "within it"),
        ([replace(B, since=n * DAY, p95_wait=6900.0) for n in range(9, 12)], {}, "on 3 B days", "all of them together"),
        ([replace(B, since=n * DAY, p95_wait=6900.0) for n in range(9, 11)], {}, "", "two of them say nothing"),
        ([replace(B, cut=1)], {}, "guard cut: 1 jobs", "one is too many"),
        ([replace(B, cut=1)], {"cut": 1}, "", "one is allowed"),
        ([replace(B, since=8 * DAY, cut=1), B], {}, "", "of an earlier day, which ended nothing then"),
        ([replace(B, main_us=601_000_000)], {"cycle": 2.0}, "guard main cycle: 0.6 s", "six times as long"),
        ([replace(B, main_us=499_000_000)], {}, "", "under half a second harms nobody"),
        ([replace(B, backfill_us=601_000_000)], {}, "guard backfill cycle: 2.0 s", "twice as long"),
    ],
)
def test_when_they_fire(b: list[Numbers], guards: dict[str, Any], fires: str, why: str) -> None:
    found = judge(A, b, Guards(**guards))
    assert (fires in found) if fires else found == "", (found, why)


def test_jobs_that_end_at_such_limits_on_as_days_too_are_not_bs_harm() -> None:
    """A has soft limits as well, and B has other points; or users ask for just what is B's maximum."""
    usual = [replace(A[0], cut=2), *A[1:]]
    assert judge(usual, [replace(B, cut=2)], Guards()) == ""
    assert "guard cut: 3 jobs" in judge(usual, [replace(B, cut=3)], Guards())


def test_waits_that_harm_nobody_never_fire() -> None:
    quick = [replace(one, p95_wait=3.0, widest_wait=2.0) for one in A]
    assert judge(quick, [replace(B, p95_wait=599.0, widest_wait=599.0)], Guards()) == ""


def test_without_days_of_a_only_cut_jobs_fire() -> None:
    bad = replace(B, p95_wait=1e6, widest_wait=1e6)
    assert judge(A[:1], [bad], Guards()) == ""
    assert "guard cut" in judge([], [replace(bad, cut=1)], Guards())


def test_what_is_counted_of_a_day() -> None:
    jobs = [
        JOB,
        replace(JOB, eligible_time=NOW + 100),  # within the carry-over
        replace(JOB, eligible_time=NOW + DAY),  # of the next day
        replace(JOB, start_time=None, end_time=None, units=8),  # waits
        replace(JOB, start_time=None, state="CANCELLED"),  # never started
    ]
    found = numbers_of(jobs, Day(NOW, NOW + DAY, True), 3600, "b", 8, NOW + 10_800, {})
    assert (found.jobs, found.p95_wait, found.widest_jobs, found.widest_wait) == (2, 3600.0, 1, 3600.0)


@pytest.mark.parametrize(
    ("changes", "cut", "why"),
    [
        ({}, False, "it ended at its own limit"),
        ({"comment": "ak1:lim=36000,src=e,soft=1800"}, True, "it asked for ten hours"),
        ({"comment": "ak1:lim=36000,src=e,soft=1800", "elapsed": 36_000}, False, "it had them"),
        ({"comment": "ak1:lim=36000,src=e,soft=1800", "state": "FAILED"}, False, "it ended by itself"),
        ({"queue": "short", "time_limit": 3600}, True, "at the queue's maximum, which only B has"),
        ({"queue": "short", "time_limit": 1800}, False, "at a limit of its own"),
        ({"queue": "short", "time_limit": None}, False, "it had none"),
    ],
)
def test_which_jobs_were_cut(changes: dict[str, Any], cut: bool, why: str) -> None:
    job = replace(JOB, **{"state": "TIMEOUT", **changes})
    assert is_cut(job, Records(), {"short": 3600}) is cut, why


@pytest.mark.parametrize(
    ("units", "widest"),
    [([], None), ([1], 1), ([1] * 90 + [8] * 10, 8), ([1] * 80 + [8] * 20, 8), ([1] * 50 + [2] * 40 + [4] * 10, 4),
     ([1] * 85 + [8] * 12 + [16] * 3, 16)],
)  # fmt: skip
def test_which_jobs_are_the_widest(units: list[int], widest: int | None) -> None:
    assert widest_of([replace(JOB, units=one) for one in units]) == widest


SDIAG = """*** sdiag output at Sat Nov 28 12:00:00 2026 (1796000400)
Main schedule statistics (microseconds):
\tLast cycle:   90
\tTotal cycles: 40
\tMean cycle:   120
\tCycles per minute: 2

Backfilling stats
\tTotal cycles: 7
\tLast cycle: 15
\tMean cycle: 3000
\tDepth Mean: 4

Latency for 1000 calls to gettimeofday(): 20 microseconds
"""


def test_cycles_are_counted_from_one_look_to_the_next() -> None:
    now = parse_cycles(SDIAG)
    assert now == Cycles(40, 4800, 7, 21_000)
    assert now.since(Cycles(30, 3000, 7, 21_000)) == Cycles(10, 1800, 0, 0)
    assert now.since(Cycles(90, 9000, 1, 1)) == now, "the counters began anew"
    with pytest.raises(AdminkitError, match="couldn't read the output of sdiag"):
        parse_cycles("slurmctld is away")


def record(*cells: str) -> str:
    return "".join(f"{cell}|" for cell in cells) + "\n"


def test_sacct_is_read_whole_or_not_at_all() -> None:
    marks = Marks("|", "x1")
    line = record("7", "TIMEOUT", "2", "cpu=4,gres/gpu=8", "60", "3600", "gq", "", "100x1", "160x1", "3760x1")
    open_ = record("8", "PENDING", "1", "cpu=1", "UNLIMITED", "0", "gq", "", "100x1", "Unknown", "Unknown")
    held = record("9", "PENDING", "1", "cpu=1", "60", "0", "gq", "", "Unknown", "Unknown", "Unknown")
    assert list(parse_day_jobs(line + open_ + held, marks)) == [
        DayJob(100, 160, 3760, "TIMEOUT", 8, 3600, 3600, "gq", ""),
        DayJob(100, None, None, "PENDING", 1, 0, None, "gq", ""),
    ]
    for bad in (line.replace("160x1", "160"), line.replace("gq|", "gq|more|"), "7|TIMEOUT|\n"):
        with pytest.raises(AdminkitError, match="couldn't read sacct's records"):
            list(parse_day_jobs(bad, marks))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    """With the guards at work."""
    folder = tmp_path / "site"
    folder.mkdir()
    found = tried(folder, monkeypatch)
    monkeypatch.setattr(trial_guards, "guard", GUARD)
    monkeypatch.setattr(switching, "cycles", lambda: Cycles(1, 1, 1, 1))
    monkeypatch.setattr(day_jobs, "day_jobs", lambda *_: [])
    return found


def test_a_cut_job_ends_the_trial_within_ten_minutes(site: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    now = site.at("b")
    site.round(now)
    site.round(now + 60)
    cut = replace(JOB, eligible_time=now, state="TIMEOUT", comment="ak1:lim=36000,src=e,soft=1800")
    monkeypatch.setattr(day_jobs, "day_jobs", lambda *_: [cut])
    for later in range(120, 780, 60):
        site.round(now + later)
    assert site.whole.trial.why.startswith("guard cut: 1 jobs") and site.is_whole("a")


def test_what_cannot_be_counted_for_an_hour_ends_it_on_a_day_of_b_only(
    site: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> list[DayJob]:
        raise AdminkitError("slurmdbd is away")

    monkeypatch.setattr(day_jobs, "day_jobs", away)
    cases: tuple[tuple[Side, bool], ...] = (("a", False), ("b", True))
    for side, ends in cases:
        now = site.at(side)
        site.round(now)
        site.keep(measured_at=now, asked_at=0)
        for later in range(60, 3660, 300):
            site.round(now + later)
            assert site.whole.trial.ended is None, later
        site.round(now + 3900)
        site.round(now + 4200)
        assert (site.whole.trial.ended is not None) is ends
    assert "the guards could not count for" in site.whole.trial.why and "slurmdbd is away" in site.whole.trial.why
    assert site.is_whole("a")


def test_a_count_by_a_clock_that_was_ahead_is_not_a_late_one(site: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guards would be silent until that time comes again."""

    def away(*_: object) -> list[DayJob]:
        raise AdminkitError("slurmdbd is away")

    monkeypatch.setattr(day_jobs, "day_jobs", away)
    now = site.at("b")
    site.round(now)
    site.keep(measured_at=now + 30 * DAY, asked_at=0)
    site.round(now + 60)
    assert "the guards could not count for" in site.whole.trial.why


def test_nothing_counts_in_the_carry_over(site: Tried) -> None:
    day = next(day for day in site.trial.days if day.on)
    for later in (0, 60, 1800):
        site.round(day.since + later)
    assert not site.whole.machine.numbers


def test_an_operator_reads_why_they_wait(site: Tried) -> None:
    now = site.at("b")
    site.round(now)
    assert "the guards wait: they need 2 days of A, and there are 0" in site.round(now + 60).said
