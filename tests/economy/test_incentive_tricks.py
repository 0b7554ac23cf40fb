"""What people might try, what they get for it, and the line of `show` that says why."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.job import Job, Step
from adminkit.reports.incentives import user_report
from tests.economy.incentive_cases import ada, good, policy, run, step
from tests.support.builders import HOUR

FULL = 360  # 6 h of ageing at 60 points an hour


def parallel(number: int, **changes: Any) -> Job:
    return run(number, **{"gpus": 8, "cpus": 64, "job_name": "wide", **changes})


def side_by_side(of: Job, count: int = 8, **changes: Any) -> list[Step]:
    return [step(of, str(nth), nth, 2900, **changes) for nth in range(count)]


WIDE = parallel(100)
SPREAD = parallel(100, nodes=8)
BAD = {"elapsed": 3000, "time_limit": 72 * HOUR}

CASES: list[tuple[str, list[Job], list[Step], dict[str, Any], int, tuple[str, str]]] = [
    ("limits that were right earn all", good(), [], {}, FULL, ("points", "360 of at most 360: 6.0 h of ageing")),
    (
        "a limit just over the run earns no more than the menu's",
        good(time_limit=51 * 60),
        [],
        {},
        FULL,
        ("score", "1.000 over 12 runs, 0 of them at their limit"),
    ),
    (
        "one step more than needed is a third of the score",
        good(time_limit=3 * HOUR),
        [],
        {},
        0,
        ("lacking", "a score of 0.333; a bonus needs more than 0.5"),
    ),
    (
        "an operator may let two steps over the run score full",
        good(time_limit=3 * HOUR),
        [],
        {"menu_steps": 2},
        FULL,
        ("score", "1.000 over 12 runs, 0 of them at their limit"),
    ),
    (
        "a run that sleeps until its limit is left out",
        good(elapsed=24 * HOUR - 60, time_limit=24 * HOUR, cpu_time=600.0),
        [],
        {},
        0,
        ("idle", "it used less than incentives.min_cpu_use of its CPU time"),
    ),
    (
        "a run whose use nobody knows may have slept",
        good(cpu_time=None),
        [],
        {},
        0,
        ("use_unknown", "the trace has no CPU time for it, so it may have been idle"),
    ),
    (
        "a site that gathers no CPU time may count them all the same",
        good(cpu_time=None),
        [],
        {"unknown_use": "count"},
        FULL,
        ("score", "1.000 over 12 runs, 0 of them at their limit"),
    ),
    (
        "a run into its limit is a miss and weighs",
        [*good(), *good(20, 4, state="TIMEOUT", elapsed=HOUR)],
        [],
        {},
        180,
        ("score", "0.750 over 16 runs, 4 of them at their limit"),
    ),
    (
        "a miss that Slurm ended half a minute late weighs no more for that",
        [*good(), *good(20, 4, state="TIMEOUT", elapsed=HOUR + 30)],
        [],
        {},
        179,
        ("score", "0.748 over 16 runs, 4 of them at their limit"),
    ),
    (
        "a miss is a miss however idle it was",
        [*good(), *good(20, 4, state="TIMEOUT", elapsed=HOUR, cpu_time=1.0)],
        [],
        {},
        180,
        ("score", "0.750 over 16 runs, 4 of them at their limit"),
    ),
    (
        "a limit that a rule or the user lowered is scored as it was asked for",
        good(limit_original=72 * HOUR),
        [],
        {},
        0,
        ("lacking", "a score of 0.014; a bonus needs more than 0.5"),
    ),
    (
        "a limit that was raised after the bonus was given is scored as raised",
        good(limit_original=HOUR, time_limit=72 * HOUR),
        [],
        {},
        0,
        ("lacking", "a score of 0.014; a bonus needs more than 0.5"),
    ),
    (
        "a limit above the queue's that was lowered to it still misses when it runs out",
        [*good(), *good(20, 4, state="TIMEOUT", elapsed=HOUR, time_limit=HOUR, limit_original=3 * HOUR)],
        [],
        {},
        0,
        ("score", "0.500 over 16 runs, 4 of them at their limit"),
    ),
    (
        "the queue's default is nobody's estimate",
        good(limit_source="default"),
        [],
        {},
        0,
        ("limit", "it has no finite limit that the user is known to have chosen"),
    ),
    (
        "nor is a limit of which nobody knows who chose it",
        good(limit_source="unknown"),
        [],
        {},
        0,
        ("limit", "it has no finite limit that the user is known to have chosen"),
    ),
    (
        "unlimited is no estimate",
        good(time_limit=None, limit_kind="unlimited"),
        [],
        {},
        0,
        ("limit", "it has no finite limit that the user is known to have chosen"),
    ),
    (
        "a site may trust recorded limits only",
        good(),
        [],
        {"recorded_only": True},
        0,
        ("unrecorded", "its original limit was not recorded, which incentives.recorded_only requires"),
    ),
    (
        "bad runs that are made to fail leave too few hours that weigh",
        [*good(), *good(20, 12, state="FAILED", **{**BAD, "elapsed": 4 * HOUR})],
        [],
        {},
        0,
        ("lacking", "17.2 % of the hours are in runs that weigh; a bonus needs 25.0 %"),
    ),
    (
        "and so do bad runs that are cancelled before the limit",
        [*good(), *good(20, 12, state="CANCELLED", **{**BAD, "elapsed": 4 * HOUR})],
        [],
        {},
        0,
        ("state", "neither completed nor ran into its limit: failed, cancelled, preempted …"),
    ),
    (
        "small accurate runs beside large ones under the default limit are too small a part",
        [*good(), *good(20, 4, elapsed=20 * HOUR, limit_source="default", time_limit=72 * HOUR)],
        [],
        {},
        0,
        ("lacking", "11.1 % of the hours are in runs that weigh; a bonus needs 25.0 %"),
    ),
    (
        "a thousand small runs of one name on one day weigh as much as its cap",
        [*good(1, 12, **BAD, cpus=1), *[run(100 + n, 0, job_name="farm") for n in range(1000)]],
        [],
        {"name_day_hours": 48},
        0,
        ("lacking", "a score of 0.217; a bonus needs more than 0.5"),
    ),
    (
        "numbers in the name do not make it another",
        [*good(1, 12, **BAD, cpus=1), *[run(100 + n, 0, job_name=f"farm_{n}") for n in range(1000)]],
        [],
        {"name_day_hours": 48},
        0,
        ("lacking", "a score of 0.217; a bonus needs more than 0.5"),
    ),
    (
        "old merit fades",
        [*[run(n, 120 + n % 4) for n in range(1, 101)], *good(200, 12, time_limit=3 * HOUR)],
        [],
        {},
        0,
        ("lacking", "a score of 0.432; a bonus needs more than 0.5"),
    ),
    (
        "while merit that does not fade stays",
        [*[run(n, 120 + n % 4) for n in range(1, 101)], *good(200, 12, time_limit=3 * HOUR)],
        [],
        {"half_life_days": 1_000_000},
        233,
        ("score", "0.824 over 112 runs, 0 of them at their limit"),
    ),
    ("nine runs are too few", good(count=9), [], {}, 0, ("lacking", "9 of at least 10 runs")),
    (
        "one job cut into many on one day is one day's",
        [run(n, 0) for n in range(1, 50)],
        [],
        {},
        0,
        ("lacking", "on 1 of at least 3 different days"),
    ),
    (
        "a run of a few seconds says nothing",
        good(elapsed=60),
        [],
        {},
        0,
        ("short", "ran for incentives.min_elapsed or less"),
    ),
    (
        "the runs of a requeued job count neither way",
        [
            *good(),
            *[run(n, 1, state="REQUEUED", **BAD) for n in range(50, 60)],
            *[run(n, 0, **BAD) for n in range(50, 60)],
        ],
        [],
        {},
        FULL,
        (
            "checkpoint",
            "a piece of a requeued job, warned in time, or it exited with the code for 'more to do'",
        ),
    ),
    (
        "nor does one that leaves with 85",
        [*good(), run(50, exit_code=85, state="FAILED")],
        [],
        {},
        FULL,
        (
            "checkpoint",
            "a piece of a requeued job, warned in time, or it exited with the code for 'more to do'",
        ),
    ),
    (
        "but 85 as the derived code counts like any other: its owner can write that after the end",
        [*good(), *[run(n, n % 5, derived_exit_code=85, **BAD) for n in range(50, 70)]],
        [],
        {},
        0,
        ("score", "0.022 over 32 runs, 0 of them at their limit"),
    ),
    (
        "nor one that was restarted, where Slurm says so",
        [*good(), run(50, restarts=2, **BAD)],
        [],
        {},
        FULL,
        (
            "checkpoint",
            "a piece of a requeued job, warned in time, or it exited with the code for 'more to do'",
        ),
    ),
    (
        "nor a job that was cut into parts by an update of its memory or nodes",
        [*good(), run(50, 1, state="RESIZING", **BAD), run(50, 0, **BAD)],
        [],
        {},
        FULL,
        (
            "checkpoint",
            "a piece of a requeued job, warned in time, or it exited with the code for 'more to do'",
        ),
    ),
    (
        "whose hours count against its user all the same",
        [
            *good(),
            *[run(n, 1, state="RESIZING", elapsed=4 * HOUR) for n in range(50, 62)],
            *[run(n) for n in range(50, 62)],
        ],
        [],
        {},
        0,
        ("lacking", "14.5 % of the hours are in runs that weigh; a bonus needs 25.0 %"),
    ),
    (
        "but not everything may be a checkpoint run",
        [*good(), *good(50, 12, exit_code=85, state="FAILED", elapsed=4 * HOUR)],
        [],
        {},
        0,
        ("lacking", "17.2 % of the hours are in runs that weigh; a bonus needs 25.0 %"),
    ),
    (
        "a run without a size has no weight",
        [*good(), run(50, gpus=None, cpus=None, cpu_time=10.0)],
        [],
        {},
        FULL,
        ("size", "its GPUs and CPUs are unknown"),
    ),
    (
        "eight single-GPU steps side by side in a job of eight GPUs are a bundle",
        [*good(), WIDE],
        side_by_side(WIDE),
        {},
        FULL,
        ("class points", "none for now: 1 bundle in 30 days are 25.0 % of their parallel hours or more"),
    ),
    (
        "so are single steps on eight nodes",
        [*good(), SPREAD],
        side_by_side(SPREAD),
        {},
        FULL,
        ("bundle", "parallel by its size, but its steps were single ones side by side"),
    ),
    (
        "a wide step that idles beside them hides nothing",
        [*good(), WIDE],
        [*side_by_side(WIDE), step(WIDE, "8", 0, 2990, gpus=8, cpu_time=1.0)],
        {},
        FULL,
        ("class points", "none for now: 1 bundle in 30 days are 25.0 % of their parallel hours or more"),
    ),
    (
        "bundles of long ago are forgiven",
        [*good(), (old := parallel(100, day=40))],
        side_by_side(old),
        {},
        FULL,
        ("class points", "each job earns its own: multi-node 240, multi-gpu 120"),
    ),
    (
        "a few among real parallel jobs are, too",
        [*good(), WIDE, *[parallel(n, job_name="real") for n in range(200, 210)]],
        side_by_side(WIDE),
        {},
        FULL,
        ("class points", "each job earns its own: multi-node 240, multi-gpu 120"),
    ),
]


@pytest.mark.parametrize(
    ("jobs", "steps", "settings", "points", "line"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_a_trick_earns_what_it_should_and_show_says_why(
    jobs: list[Job], steps: list[Step], settings: dict[str, Any], points: int, line: tuple[str, str]
) -> None:
    found = ada(jobs, steps, **settings)
    assert found.worth.points.of(found.standing.hours) == points
    shown = user_report(found, policy(**settings).incentives, "t.db").records()
    assert line in [(row["what"], row["meaning"]) for row in shown]


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([], "no step is known"),
        ([step(WIDE, "batch", 0, 3000, gpus=8)], "the batch step does not tell what it holds"),
        ([step(WIDE, "0", 0, 2900, gpus=8)], "one step over all GPUs"),
        ([step(WIDE, str(n), 0, 2900, gpus=4) for n in range(2)], "two steps of several GPUs each"),
        ([step(WIDE, str(n), 300 * n, 290) for n in range(8)], "one after the other"),
        ([step(SPREAD, "0", 0, 2900, gpus=8, nodes=8)], "one step over all nodes"),
        ([step(WIDE, "0", 0, 2900, gpus=8), step(WIDE, "1", 0, 2900, gpus=0)], "a monitor beside the work"),
        ([step(WIDE, str(n), 0, 2900, gpus=None) for n in range(8)], "nobody knows what a step had"),
    ],
)
def test_real_parallel_jobs_are_no_bundles(steps: list[Step], why: str) -> None:
    of = SPREAD if steps and steps[0].nodes == 8 else WIDE
    found = ada([*good(), of], steps).standing
    assert (found.bundles, found.earns_class) == (0, True), why


def test_gaps_between_steps_hide_no_bundle() -> None:
    """More time than work: the steps together are shorter than what lies between the first and the last."""
    steps = [step(WIDE, str(n), 0, 500) for n in range(2)] + [step(WIDE, "2", 2800, 100)]
    assert ada([*good(), WIDE], steps).standing.bundles == 1
