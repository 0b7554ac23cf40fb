"""The main loop of the model slurm, second by second. Each start follows from docs/simulate-slurm.md."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.slurm_case import Job, job, schedule, starts

#: Jobs that fill one CPU, with nobody behind: for cases of the main loop alone.
ALONE = {"backfill": 0, "release": 2205}
GPUS = {"cpus": 16, "gpus": 4, "mem": 1000}


@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        ([job(0, 10)], {}, [1], "the background looks at the beginning of the next second"),
        ([job(5, 10)], {}, [6], "the clock begins with the first job"),
        ([job(0, 10), job(1, 10)], {"nodes": 2}, [1, 4], "batch_sched_delay after the last look"),
        ([job(0, 10), job(1, 10)], {"nodes": 2, "batch_sched_delay": 0}, [1, 2], "no delay"),
        ([job(0, 100), job(5, 10)], ALONE, [1, 101], "an end starts a pass at once"),
        ([job(0, 100), job(5, 10)], {"backfill": 0}, [1, 102], "since 23.11 it asks the background, which looks later"),
        (
            [job(0, 100), job(97, 9), job(98, 9)],
            {"backfill": 0, "nodes": 2},
            [1, 98, 104],
            "batch_sched_delay there, too: passes at 98, 101, 104",
        ),
        ([job(0, 100), job(5, 10)], {"backfill": 0, "epilog": 7}, [1, 108], "an epilog asks at once"),
        ([job(0, 100), job(5, 10)], {"epilog": 7, **ALONE}, [1, 108], "nodes complete until the epilog is over"),
        ([job(0, 100), job(5, 10)], {"epilog": 7}, [1, 108], "backfill does not use completing nodes either"),
        (
            [job(0, 100), job(5, 10)],
            {"sched_min_interval": 40_000_000, **ALONE},
            [1, 121],
            "sched_min_interval: passes at 1, 41, 81, 121",
        ),
        (
            [job(0, 3), job(2, 9)],
            {"sched_min_interval": 40_000_000, **ALONE},
            [1, 41],
            "the pass that an end asks for waits as well",
        ),
        (
            [job(0, 20), job(1, 20, queues=2)],
            {"nodes": [{"queues": 1}, {"queues": 2}], "queues": [{}, {}], "epilog": 9, "complete_wait": 5, **ALONE},
            [1, 4],
            "complete_wait matters to who comes later",
        ),
        (
            [job(0, 9), job(12, 9, queues=2)],
            {"nodes": [{"queues": 1}, {"queues": 2}], "queues": [{}, {}], "epilog": 30, "complete_wait": 20, **ALONE},
            [1, 40],
            "nobody starts in the first complete_wait seconds after an end",
        ),
        (
            [job(0, 9), job(12, 9, queues=2)],
            {"nodes": [{"queues": 1}, {"queues": 2}], "queues": [{}, {}], "epilog": 30, **ALONE},
            [1, 13],
            "without complete_wait other nodes are free",
        ),
    ],
)
def test_a_pass_runs_when_something_happened(
    jobs: list[Job], site: dict[str, Any], expected: list[int], why: str
) -> None:
    assert starts(jobs, **site) == expected, why


@pytest.mark.parametrize(
    ("site", "end", "behind", "why"),
    [
        ({"kill_wait": 0}, 90, 90, "the first tick after the limit, counted from the first job"),
        ({}, 90, 120, "its nodes complete while KillWait lasts"),
        ({"kill_wait": 5, "epilog": 2}, 90, 97, "then the epilog runs"),
        ({"kill_wait": 0, "over_time_limit": 60}, 150, 150, "OverTimeLimit"),
        ({"kill_wait": 0, "tick": 1}, 61, 61, "limits are looked at each second"),
    ],
)
def test_a_job_runs_until_a_tick_finds_it_above_its_limit(
    site: dict[str, Any], end: int, behind: int, why: str
) -> None:
    said = schedule([job(0, 1000, limit=60), job(2, 10)], **site, **ALONE)
    assert (said.end.tolist()[0], said.outcome.tolist(), said.start.tolist()) == (end, [2, 1], [1, behind]), why


#: A queue of one CPU each for 1 and 2, and one of both for 3.
OVERLAP = {"nodes": [{"queues": 0b101}, {"queues": 0b110}], "queues": [{}, {}, {}], **ALONE}


@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        (
            [job(0, 100), job(1, 100, nodes=2), job(2, 10)],
            {"nodes": 2, **ALONE},
            [1, 101, 201],
            "a queue's first blocked job blocks those behind it",
        ),
        (
            [job(0, 100, queues=4), job(1, 100, queues=4, nodes=2), job(2, 10, queues=2)],
            OVERLAP,
            [1, 101, 201],
            "also on nodes that another queue shares with it",
        ),
        ([job(0, 100), job(1, 100), job(2, 10, queues=2)], OVERLAP, [1, 101, 4], "but not on others"),
        (
            [job(0, 100), job(1, 50), job(1, 50, queues=2)],
            {"nodes": [{"queues": 3}], "queues": [{}, {"tier": 2}], **ALONE},
            [1, 151, 101],
            "PriorityTier goes before all else",
        ),
        (
            [job(0, 100), job(1, 50, queues=3), job(1, 50)],
            {"nodes": [{"queues": 3}, {"queues": 2}], "queues": [{}, {}], **ALONE},
            [1, 4, 101],
            "a job in two queues starts in the one that has room",
        ),
        ([job(0, 9, limit=100)], {"queues": [{"max_limit": 99}]}, [-1], "MaxTime"),
        (
            [job(0, 9, limit=100, queues=3)],
            {"nodes": [{"queues": 3}], "queues": [{"max_limit": 99}, {}]},
            [1],
            "MaxTime of one queue",
        ),
        ([job(0, 9, nodes=2)], {"nodes": 2, "queues": [{"max_nodes": 1}]}, [-1], "MaxNodes"),
        ([job(0, 9)], {"nodes": 2, "queues": [{"min_nodes": 2}]}, [-1], "MinNodes"),
        ([job(0, 9)], {"queues": [{"up": 0}]}, [-1], "State=DOWN"),
        ([job(0, 9, nodes=2)], {}, [-1], "larger than the site"),
        (
            [job(0, 900, limit=-1), job(1, 9, limit=60)],
            {"queues": [{"default_limit": 60, "max_limit": 600}], "kill_wait": 0, **ALONE},
            [1, 90],
            "DefaultTime",
        ),
        (
            [job(0, 900, limit=-1), job(1, 9, limit=60)],
            {"queues": [{"max_limit": 600}], "kill_wait": 0, **ALONE},
            [1, 630],
            "MaxTime where there is no DefaultTime",
        ),
        ([job(0, 900, limit=-1), job(1, 9)], ALONE, [1, 901], "no limit at all"),
    ],
)
def test_queues_bound_who_starts(jobs: list[Job], site: dict[str, Any], expected: list[int], why: str) -> None:
    assert starts(jobs, **site) == expected, why


#: One runs in a QOS that allows one job; two more of it wait before a job of none. The node has room for all.
HELD = [job(0, 100, qos=0, user=1), job(1, 9, qos=0, user=1), job(1, 9, qos=0, user=1), job(1, 9)]
ROOM: dict[str, Any] = {"nodes": 4, **ALONE}


@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        (HELD, {"qos": [{"group_jobs": 1}], **ROOM}, [1, 101, 110, 4], "who is held by a QOS blocks nobody"),
        (HELD, {"qos": [{"max_user_jobs": 1}], **ROOM}, [1, 101, 110, 4], "MaxJobsPerUser"),
        (HELD, {"qos": [{"group_cpus": 2}], **ROOM}, [1, 4, 13, 4], "GrpTRES=cpu=2"),
        (
            [job(0, 50, gpus=2, qos=0), job(1, 9, gpus=1, qos=0)],
            {"nodes": [GPUS], "qos": [{"max_user_gpus": 2}], **ALONE},
            [1, 51],
            "MaxTRESPerUser=gres/gpu=2",
        ),
        (
            [job(0, 50, qos=0, user=1), job(1, 9, qos=0, user=2)],
            {"nodes": 2, "qos": [{"max_user_cpus": 1}], **ALONE},
            [1, 4],
            "another user's jobs do not count",
        ),
        (
            [job(0, 9, cpus=2, qos=0)],
            {"nodes": [{"cpus": 4}], "qos": [{"max_user_cpus": 1}]},
            [-1],
            "alone above its limit",
        ),
        (
            HELD,
            {"qos": [{"group_jobs": 1}], "default_queue_depth": 1, **ROOM},
            [1, 101, 110, 60],
            "default_queue_depth: an event looks at one more than that, a full pass at all",
        ),
        (
            HELD,
            {"qos": [{"group_jobs": 1}], "default_queue_depth": 1, "sched_interval": 20, **ROOM},
            [1, 101, 110, 20],
            "sched_interval",
        ),
        (
            HELD,
            {"qos": [{"group_jobs": 1}], "partition_job_depth": 2, **ROOM},
            [1, 101, 110, 110],
            "partition_job_depth: even the full pass looks at two of a queue",
        ),
        (
            [*HELD[:3], job(1, 9, queues=2)],
            {
                "nodes": [{"count": 4, "queues": 3}],
                "queues": [{}, {}],
                "qos": [{"group_jobs": 1}],
                "partition_job_depth": 2,
                **ALONE,
            },
            [1, 101, 110, 4],
            "but at those of another",
        ),
    ],
)
def test_limits_of_a_qos_and_depths(jobs: list[Job], site: dict[str, Any], expected: list[int], why: str) -> None:
    assert starts(jobs, **site) == expected, why


def pair(**second: int) -> list[Job]:
    """One runs until 101; of the two behind it the second has what is said."""
    return [job(0, 100), job(2, 50), job(3, 50, **second)]


@pytest.mark.parametrize(
    ("jobs", "site", "second_first", "why"),
    [
        (pair(), {}, False, "equal priorities: who came first"),
        (pair(priority=9), {}, True, "the column priority"),
        (pair(nice=-5), {}, True, "nice"),
        ([job(0, 100), job(2, 50, site_factor=5), job(3, 50, site_factor=9)], {}, True, "site factor"),
        (
            [job(0, 100), job(2, 50, qos=0), job(3, 50, qos=1)],
            {"qos": [{"priority": 1}, {"priority": 4}], "priority_weight_qos": 100},
            True,
            "QOS",
        ),
        (
            pair(queues=2),
            {"queues": [{"factor": 1}, {"factor": 2}], "nodes": [{"queues": 3}], "priority_weight_partition": 100},
            True,
            "PriorityJobFactor",
        ),
        (
            [job(0, 100, cpus=2), job(2, 50), job(3, 50, cpus=2)],
            {"nodes": [{"cpus": 2}], "priority_weight_job_size": 100},
            True,
            "larger jobs first",
        ),
        (
            [job(0, 100, cpus=2), job(2, 50, cpus=2), job(3, 50)],
            {"nodes": [{"cpus": 2}], "priority_weight_job_size": 100, "priority_favor_small": 1},
            True,
            "PriorityFavorSmall",
        ),
        (
            pair(site_factor=50),
            {"priority_weight_age": 6_048_000, "priority_calc_period": 50},
            True,
            "age counts 10 a second",
        ),
        (
            [job(0, 100), job(2, 50), job(40, 50, site_factor=50)],
            {"priority_weight_age": 6_048_000, "priority_calc_period": 50},
            False,
            "38 seconds older at second 100",
        ),
        (
            [job(0, 100), job(2, 50), job(40, 50, site_factor=50)],
            {"priority_weight_age": 6_048_000, "priority_calc_period": 300},
            True,
            "PriorityCalcPeriod: nobody has aged yet",
        ),
        (
            [job(0, 100), job(2, 50), job(40, 50, site_factor=50)],
            {"priority_weight_age": 6_048_000, "priority_calc_period": 50, "priority_max_age": 604800 * 10},
            True,
            "PriorityMaxAge: age counts 1 a second",
        ),
    ],
)
def test_priority(jobs: list[Job], site: dict[str, Any], second_first: bool, why: str) -> None:
    said = starts(jobs, **ALONE, **site)
    assert (said[2] < said[1]) == second_first, why
