"""How slurmctld schedules: SchedulerParameters, PriorityWeight*, KillWait and their like, of `scontrol show config`.

A setting that is not there has Slurm's default, and is None here: the simulator has these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from adminkit.slurm.keyvalue import given, number, settings
from adminkit.slurm.priority import MULTIFACTOR
from adminkit.slurm.release import parse_release
from adminkit.slurm.show_config import show_config
from adminkit.slurm.site import SiteScheduler
from adminkit.units import parse_duration

#: Words of SchedulerParameters with a number -> seconds (or counts, microseconds) in one unit of the word.
_NUMBERS: Final[Mapping[str, int]] = {
    "bf_window": 60,
    **dict.fromkeys(
        (
            "default_queue_depth", "partition_job_depth", "sched_interval", "sched_min_interval", "batch_sched_delay",
            "bf_interval", "bf_resolution", "bf_max_job_test", "bf_max_job_start", "bf_max_job_user", "bf_max_job_part",
            "bf_max_job_array_resv", "bf_max_time", "bf_min_prio_reserve", "bf_min_age_reserve",
            "bf_job_part_count_reserve", "bf_window_linear", "bf_yield_interval", "bf_yield_sleep",
        ),
        1,
    ),
}  # fmt: skip
_FLAGS: Final = ("bf_continue", "bf_one_resv_per_job", "time_min_as_soft_limit")
#: Former names.
_NOW_CALLED: Final = {"max_job_bf": "bf_max_job_test"}
#: Words that have no effect on when jobs start.
_HARMLESS: Final = re.compile(
    r"(max_rpc_cnt|rpc_|defer|disable_|batch_max_|build_queue_timeout|enable_|max_array_tasks|max_depend_depth|"
    r"max_script_size|max_sched_time|no_env_cache|requeue_|salloc_wait_nodes|sbatch_wait_nodes|spec_cores_first|"
    r"topo_optional|unavail_|nohold_on_prolog_fail|allow_|ignore_|kill_invalid_depend|default_gbytes|bf_node_space_size|"
    r"bf_max_reservations|sched_max_job_start|Ignore|extra_).*"
)


def scheduler() -> SiteScheduler:
    """The settings that slurmctld has now. AdminkitError where it does not answer."""
    return parse_scheduler(show_config())


def parse_scheduler(text: str) -> SiteScheduler:
    """`scontrol show config`."""
    words = settings(text)
    values: dict[str, Any] = _parameters(given(words.get("SchedulerParameters")) or "")
    if "SchedulerType" in words:
        values["backfill"] = words["SchedulerType"] == "sched/backfill" and values.get("backfill", True)
    if "SLURM_VERSION" in words:
        major, minor, _ = parse_release(words["SLURM_VERSION"])
        values["release"] = f"{major}.{minor:02}"
    for name in ("KillWait", "CompleteWait", "OverTimeLimit", "PriorityMaxAge", "PriorityCalcPeriod"):
        values[_snake(name)] = _seconds(words.get(name))
    if words.get("PriorityType") == MULTIFACTOR:
        values["priority_favor_small"] = _switch(words.get("PriorityFavorSmall"))
        for name in ("Age", "JobSize", "Partition", "QOS", "FairShare", "Assoc"):
            values[f"priority_weight_{_snake(name)}"] = number(words.get(f"PriorityWeight{name}"))
    values |= _select(words)
    if "PreemptType" in words:
        values["preemption"] = given(words["PreemptType"]) not in (None, "preempt/none")
    return SiteScheduler(**{name: value for name, value in values.items() if value is not None})


def _parameters(text: str) -> dict[str, Any]:
    """SchedulerParameters. bf_interval=-1 turns backfill off; a value that is not a number is the default."""
    values: dict[str, Any] = {}
    other = set()
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        name = _NOW_CALLED.get(name, name)
        if name in _FLAGS:
            values[name] = True
        elif name == "bf_interval" and value == "-1":
            values["backfill"] = False
        elif name in _NUMBERS and (found := number(value)) is not None:
            values[name] = found * _NUMBERS[name]
        elif not _HARMLESS.fullmatch(name):
            other.add(name)
    return {**values, "other": frozenset(other)}


def _select(words: Mapping[str, str]) -> dict[str, Any]:
    """Whether memory is handed out, and whether every job has whole nodes."""
    if "SelectType" not in words:
        return {}
    parameters = (given(words.get("SelectTypeParameters")) or "").upper()
    return {"memory": "MEMORY" in parameters, "whole_nodes": words["SelectType"] == "select/linear"}


def _seconds(text: str | None) -> int | None:
    """30 sec, 5 min, 00:05:00, 7-00:00:00 -> seconds; None for UNLIMITED and what is not there."""
    match = re.fullmatch(r"(\d{1,9}) *(sec|min)?", text or "", re.ASCII)
    if match:
        return int(match[1]) * (60 if match[2] == "min" else 1)
    return parse_duration(text) if text and re.fullmatch(r"[\d:-]{5,20}", text, re.ASCII) else None


def _switch(text: str | None) -> bool | None:
    return None if text is None else text.lower() in ("yes", "1", "true")


def _snake(name: str) -> str:
    """KillWait -> kill_wait; QOS -> qos; FairShare -> fairshare, one word in Slurm's own texts."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("FairShare", "Fairshare")).lower()


def settings_of(scheduler: SiteScheduler) -> dict[str, int]:
    """The settings that are known, by the names of docs/simulate-spec.md."""
    known: dict[str, int] = {}
    for one in fields(scheduler):
        value = getattr(scheduler, one.name)
        if value is None or one.name in NOT_SET:
            continue
        known[one.name] = int(value.replace(".", "")) if isinstance(value, str) else int(value)
    return known


#: What the simulator is not given as a setting.
NOT_SET: Final = (
    "memory", "whole_nodes", "preemption", "other", "priority_weight_fairshare", "priority_weight_assoc",
)  # fmt: skip
