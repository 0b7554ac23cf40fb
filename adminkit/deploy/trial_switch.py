"""Put one side of a trial in place, whole; or give back only what is still the trial's.

Each step may be repeated: whoever was cut off begins again at the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from adminkit.deploy import install
from adminkit.deploy.bundle import tables_only
from adminkit.deploy.files import changing, read_text
from adminkit.deploy.install import Target
from adminkit.deploy.refresh import with_operators_of
from adminkit.deploy.trial_seen import Seen, policy_in_place, same_or_odd
from adminkit.deploy.trial_sides import INCLUDED, Config, Pair, put_included, without
from adminkit.errors import AdminkitError
from adminkit.slurm import switching
from adminkit.slurm.run_time import OF_QUEUE

#: States of a queue that somebody closed.
_CLOSED: Final = ("DOWN", "DRAIN", "INACTIVE")


def put_side(one: Config, target: Target, seen: Seen) -> list[str]:
    """Have this configuration in place. What did not hold, in words; then the next round does it again.

    Where slurmctld is away, only files are put: it reads them when it starts.
    """
    notes: list[str] = []
    if (one.policy or one.tables) and (said := _tables(one, target, seen)):
        notes.append(said)
    if one.slurm:
        with changing(target.folder, target.group):
            put_included(target.folder, one.text)
    if seen.holds is None:
        return [*notes, seen.away]
    if one.slurm and not _has(one, switching.holds()):
        _reconfigure(seen)
    for queue, keys in one.queues.items():
        switching.update_queue(queue, keys)
    return notes


def give_back(pair: Pair, target: Target, seen: Seen) -> list[str]:
    """Put A's in the place of what is still B's, and touch nothing else. What did not hold, in words."""
    mine = {(part.kind, part.name) for part in seen.parts if part.whose == "b"}
    notes: list[str] = []
    names = [name for kind, name in mine if kind == "table" and name in pair.a.tables]
    policy = pair.a.policy if ("policy", "") in mine else ""
    kept = replace(pair.a, policy=policy, tables={name: pair.a.tables[name] for name in names})
    if (kept.policy or kept.tables) and (said := _tables(kept, target, seen)):
        notes.append(said)
    is_changed = False
    if pair.a.slurm:
        with changing(target.folder, target.group):
            there = read_text(target.folder / INCLUDED)
            is_changed = there is not None and put_included(target.folder, without(there, pair.b.text))
    if seen.holds is None:
        return [*notes, seen.away]
    if is_changed or any(kind == "parameter" for kind, _ in mine):
        _reconfigure(seen)
    for queue, keys in pair.a.queues.items():
        own = {key: value for key, value in keys.items() if ("queue", f"{queue} {key}") in mine}
        if own:
            switching.update_queue(queue, own)
    return notes


def _tables(one: Config, target: Target, seen: Seen) -> str:
    """Install them, all of which were rehearsed together, and have slurmctld decide by them; why that is in doubt."""
    texts: Mapping[str, str] = {**one.tables, **({"policy": _today(one.policy, target)} if one.policy else {})}
    there = target if seen.holds is not None else replace(target, inactive=seen.away)
    done = install.apply(tables_only(texts), there, f"trial {one.side}")
    return "" if done.ok else done.doubt or "another host of slurmctld does not have the same tables"


def _today(policy: str, target: Target) -> str:
    """The policy with the operators of the one in force, as far as both are adminkit's."""
    in_force = policy_in_place(target.folder)
    try:
        return policy if in_force is None else with_operators_of(policy, in_force)
    except AdminkitError:
        return policy


def _has(one: Config, holds: switching.Holds) -> bool:
    """Whether slurmctld goes by these parameters already."""
    return all(same_or_odd(name, switching.parameter(holds, name), value) for name, value in one.slurm.items())


def _reconfigure(seen: Seen) -> None:
    """A reconfigure sets queues back to slurm.conf: one that somebody closed, or whose limits they set by scontrol
    update, is put as it was.
    """
    assert seen.holds is not None
    switching.reconfigure()
    after = switching.holds().queues
    for queue, before in seen.holds.queues.items():
        keys = [*OF_QUEUE, *(["State"] if before.get("State") in _CLOSED else [])]
        own = {key: before[key] for key in keys if before.get(key, "NONE") != "NONE"}
        own = {key: value for key, value in own.items() if after.get(queue, {}).get(key) not in (None, value)}
        if own:
            switching.update_queue(queue, own)
