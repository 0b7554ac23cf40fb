"""Put one side of a trial in place, whole; or give back only what is still the trial's.

Each step may be repeated: whoever was cut off begins again at the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adminkit.deploy import install
from adminkit.deploy.bundle import tables_only
from adminkit.deploy.files import changing, read_text
from adminkit.deploy.install import Target
from adminkit.deploy.refresh import with_operators_of
from adminkit.deploy.trial_seen import Seen, policy_in_place, same_or_odd
from adminkit.deploy.trial_sides import INCLUDED, Config, Pair, put_included, without
from adminkit.deploy.trial_state import CLOSED
from adminkit.errors import AdminkitError
from adminkit.slurm import switching
from adminkit.slurm.run_time import OF_QUEUE

#: Queue -> key -> value.
Queues = Mapping[str, Mapping[str, str]]


def put_side(one: Config, target: Target, seen: Seen, before: Queues) -> list[str]:
    """Have this configuration in place. What did not hold, in words; then the next round does it again.

    Where slurmctld is away, only files are put: it reads them when it starts. `before`: as `queues_of` has it.
    """
    notes: list[str] = []
    if (one.policy or one.tables) and (said := _tables(one, target, seen)):
        notes.append(said)
    if one.slurm:
        with changing(target.folder, target.group):
            put_included(target.folder, one.text)
    if seen.holds is None:
        return [*notes, seen.away]
    if one.slurm:
        _taken(one, target)
        _set_back(before)
    for queue, keys in one.queues.items():
        switching.update_queue(queue, keys)
    return notes


def give_back(pair: Pair, target: Target, seen: Seen, before: Queues) -> list[str]:
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
        switching.reconfigure()
    if pair.a.slurm:
        _set_back(before)
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


def _taken(one: Config, target: Target) -> None:
    """Have slurmctld read these parameters, unless it goes by them.

    Trap: slurmctld does not start, and no program of Slurm works, with a line that it refuses. So a failure takes the
    lines out of the file again.
    """
    try:
        if not _has(one, switching.holds()):
            switching.reconfigure()
    except AdminkitError:
        with changing(target.folder, target.group):
            put_included(target.folder, one.harmless)
        raise


def queues_of(holds: switching.Holds | None) -> dict[str, dict[str, str]]:
    """What a reconfigure would set back to slurm.conf: queues that somebody closed, and limits of queues."""
    found = {}
    for queue, there in ({} if holds is None else holds.queues).items():
        keys = [*OF_QUEUE, *(["State"] if there.get("State") in CLOSED else [])]
        found[queue] = {key: there[key] for key in keys if there.get(key, "NONE") != "NONE"}
    return found


def _set_back(before: Queues) -> None:
    """Put queues as they were before a reconfigure."""
    after = switching.holds().queues
    for queue, keys in before.items():
        own = {key: value for key, value in keys.items() if after.get(queue, {}).get(key) not in (None, value)}
        if own:
            switching.update_queue(queue, own)
