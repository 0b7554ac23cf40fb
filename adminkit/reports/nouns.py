"""Words that several reports share: a number of jobs, what rows are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.messages import Message, counted, message

#: What rows are of, by the word after --by.
PARTS: Final[Mapping[str, Message]] = {
    "queue": message("queue"),
    "user": message("user"),
    "account": message("account"),
    "class": message("class"),
    "framework": message("framework"),
    "container": message("container"),
    "job_name": message("job name"),
    "hour": message("hour of the day"),
    "weekday": message("weekday"),
    "day": message("day"),
    "week": message("week"),
    "month": message("month"),
}
#: Classes of jobs.
CLASSES: Final[Mapping[str | None, Message]] = {
    "cpu": message("cpu"),
    "single-gpu": message("single-gpu"),
    "multi-gpu": message("multi-gpu"),
    "multi-node": message("multi-node"),
    "single-core": message("single-core"),
    "multi-core": message("multi-core"),
    None: message("unknown"),
}
GPU_HOURS: Final = message("GPU-hours")
CPU_HOURS: Final = message("CPU-hours")
#: What a report without a job says first.
NONE_COUNTED: Final = message("no job is left to count; the lines above say why")
NONE_MEASURED: Final = message("no job is left to measure; the lines above say why")
NOTHING_RAN: Final = message("nothing ran in the window")


def part(name: str) -> str:
    """A word after --by as a picture has it."""
    return PARTS.get(name, name.replace("_", " "))


def jobs(number: int) -> Message:
    return counted("{number:,} job", "{number:,} jobs", number)


def runs(number: int) -> Message:
    return counted("{number:,} run", "{number:,} runs", number)


def users(number: int) -> Message:
    return counted("{number:,} user", "{number:,} users", number)


def nodes(number: int) -> Message:
    return counted("{number:,} node", "{number:,} nodes", number)


def submissions(number: int) -> Message:
    return counted("{number:,} submission", "{number:,} submissions", number)


def others(number: int) -> Message:
    """The last bar of a picture that has no room for all."""
    return message("{number:,} others", number=number)


def in_hours(number: int, unit: str) -> Message:
    """1,234 GPU-hours."""
    return message("{number:,} {unit}", number=number, unit=unit)


def hours_left_out(resource: str, number: int) -> Message:
    """The note of jobs whose size is unknown."""
    return message(
        "{column} leave out {jobs} with unknown {what}",
        column=f"{resource}_hours",
        jobs=jobs(number),
        what=f"{resource.upper()}s",
    )


def unlimited_left_out(number: int) -> Message:
    return message("accuracy leaves out {jobs}: checkpoint runs, and jobs without a finite limit", jobs=jobs(number))
