"""How a trial switches slurmctld and asks it: reconfigure, a queue's keys, what holds now, sdiag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm import show_config
from adminkit.slurm.cluster import sdiag
from adminkit.slurm.keyvalue import all_records, given, settings
from adminkit.slurm.process import ask
from adminkit.slurm.release import Release, parse_release

#: Seconds for a reconfigure: slurmctld reads all its files, and asks every slurmd to.
_RECONFIGURE: Final = 120.0
_MAIN: Final = re.compile(r"^Main schedule statistics.*?(?=^\S)", re.MULTILINE | re.DOTALL)
_BACKFILL: Final = re.compile(r"^Backfilling stats.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_CYCLES: Final = re.compile(r"^\s*Total cycles:\s*(\d{1,15})\s*$", re.MULTILINE)
_MEAN: Final = re.compile(r"^\s*Mean cycle:\s*(\d{1,15})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Holds:
    """What slurmctld goes by now: its release, its parameters as it prints them, queues' keys."""

    release: Release
    config: Mapping[str, str]
    queues: Mapping[str, Mapping[str, str]]


def holds() -> Holds:
    """Ask slurmctld, whatever was asked before. AdminkitError when it is away."""
    show_config.forget()
    config = settings(show_config.show_config())
    records = all_records(ask(["scontrol", "-o", "show", "partition"]), "PartitionName")
    queues = {one["PartitionName"]: one for one in records}
    return Holds(parse_release(config.get("SLURM_VERSION", "")), config, queues)


def parameter(there: Holds, name: str) -> str | None:
    """A parameter as it is printed; "" for SchedulerParameters without any option; None where it is not printed."""
    text = there.config.get(name)
    return text if text is None else (given(text) or "")


def reconfigure() -> None:
    """Have slurmctld read its files again. AdminkitError with its words where it refuses."""
    try:
        ask(["scontrol", "reconfigure"], _RECONFIGURE)
    finally:
        show_config.forget()


def update_queue(queue: str, values: Mapping[str, str]) -> None:
    """Set keys of a queue, whose names and values run_time.check_queue has passed."""
    ask(["scontrol", "update", f"PartitionName={queue}", *(f"{name}={value}" for name, value in values.items())])


@dataclass(frozen=True, slots=True)
class Cycles:
    """slurmctld's cycles since its counters were set to zero: how many, and microseconds in all."""

    main: int
    main_us: int
    backfill: int
    backfill_us: int

    def since(self, before: Cycles | None) -> Cycles:
        """The cycles since `before`; all of them where the counters began again meanwhile."""
        if before is None or self.main < before.main or self.backfill < before.backfill:
            return self
        return Cycles(
            self.main - before.main,
            max(0, self.main_us - before.main_us),
            self.backfill - before.backfill,
            max(0, self.backfill_us - before.backfill_us),
        )


def cycles() -> Cycles:
    """AdminkitError when slurmctld is away."""
    return parse_cycles(sdiag())


def parse_cycles(text: str) -> Cycles:
    """`sdiag`. Its means are of whole microseconds, so a sum is exact to half a microsecond a cycle."""
    found: list[int] = []
    for part in (_MAIN.search(text), _BACKFILL.search(text)):
        block = "" if part is None else part[0]
        many, mean = _CYCLES.search(block), _MEAN.search(block)
        if many is None:
            raise AdminkitError("couldn't read the output of sdiag", "run it by hand: it should print Total cycles")
        found += [int(many[1]), int(many[1]) * int(mean[1] if mean else 0)]  # no mean: no cycle yet
    return Cycles(*found)
