"""What the machine of a trial keeps beside the Trial, in trial.json: which side is in place, the lease, numbers.

It is written before each act and after it. `under_way` says that a switch was begun: until it is over, each part may be
A's or B's, and the next round completes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from adminkit import actions
from adminkit.deploy.files import put_file, read_text
from adminkit.deploy.trial import (
    INNER,
    TRIAL,
    WHAT,
    Placed,
    Side,
    Trial,
    damaged,
    table_of,
    trial_of,
    trial_table,
    whole,
)
from adminkit.deploy.trial_file import Guards
from adminkit.errors import AdminkitError
from adminkit.slurm.run_time import OF_QUEUE
from adminkit.slurm.switching import Cycles

#: Seconds for which a round that saw its side in place keeps it there.
LEASE: Final = 900
#: Seconds between two rounds, as the unit has it.
PERIOD: Final = 60
_MODE: Final = 0o640
#: It is there from the start of a trial until its end has been completed: without trial.json it says that one is lost.
LIVE: Final = f"{INNER}/live"
#: States of a queue that somebody closed.
CLOSED: Final = ("DOWN", "DRAIN", "INACTIVE")


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the guards count of one day without its carry-over. Waits in seconds; None: nobody waited."""

    since: int
    side: Side
    jobs: int = 0
    p95_wait: float | None = None
    widest_jobs: int = 0
    widest_wait: float | None = None
    cut: int = 0
    main_cycles: int = 0
    main_us: int = 0
    backfill_cycles: int = 0
    backfill_us: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """`in_place`: what was last read back whole, at `seen_at`. `measured_at`: when the guards last had all their
    numbers. `widest`: units from which a job counts as one of the widest; None where no job was seen.
    """

    digests: Mapping[str, str]
    guards: Guards
    in_place: Side = "a"
    seen_at: int = 0
    under_way: Side | None = None
    under_since: int = 0
    lease_until: int = 0
    measured_at: int = 0
    asked_at: int = 0
    widest: int | None = None
    numbers: Sequence[Numbers] = ()
    cycles: Cycles | None = None
    kept: bool = False  # ended with B in place
    own: Mapping[str, str] = field(default_factory=dict)  # what slurm.conf itself has of the parameters
    before: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # queues as they were before this switch


@dataclass(frozen=True, slots=True)
class Whole:
    """The file."""

    trial: Trial
    machine: Machine

    def with_machine(self, **changes: Any) -> Whole:
        return replace(self, machine=replace(self.machine, **changes))

    def placed(self, since: int, side: Side | str) -> Whole:
        """With what is in place from now on; nothing where that is so already."""
        before = self.trial.placed
        if before and before[-1].side == side:
            return self
        one = Placed(since, side)  # type: ignore[arg-type]
        return replace(self, trial=replace(self.trial, placed=[*before, one]))


def is_leased(machine: Machine, now: int) -> bool:
    """Whether the lease holds. One that ends later than a round could have set it was written by another clock."""
    return now < machine.lease_until <= now + LEASE


def read_whole(folder: Path) -> Whole | None:
    """None for none. AdminkitError where the file says nothing sound."""
    path = folder / TRIAL
    text = read_text(path)
    return None if text is None else parse_whole(text, path)


def parse_whole(text: str, path: Path) -> Whole:
    table = table_of(text, path)
    trial = trial_of(table, path)
    try:
        return Whole(trial, _machine(table["machine"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise damaged(path) from None


def write_whole(folder: Path, one: Whole, group: int | None) -> None:
    """AdminkitError where it cannot be written; then nothing may be done."""
    table = {**trial_table(one.trial), "machine": asdict(one.machine)}
    put_file(folder / TRIAL, json.dumps(table) + "\n", group, mode=_MODE)


def mark_live(folder: Path, group: int | None) -> None:
    """Before trial.json is written; whoever holds `changing` calls it."""
    put_file(folder / LIVE, "", group, mode=_MODE)


def record(log: Path, did: str, **more: Any) -> None:
    actions.append(log, actions.act(WHAT, None, None, {}, did=did, **more))


def _machine(table: Mapping[str, Any]) -> Machine:
    texts = {name: table[name] for name in ("digests", "own")}
    if any(type(part) is not str for one in texts.values() for pair in one.items() for part in pair):
        raise ValueError("not words")
    guards = Guards(**table["guards"])
    for limit in asdict(guards).values():
        if limit is not None and type(limit) not in (int, float):
            raise ValueError("not a limit")
    cycles = table["cycles"]
    return Machine(
        texts["digests"],
        guards,
        _side(table["in_place"]),
        whole(table["seen_at"]),
        None if table["under_way"] is None else _side(table["under_way"]),
        whole(table["under_since"]),
        whole(table["lease_until"]),
        whole(table["measured_at"]),
        whole(table["asked_at"]),
        None if table["widest"] is None else whole(table["widest"]),
        [_numbers(one) for one in table["numbers"]],
        None if cycles is None else Cycles(**{name: whole(value) for name, value in cycles.items()}),
        bool(table["kept"]),
        texts["own"],
        _queues(table["before"]),
    )


def _queues(table: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """They become words of scontrol, each of which has one key."""
    for queue, keys in table.items():
        for name, value in keys.items():
            if name not in (*OF_QUEUE, "State") or not re.fullmatch(r"[\w:.-]+", value) or not queue:
                raise ValueError("not a key of a queue")
    return table


def _numbers(table: Mapping[str, Any]) -> Numbers:
    for name, value in table.items():
        if name == "side":
            _side(value)
        elif name in ("p95_wait", "widest_wait"):
            if value is not None and type(value) not in (int, float):
                raise ValueError
        else:
            whole(value)
    return Numbers(**table)


def _side(value: Any) -> Side:
    if value not in ("a", "b"):
        raise ValueError("not a side")
    side: Side = value
    return side


def missing() -> AdminkitError:
    return AdminkitError("there is no trial", "adminkit trial plan FILE previews one")
