"""The names of the settings of a run, as adminkit/native/simulate/fields.c has them; a test compares the two."""

from __future__ import annotations

from typing import Final

#: What a run can be set to; docs/simulate-spec.md has the meaning of each.
SETTINGS: Final = (
    "procs", "order", "depth", "promises", "release", "default_queue_depth", "partition_job_depth", "sched_interval",
    "sched_min_interval", "batch_sched_delay", "backfill", "bf_interval", "bf_window", "bf_resolution",
    "bf_max_job_test", "bf_max_job_start", "bf_max_job_user", "bf_max_job_part", "bf_max_job_array_resv", "bf_max_time",
    "bf_continue", "bf_min_prio_reserve", "bf_min_age_reserve", "bf_job_part_count_reserve", "bf_one_resv_per_job",
    "bf_window_linear", "bf_yield_interval", "bf_yield_sleep", "time_min_as_soft_limit", "kill_wait", "complete_wait",
    "epilog", "over_time_limit", "tick", "priority_calc_period", "priority_max_age", "priority_favor_small",
    "priority_weight_age", "priority_weight_job_size", "priority_weight_partition", "priority_weight_qos",
    "test_micros",
)  # fmt: skip
#: The settings of the scenario `extend` (kinds/extend.py).
EXTEND: Final = ("extend_every", "extend_lead", "extend_times")
#: The settings that only the model `elastic` has, which no scenario sets (elastic.py).
ELASTIC: Final = ("policy", "restart", "hold", "look", "efficiency", "idle_watts", "sleep_watts", "sleep_after")
