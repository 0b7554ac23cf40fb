"""The levers: what a name in the file means, how its values are written, and what the simulator is set to.

A lever has one of five families: a setting of slurm.conf, points, a queue's limits, soft limits, or more time for
running jobs. This is the one table of them; space.py makes scenarios of what is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from pydantic import ValidationError

from adminkit.errors import AdminkitError, unknown_word
from adminkit.policy.durations import seconds
from adminkit.policy.extend_settings import Extend, Step
from adminkit.policy.soft_settings import SoftLimits
from adminkit.quote import quote
from adminkit.slurm.run_time import is_queue
from adminkit.tune.candidates import Value
from adminkit.units import show_duration

Family = Literal["slurm", "points", "queue", "soft_limits", "extend"]
#: In slurm.conf: seconds, minutes, a time as 1-00:00:00, a number, YES or NO (an option: to be there or not).
Unit = Literal["seconds", "minutes", "time", "count", "switch"]

MINUTE: Final = 60
_TIMES: Final = ("seconds", "minutes", "time")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter of slurm.conf: the core's name for it, the unit in which slurm.conf has it, and Slurm's own default.

    `usual`, `least` and `most` are as the core has them: seconds, but for what is in microseconds in both.
    """

    core: str
    unit: Unit
    usual: int | None = 0  # None: that of another setting
    least: int = 0
    most: int = 2**31 - 1

    def read(self, value: Any) -> int:
        """A value of the file as the core takes it. ValueError says what is wrong."""
        if self.unit == "switch":
            if not isinstance(value, bool):
                raise ValueError("true or false belongs here")
            return int(value)
        found = seconds(value) if self.unit in _TIMES else value
        if self.unit in ("minutes", "time") and found % MINUTE:
            raise ValueError("Slurm keeps it in whole minutes")
        if type(found) is not int:
            raise ValueError("a whole number belongs here")
        if not self.least <= found <= self.most:
            ends = [show_duration(end) if self.unit in _TIMES else str(end)
                    for end in (self.least, self.most)]  # fmt: skip
            raise ValueError(f"Slurm takes {ends[0]} to {ends[1]}")
        return found

    def typed(self, value: int) -> int | str:
        """A value of the core as slurm.conf has it."""
        if self.unit == "minutes":
            return value // MINUTE
        if self.unit == "time":
            return show_duration(value)
        return ("YES" if value else "NO") if self.unit == "switch" else value

    def shown(self, value: int | None) -> str:
        """A value of the core in words."""
        if value is None:
            return "Slurm's default"
        if self.unit in _TIMES:
            return show_duration(value)
        return ("true" if value else "false") if self.unit == "switch" else str(value)


def _count(core: str, usual: int, most: int, least: int = 0) -> Setting:
    return Setting(core, "count", usual, least, most)


#: Options of SchedulerParameters, with the bounds of slurm.conf(5).
SCHEDULER: Final[Mapping[str, Setting]] = {
    "bf_window": Setting("bf_window", "minutes", 86_400, MINUTE, 30 * 86_400),
    "bf_interval": Setting("bf_interval", "seconds", 30, 1, 10_800),
    "bf_resolution": Setting("bf_resolution", "seconds", 60, 1, 3600),
    "bf_max_time": Setting("bf_max_time", "seconds", None, 1, 3600),
    "bf_max_job_test": _count("bf_max_job_test", 500, 1_000_000, 1),
    "bf_max_job_start": _count("bf_max_job_start", 0, 10_000),
    "bf_max_job_user": _count("bf_max_job_user", 0, 1_000_000),
    "bf_max_job_part": _count("bf_max_job_part", 0, 1_000_000),
    "bf_max_job_array_resv": _count("bf_max_job_array_resv", 20, 1000),
    "bf_min_prio_reserve": _count("bf_min_prio_reserve", 0, 2**31 - 1),
    "bf_min_age_reserve": Setting("bf_min_age_reserve", "seconds", 0, 0, 2_592_000),
    "bf_job_part_count_reserve": _count("bf_job_part_count_reserve", 0, 100_000),
    "bf_yield_interval": _count("bf_yield_interval", 2_000_000, 10_000_000, 1),
    "bf_yield_sleep": _count("bf_yield_sleep", 500_000, 10_000_000, 1),
    "bf_one_resv_per_job": Setting("bf_one_resv_per_job", "switch"),
    "bf_continue": Setting("bf_continue", "switch"),
    "default_queue_depth": _count("default_queue_depth", 100, 1_000_000),
    "partition_job_depth": _count("partition_job_depth", 0, 1_000_000),
    "sched_interval": Setting("sched_interval", "seconds", 60, 1, 86_400),
    "sched_min_interval": _count("sched_min_interval", 2, 2**31 - 1),
    "batch_sched_delay": Setting("batch_sched_delay", "seconds", 3, 0, 86_400),
}
#: Parameters that have a line of their own.
PRIORITY: Final[Mapping[str, Setting]] = {
    "PriorityWeightAge": _count("priority_weight_age", 0, 2**31 - 1),
    "PriorityWeightJobSize": _count("priority_weight_job_size", 0, 2**31 - 1),
    "PriorityWeightPartition": _count("priority_weight_partition", 0, 2**31 - 1),
    "PriorityWeightQOS": _count("priority_weight_qos", 0, 2**31 - 1),
    "PriorityMaxAge": Setting("priority_max_age", "time", 7 * 86_400, MINUTE),
    "PriorityFavorSmall": Setting("priority_favor_small", "switch"),
}
#: What slurm.conf has and the model lacks, and why.
LACKS: Final[Mapping[str, str]] = {
    "PriorityWeightFairshare": "shares of accounts",
    "PriorityWeightFairShare": "shares of accounts",
    "PriorityWeightAssoc": "priorities of associations",
    "PriorityWeightTRES": "weights of single resources",
    "PriorityDecayHalfLife": "shares of accounts",
    "PreemptType": "preemption",
    "PreemptMode": "preemption",
    "SchedulerParameters.bf_max_job_assoc": "limits by association",
    "SchedulerParameters.bf_max_job_user_part": "limits by user and queue together",
    "SchedulerParameters.bf_busy_nodes": "a choice among nodes that are free",
    "SchedulerParameters.pack_serial_at_end": "a choice among nodes that are free",
    "SchedulerParameters.bf_running_job_reserve": "reservations of running jobs",
    "SchedulerParameters.max_sched_time": "the time of a pass of the main loop",
    "SchedulerParameters.time_min_as_soft_limit": "other jobs than those of soft_limits.quantile",
}
#: Keys of the two sections of policy.toml that are levers. Without the first one of each, nobody gets any.
SOFT: Final = ("quantile", "least", "gap", "longest", "outlived", "wide")
EXTEND: Final = ("most", "step", "lead", "times")
QUEUE: Final = ("max_limit", "default_limit")
#: Those that [incentives] can give points to.
CLASSES: Final = ("multi-gpu", "multi-node")
#: A lever's value in the words of its family: what the core is set to, points in hours, limits in seconds.
Meaning = int | float | str


@dataclass(frozen=True, slots=True)
class Lever:
    """One lever. `family` and `place` say what it is about; `meanings` belong to `values`, one each."""

    name: str
    values: tuple[Value, ...]
    family: Family
    place: tuple[str, ...]
    meanings: tuple[Meaning, ...]

    def meaning(self, value: Value) -> Meaning:
        """What a value stands for."""
        return self.meanings[self.values.index(value)]

    def only(self, keep: Callable[[Meaning], bool]) -> Lever:
        """The same with the values whose meaning is kept."""
        pairs = [pair for pair in zip(self.values, self.meanings, strict=True) if keep(pair[1])]
        return Lever(self.name, tuple(v for v, _ in pairs), self.family, self.place, tuple(m for _, m in pairs))


def lever_of(name: str, values: Sequence[Value]) -> Lever:
    """The lever of this name. ValueError for a value, AdminkitError for a name that there is not."""
    family, place, read = _family(name)
    return Lever(name, tuple(values), family, place, tuple(read(value) for value in values))


def _family(name: str) -> tuple[Family, tuple[str, ...], Callable[[Any], Meaning]]:
    head, _, rest = name.partition(".")
    if name in LACKS:
        raise AdminkitError(f"{name}: the model does not have {LACKS[name]}", "docs/simulate-slurm.md says what it has")
    if head == "SchedulerParameters":
        return "slurm", (name,), _among(rest, SCHEDULER, "option of SchedulerParameters").read
    if name in PRIORITY:
        return "slurm", (name,), PRIORITY[name].read
    if head == "points":
        return "points", _points(rest), _hours
    if head == "queue":
        queue, _, key = rest.rpartition(".")
        if not queue:
            raise AdminkitError("it names no queue", "write queue.NAME.max_limit or queue.NAME.default_limit")
        if not is_queue(queue):  # it becomes a line of slurm.conf, and a command
            raise AdminkitError(f"not the name of a queue: {quote(queue)}", "scontrol show partition lists them")
        _among(key, {one: one for one in QUEUE}, "limit of a queue")
        return "queue", (queue, key), _limit
    if head == "soft_limits":
        key = _among(rest, {one: one for one in SOFT}, "key of [soft_limits]")
        return "soft_limits", (key,), lambda value: _key(SoftLimits, key, value)
    if head == "extend":
        key = _among(rest, {one: one for one in EXTEND}, "key of [extend]")
        return "extend", (key,), lambda value: _key(Extend, key, value)
    known = ["SchedulerParameters.bf_window", *PRIORITY, "points.size_2", "queue.NAME.max_limit"]
    raise unknown_word(
        "lever", name, [*known, *(f"soft_limits.{one}" for one in SOFT), *(f"extend.{e}" for e in EXTEND)]
    )


def _among(word: str, known: Mapping[str, T], what: str) -> T:
    if word not in known:
        raise unknown_word(what, word, known)
    return known[word]


def _points(rest: str) -> tuple[str, ...]:
    """size_9 -> ("size", "9"); class.multi-node -> ("class", "multi-node")."""
    kind, _, name = rest.partition(".")
    if kind == "class":
        return "class", _among(name, {one: one for one in CLASSES}, "class of jobs")
    size = kind.removeprefix("size_")
    if not (kind.startswith("size_") and not name and size.isascii() and size.isdigit() and 2 <= int(size) <= 100_000):
        raise AdminkitError(
            f"{quote(f'points.{rest}')} says neither a size nor a class",
            "write points.size_9 for jobs of 9 GPUs or more, or points.class.multi-node",
        )
    return "size", str(int(size))


def _hours(value: Any) -> float:
    found = seconds(value) / 3600
    if found > 10_000:
        raise ValueError("no more than 10,000 hours of age")
    return found


def _limit(value: Any) -> int:
    found = seconds(value)
    if found <= 0 or found % MINUTE:
        raise ValueError("a limit is one minute or more, in whole minutes, as Slurm keeps it")
    return found


def _key(section: type[SoftLimits] | type[Extend], key: str, value: Any) -> Meaning:
    """A key of a section of policy.toml, by that section's own rules. ValueError says what is wrong."""
    try:
        found: Any = getattr(section.model_validate({key: value}), key)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ").removeprefix("Input ")) from None
    if isinstance(found, Step):
        return str(value)  # as the scenario has it, too
    return float(found) if key == "most" else int(found)


def shown(lever: Lever, value: Value) -> str:
    """A value in words: durations as Slurm writes them."""
    meaning = lever.meaning(value)
    if lever.family == "points":
        return f"{float(meaning):g} h"
    if lever.family == "slurm":
        return setting_of(lever.place[0]).shown(int(meaning))
    if lever.family == "queue" or (isinstance(value, str) and isinstance(meaning, int)):
        return show_duration(int(meaning))
    return str(value)


def setting_of(name: str) -> Setting:
    """The parameter of slurm.conf that a lever of this name sets."""
    head, _, rest = name.partition(".")
    return SCHEDULER[rest] if head == "SchedulerParameters" else PRIORITY[name]
