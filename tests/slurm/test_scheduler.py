"""How slurmctld schedules, read from `scontrol show config`."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.slurm.scheduler import parse_scheduler, settings_of
from adminkit.slurm.site import SiteScheduler

CONFIG = """\
Configuration data as of 2026-11-22T17:00:00
CompleteWait            = 0 sec
KillWait                = 30 sec
OverTimeLimit           = 5 min
PreemptType             = (null)
PriorityType            = priority/multifactor
PriorityMaxAge          = 7-00:00:00
PriorityCalcPeriod      = 00:05:00
PriorityFavorSmall      = No
PriorityWeightAge       = 1000
PriorityWeightFairShare = 5000
PriorityWeightJobSize   = 10
PriorityWeightPartition = 20
PriorityWeightQOS       = 30
PriorityWeightAssoc     = 0
SchedulerParameters     = bf_window=2880,bf_continue,bf_max_job_test=1000,defer,bf_busy_nodes
SchedulerType           = sched/backfill
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE_MEMORY
SLURM_VERSION           = 24.11.5
"""


def test_what_slurm_prints_is_in_seconds_under_slurms_names() -> None:
    assert parse_scheduler(CONFIG) == SiteScheduler(
        release="24.11",
        backfill=True,
        bf_window=172_800,
        bf_continue=True,
        bf_max_job_test=1000,
        kill_wait=30,
        complete_wait=0,
        over_time_limit=300,
        priority_calc_period=300,
        priority_max_age=604_800,
        priority_favor_small=False,
        priority_weight_age=1000,
        priority_weight_job_size=10,
        priority_weight_partition=20,
        priority_weight_qos=30,
        priority_weight_fairshare=5000,
        priority_weight_assoc=0,
        memory=True,
        whole_nodes=False,
        preemption=False,
        other=frozenset({"bf_busy_nodes"}),
    )


@pytest.mark.parametrize(
    ("line", "expected", "why"),
    [
        ("SchedulerType = sched/builtin", {"backfill": False}, "only the main loop"),
        ("SchedulerType = sched/backfill\nSchedulerParameters = bf_interval=-1", {"backfill": False}, "switched off"),
        ("SchedulerParameters = (null)", {}, "Slurm's word for nothing"),
        ("SchedulerParameters = max_job_bf=7", {"bf_max_job_test": 7}, "the name until 15.08"),
        ("SchedulerParameters = bf_window=soon,bf_interval=9x", {"other": frozenset({"bf_window", "bf_interval"})},
         "no numbers: they are named"),
        ("OverTimeLimit = UNLIMITED", {}, "no number"),
        ("PriorityType = priority/basic\nPriorityWeightAge = 5", {}, "weights have no effect"),
        ("SelectType = select/linear", {"memory": False, "whole_nodes": True}, "whole nodes"),
        ("PreemptType = preempt/qos", {"preemption": True}, ""),
    ],
)  # fmt: skip
def test_a_line_says(line: str, expected: dict[str, Any], why: str) -> None:
    assert parse_scheduler(line) == SiteScheduler(**expected), why


def test_the_simulator_gets_numbers_under_its_own_names() -> None:
    given = settings_of(parse_scheduler(CONFIG))
    assert given["release"] == 2411
    assert (given["backfill"], given["bf_continue"], given["priority_favor_small"]) == (1, 1, 0)
    assert not {"memory", "other", "preemption", "priority_weight_fairshare"} & set(given)
