"""What a running slurmctld takes without a restart: parameters of slurm.conf by `scontrol reconfigure`, and keys of a
queue by `scontrol update`. Each with the form of its value, and the first release that has it.

A trial switches these and nothing else. What slurm.conf(5) says needs a restart is refused with that reason; what is in
neither table has not been tried. Trap: slurmctld keeps an option of SchedulerParameters that it does not know, prints
it back and ignores it; so the release decides, not what it prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from adminkit.errors import AdminkitError, UsageError, unknown_word
from adminkit.quote import quote
from adminkit.slurm.keyvalue import options
from adminkit.slurm.release import Release, show_release
from adminkit.units import parse_duration

#: number; minutes: a time of Slurm's, where a bare number is minutes; seconds: a number of seconds; switch: YES or NO;
#: flag: an option that stands by itself.
Form = Literal["number", "minutes", "seconds", "switch", "flag"]

SCHEDULER: Final = "SchedulerParameters"
#: Parameters of slurm.conf.
PARAMETERS: Final[Mapping[str, Form]] = {
    "PriorityWeightAge": "number",
    "PriorityWeightAssoc": "number",
    "PriorityWeightFairShare": "number",
    "PriorityWeightJobSize": "number",
    "PriorityWeightPartition": "number",
    "PriorityWeightQOS": "number",
    "PriorityMaxAge": "minutes",
    "PriorityDecayHalfLife": "minutes",
    "PriorityFavorSmall": "switch",
    "KillWait": "seconds",
    "CompleteWait": "seconds",
    "OverTimeLimit": "number",
}
#: The form of each option of SchedulerParameters, and the first release that knows it; 22.05 is the oldest supported.
_OLDEST: Final[Release] = (22, 5, 0)
OPTIONS: Final[Mapping[str, tuple[Form, Release]]] = {
    **dict.fromkeys(
        (
            "batch_sched_delay", "bf_interval", "bf_job_part_count_reserve", "bf_max_job_array_resv",
            "bf_max_job_assoc", "bf_max_job_part", "bf_max_job_start", "bf_max_job_test", "bf_max_job_user",
            "bf_max_job_user_part", "bf_max_time", "bf_min_age_reserve", "bf_min_prio_reserve", "bf_resolution",
            "bf_window", "bf_window_linear", "bf_yield_interval", "bf_yield_sleep", "default_queue_depth",
            "max_sched_time", "partition_job_depth", "sched_interval", "sched_max_job_start", "sched_min_interval",
        ),
        ("number", _OLDEST),
    ),
    **dict.fromkeys(
        ("assoc_limit_stop", "bf_busy_nodes", "bf_continue", "bf_one_resv_per_job", "bf_running_job_reserve",
         "pack_serial_at_end", "reduce_completing_frag"),
        ("flag", _OLDEST),
    ),
    "time_min_as_soft_limit": ("flag", (23, 11, 0)),
}  # fmt: skip
#: The largest value where slurmctld keeps 16 bits. Trap: with a larger one in slurm.conf, slurmctld does not start and
#: every other program of Slurm ends with an error.
_MOST: Final = dict.fromkeys(("KillWait", "CompleteWait", "OverTimeLimit", "PriorityJobFactor"), 65_533)
_USUAL_MOST: Final = 2**32 - 3
#: The longest time, seconds: Slurm counts in 32 bits, and refuses slurm.conf where they overflow.
_LONGEST: Final = 24_855 * 86_400
#: Keys of a queue, by scontrol update.
OF_QUEUE: Final[Mapping[str, Form]] = {"MaxTime": "minutes", "DefaultTime": "minutes", "PriorityJobFactor": "number"}
#: By slurm.conf(5) slurmctld takes these at its start only.
RESTART: Final = frozenset(
    {
        "AccountingStorageEnforce", "AuthType", "CredType", "GresTypes", "JobContainerType", "MaxJobCount",
        "MaxNodeCount", "PluginDir", "PowerPlugin", "PriorityType", "ProctrackType", "SchedulerType", "SelectType",
        "SelectTypeParameters", "SlurmctldHost", "SlurmctldPort", "SlurmdPort", "SwitchType", "no_backup_scheduling",
        "StateSaveLocation", "SlurmUser", "JobSubmitPlugins", "TaskPlugin", "TopologyPlugin",
    }
)  # fmt: skip
_NUMBER: Final = re.compile(r"\d{1,10}", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_OPTIONS: Final = re.compile(r"[A-Za-z0-9_=,.:+/\[\]-]*", re.ASCII)
UNLIMITED: Final = "UNLIMITED"
_ENDLESS: Final = ("UNLIMITED", "INFINITE", "NONE", "NOT_SET")


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to set, checked: `value` as slurm.conf or scontrol takes it."""

    name: str
    value: str


def check_parameter(name: str, value: object) -> Line:
    """A parameter of slurm.conf but SchedulerParameters. AdminkitError where a reconfigure does not take it."""
    return _line(name, value, _form(name, PARAMETERS, "parameter"))


def check_option(name: str, value: object, release: Release) -> Line:
    """An option of SchedulerParameters; a flag has the value True, or False to be without it ("")."""
    form, since = OPTIONS.get(name, ("number", _OLDEST))
    _form(name, {one: form for one, (form, _) in OPTIONS.items()}, "option of SchedulerParameters")
    if release < since:
        raise AdminkitError(
            f"{name} is an option of Slurm {show_release(since)} and later; slurmctld is {show_release(release)}",
            "leave it out: slurmctld would print the option and ignore it",
        )
    return _line(name, value, form)


def check_scheduler(value: str) -> str:
    """SchedulerParameters as a whole. AdminkitError for what would end its line or its value."""
    if not _OPTIONS.fullmatch(value):
        raise AdminkitError(
            f"{SCHEDULER} has a character that no trial can put in place: {quote(value)}",
            "set it in slurm.conf without quotes, blanks and comments",
        )
    return value


def check_queue(queue: str, name: str, value: object) -> Line:
    """A key of a queue."""
    if not is_queue(queue):
        raise AdminkitError(f"not the name of a queue: {quote(queue)}", "scontrol show partition lists them")
    return _line(name, value, _form(name, OF_QUEUE, "key of a queue"))


def is_queue(name: str) -> bool:
    """Whether a queue may have this name in slurm.conf, in a command and in a comment."""
    return _NAME.fullmatch(name) is not None


def same(name: str, one: str | None, other: str | None) -> bool:
    """Whether two texts of a parameter or a key mean the same: 7-0 and 7-00:00:00, 30 and 30 sec."""
    form = PARAMETERS.get(name) or OF_QUEUE.get(name)
    if one is None or other is None:
        return one is other
    if name == SCHEDULER:
        return options(one) == options(other)
    return form is not None and plain(one, form) == plain(other, form)


def plain(text: str, form: Form) -> str:
    """The value without the ways to write it: seconds for a time."""
    word = text.strip()
    if form == "switch":
        return "YES" if word.lower() in ("yes", "1", "true", "on") else "NO"
    if word.upper() in _ENDLESS:
        return UNLIMITED
    if form == "minutes":
        return str(int(word) * 60 if _NUMBER.fullmatch(word) else parse_duration(word))
    if form == "number" and word.endswith(" min"):  # OverTimeLimit
        return word.removesuffix(" min")
    return word.removesuffix(" sec")


def merged(parameters: str | None, changes: Mapping[str, str | None]) -> str:
    """SchedulerParameters with these options in the place of those that are there; None takes one out, "" is a flag.

    Options that are not named stay as they are, in their order. Trap: Slurm takes the first of a name.
    """
    kept = {name: value for name, value in options(parameters).items() if name}
    for name, value in changes.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = value
    return ",".join(f"{name}={value}" if value else name for name, value in kept.items())


def _form(name: str, known: Mapping[str, Form], what: str) -> Form:
    if name in known:
        return known[name]
    if name in RESTART:
        raise AdminkitError(
            f"slurmctld takes {name} at its start only, so no trial can switch it",
            "change it by hand, and compare adminkit report wait before and after",
        )
    near = unknown_word(f"{what} that a running slurmctld takes", name, known)
    raise AdminkitError(near.message, near.hint)


def _line(name: str, value: object, form: Form) -> Line:
    """Only what its form allows gets through: no blank, comma, quote or line end."""
    text = str(value).strip() if isinstance(value, (int, str)) else ""
    if form == "flag":
        if isinstance(value, bool):
            return Line(name, "yes" if value else "")
    elif form == "switch":
        if isinstance(value, bool) or text.upper() in ("YES", "NO"):
            return Line(name, "YES" if value is True or text.upper() == "YES" else "NO")
    elif isinstance(value, bool):
        pass
    elif form in ("number", "seconds"):
        if _NUMBER.fullmatch(text) and int(text) <= _MOST.get(name, _USUAL_MOST):
            return Line(name, str(int(text)))
    elif text.upper() == UNLIMITED:
        return Line(name, UNLIMITED)
    elif (seconds := _time(text)) is not None and seconds <= _LONGEST:
        if name == "PriorityDecayHalfLife" and seconds == 0:
            raise AdminkitError(
                "PriorityDecayHalfLife: with 0, slurmctld does not start without PriorityUsageResetPeriod",
                "no trial can switch it off; give it a time",
            )
        return Line(name, text)
    whole = f"a whole number up to {_MOST.get(name, _USUAL_MOST)}"
    wanted = {"flag": "true or false", "switch": '"YES" or "NO"'}
    wanted["minutes"] = f'a time up to {_LONGEST // 86_400} days as in slurm.conf: "1-00:00:00"'
    raise AdminkitError(f"{name}: {quote(str(value))} is not {wanted.get(form, whole)}", "as slurm.conf has it")


def _time(text: str) -> int | None:
    """Seconds; None for a text that is not a time of slurm.conf, where a bare number is minutes."""
    if not re.fullmatch(r"[0-9:-]{1,20}", text, re.ASCII):
        return None
    try:
        return parse_duration(text) * (60 if _NUMBER.fullmatch(text) else 1)
    except UsageError:
        return None
