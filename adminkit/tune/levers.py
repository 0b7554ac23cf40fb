"""The levers: what a name in the file means, how its values are written, and what the simulator is set to.

A lever has one of five families: a setting of slurm.conf, points, a queue's limits, soft limits, or more time for
running jobs. This is the one table of them; space.py makes scenarios of what is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from adminkit.errors import AdminkitError, unknown_word
from adminkit.policy.durations import seconds
from adminkit.policy.extend_settings import Extend
from adminkit.policy.soft_settings import JobClass, SoftLimits
from adminkit.quote import quote
from adminkit.tune.candidates import Value
from adminkit.units import show_duration

Family = Literal["slurm", "points", "queue", "soft_limits", "extend"]
Unit = Literal["seconds", "minutes", "microseconds", "count", "switch"]

MINUTE: Final = 60

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter of slurm.conf: the core's name for it, and the unit in which slurm.conf has it.

    The core has seconds, but for what is in microseconds in both.
    """

    core: str
    unit: Unit

    def read(self, value: Any) -> int:
        """A value of the file as the core takes it. ValueError says what is wrong."""
        if self.unit == "switch":
            if not isinstance(value, bool):
                raise ValueError("true or false belongs here")
            return int(value)
        if self.unit in ("seconds", "minutes"):
            found = seconds(value)
            if self.unit == "minutes" and found % MINUTE:
                raise ValueError("Slurm keeps it in whole minutes")
            return found
        if type(value) is not int or value < 0:
            raise ValueError("a whole number, 0 or more, belongs here")
        return value

    def typed(self, value: int) -> str:
        """A value of the core as slurm.conf has it."""
        if self.unit == "minutes":
            return str(value // MINUTE)
        return {0: "NO", 1: "YES"}.get(value, str(value)) if self.unit == "switch" else str(value)


#: Words of SchedulerParameters.
SCHEDULER: Final[Mapping[str, Setting]] = {
    "bf_window": Setting("bf_window", "minutes"),
    "bf_interval": Setting("bf_interval", "seconds"),
    "bf_resolution": Setting("bf_resolution", "seconds"),
    "bf_max_time": Setting("bf_max_time", "seconds"),
    "bf_max_job_test": Setting("bf_max_job_test", "count"),
    "bf_max_job_start": Setting("bf_max_job_start", "count"),
    "bf_max_job_user": Setting("bf_max_job_user", "count"),
    "bf_max_job_part": Setting("bf_max_job_part", "count"),
    "bf_max_job_array_resv": Setting("bf_max_job_array_resv", "count"),
    "bf_min_prio_reserve": Setting("bf_min_prio_reserve", "count"),
    "bf_min_age_reserve": Setting("bf_min_age_reserve", "seconds"),
    "bf_job_part_count_reserve": Setting("bf_job_part_count_reserve", "count"),
    "bf_yield_interval": Setting("bf_yield_interval", "count"),
    "bf_yield_sleep": Setting("bf_yield_sleep", "count"),
    "bf_window_linear": Setting("bf_window_linear", "seconds"),
    "bf_one_resv_per_job": Setting("bf_one_resv_per_job", "switch"),
    "bf_continue": Setting("bf_continue", "switch"),
    "default_queue_depth": Setting("default_queue_depth", "count"),
    "partition_job_depth": Setting("partition_job_depth", "count"),
    "sched_interval": Setting("sched_interval", "seconds"),
    "sched_min_interval": Setting("sched_min_interval", "count"),
    "batch_sched_delay": Setting("batch_sched_delay", "seconds"),
}
#: Parameters that have a line of their own.
PRIORITY: Final[Mapping[str, Setting]] = {
    "PriorityWeightAge": Setting("priority_weight_age", "count"),
    "PriorityWeightJobSize": Setting("priority_weight_job_size", "count"),
    "PriorityWeightPartition": Setting("priority_weight_partition", "count"),
    "PriorityWeightQOS": Setting("priority_weight_qos", "count"),
    "PriorityMaxAge": Setting("priority_max_age", "seconds"),
    "PriorityFavorSmall": Setting("priority_favor_small", "switch"),
}
#: Keys of the two sections of policy.toml that are levers. Without the first one of each, nobody gets any.
SOFT: Final = ("quantile", "least", "gap", "longest", "outlived", "wide")
EXTEND: Final = ("most", "step", "lead", "times")
QUEUE: Final = ("max_limit", "default_limit")
CLASSES: Final[tuple[str, ...]] = JobClass.__args__  # type: ignore[attr-defined]
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
    if head == "SchedulerParameters":
        return "slurm", (name,), _among(rest, SCHEDULER, "word of SchedulerParameters").read
    if name in PRIORITY:
        return "slurm", (name,), PRIORITY[name].read
    if head == "points":
        return "points", _points(rest), _hours
    if head == "queue":
        queue, _, key = rest.rpartition(".")
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
    if not (kind.startswith("size_") and not name and size.isascii() and size.isdigit() and 1 <= int(size) < 10**6):
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
    """A key of a section of policy.toml, as it is written there. ValueError where the section does not take it."""
    section.model_validate({key: value})
    found: Meaning = value
    return found


def shown(lever: Lever, value: Value) -> str:
    """A value in words: durations as Slurm writes them."""
    meaning = lever.meaning(value)
    if lever.family == "points":
        return f"{float(meaning):g} h"
    if lever.family == "queue" or (isinstance(value, str) and isinstance(meaning, int)):
        return show_duration(int(meaning))
    return str(value).lower() if isinstance(value, bool) else str(value)
