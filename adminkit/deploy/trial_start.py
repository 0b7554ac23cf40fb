"""Begin a trial: both configurations are compiled, rehearsed and checked against what is in place, then written down.

Nothing of slurmctld's changes: A is what is in place. What a trial could not switch, or not switch back, is refused.
"""

from __future__ import annotations

import shlex
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from adminkit import actions
from adminkit.deploy.bundle import compile_bundle
from adminkit.deploy.extend_state import alone_here
from adminkit.deploy.files import SUBFOLDER, changing, read_text, table_path
from adminkit.deploy.install import Target
from adminkit.deploy.planning import refuse_unsafe, turns_on
from adminkit.deploy.program import shipped
from adminkit.deploy.refresh import rules_digest
from adminkit.deploy.rehearse import rehearse
from adminkit.deploy.trial import TRIAL, Placed, Trial, trial_table
from adminkit.deploy.trial_file import Plan, refuse_foreign
from adminkit.deploy.trial_guards import lowered_by
from adminkit.deploy.trial_round import LOCK
from adminkit.deploy.trial_seen import policy_in_place, same_or_odd
from adminkit.deploy.trial_sides import HEAD, INCLUDED, Config, Pair, config, put_included, write_pair
from adminkit.deploy.trial_state import LEASE, LIVE, Machine, Numbers, Whole, mark_live, read_whole, record, write_whole
from adminkit.deploy.trial_tables import both_tables, how, refuse_old_tables, tables_of
from adminkit.errors import AdminkitError
from adminkit.gres import GpuSettings
from adminkit.lua.runtime import Lua
from adminkit.policy.diff import differences
from adminkit.slurm import switching
from adminkit.slurm.conf_lines import conf_lines, place_of_include
from adminkit.slurm.controller import Controller
from adminkit.slurm.run_time import SCHEDULER, check_scheduler, merged, plain
from adminkit.slurm.switching import Holds

_NOT_A: Final = "A must be what is in place"


@dataclass(frozen=True, slots=True)
class Prepared:
    """Both sides, what slurm.conf itself has of their parameters, what B changes in words, and what to know of it."""

    pair: Pair
    own: Mapping[str, str]
    lines: tuple[str, ...]
    notes: tuple[str, ...]


def prepare(plan: Plan, controller: Controller, folder: Path, now: int, gpus: GpuSettings | None = None) -> Prepared:
    """AdminkitError for whatever speaks against this trial. Changes nothing."""
    for path in (plan.path, plan.a, plan.b, *tables_of(plan)):
        if path is not None:
            refuse_foreign(path)
    refuse_second(folder, now)
    holds = switching.holds()
    refuse_old_tables(plan)
    policy_a, policy_b, notes = _policies(plan, controller, folder, now, gpus)
    tables_a, tables_b = both_tables(plan, folder, turns_on(policy_a))
    slurm_a, slurm_b, own = _slurm(plan, holds, controller, folder)
    queues_a, queues_b = _queues(plan, holds)
    a = config("a", policy_a, slurm_a, queues_a, tables_a)
    b = config("b", policy_b, slurm_b, queues_b, tables_b)
    lines = tuple(_lines(a, b))
    if not lines:
        raise AdminkitError(f"{plan.path}: B is what is in place: there is nothing to compare", "docs/trial.md")
    if turns_on(policy_b) and "soft_limits" not in tables_b and read_text(table_path(folder, "soft_limits")) is None:
        raise AdminkitError("B gives soft limits, and there is no table of what jobs need", how(plan))
    for one in (a, b):
        rehearse(shipped(), {**one.tables, **({"policy": one.policy} if one.policy else {})})
    return Prepared(Pair(a, b), own, lines, (*notes, *_waiting(a, b)))


def begin(
    prepared: Prepared,
    plan: Plan,
    trial: Trial,
    target: Target,
    baseline: Sequence[Numbers] = (),
    widest: int | None = None,
) -> None:
    """Write the trial down; the next round acts on it."""
    actions.check(target.log)
    folder, now, pair = target.folder, trial.made_at, prepared.pair
    with changing(folder, target.group):  # makes the folder
        pass
    with alone_here(folder, LOCK), changing(folder, target.group):
        refuse_second(folder, now)
        write_pair(folder, pair, target.group)
        if pair.a.slurm:
            put_included(folder, pair.a.text)
        trial = replace(trial, lines=prepared.lines, placed=[Placed(now, "a")])
        machine = Machine(
            {one.side: one.digest for one in (pair.a, pair.b)},
            plan.guards,
            seen_at=now,
            lease_until=now + LEASE,
            measured_at=now,
            widest=widest,
            numbers=list(baseline),
            own=prepared.own,
        )
        record(target.log, "trial begun", **trial_table(trial))
        mark_live(folder, target.group)
        write_whole(folder, Whole(trial, machine), target.group)


def refuse_second(folder: Path, now: int) -> None:
    """AdminkitError where a trial is running, or what it put in place is not whole yet."""
    there = read_whole(folder)
    if there is None and (folder / LIVE).exists():
        raise AdminkitError(
            f"{folder / TRIAL} is gone, and B may be in place", "adminkit trial run --apply puts A back"
        )
    if there is not None and (there.trial.under_way(now) or there.trial.ended is None or there.machine.under_way):
        raise AdminkitError("another trial is running", "adminkit trial stop --apply ends it and puts A back")


def _policies(
    plan: Plan, controller: Controller, folder: Path, now: int, gpus: GpuSettings | None
) -> tuple[str, str, list[str]]:
    """The texts of A and B; A's byte for byte what is in place."""
    there = policy_in_place(folder)
    if plan.a is not None:
        compiled = compile_bundle(plan.a, controller, now, gpus).tables["policy"]
        if there is None or rules_digest(compiled) != rules_digest(there):
            raise AdminkitError(
                f"{_NOT_A}: the policy in force is not {plan.a}",
                "adminkit policy diff shows how they differ; adminkit policy install --apply puts it in place",
            )
    if plan.b is None:
        return there or "", there or "", []
    if there is None:
        raise AdminkitError(
            f"{_NOT_A}: there is no policy in {folder / SUBFOLDER} to go back to", "adminkit policy install --apply"
        )
    bundle = compile_bundle(plan.b, controller, now, gpus)
    text = bundle.tables["policy"]
    return there, text, [*bundle.notes, *refuse_unsafe(text, now)]


def _slurm(
    plan: Plan, holds: Holds, controller: Controller, folder: Path
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Parameters as they are and as B has them, those that differ; and what slurm.conf itself says of them."""
    wanted = dict(plan.slurm)
    if plan.options:
        wanted[SCHEDULER] = check_scheduler(merged(switching.parameter(holds, SCHEDULER), plan.options))
    there = {name: switching.parameter(holds, name) for name in wanted}
    absent = [name for name, value in there.items() if value is None]
    if absent:
        raise AdminkitError(f"this slurmctld has no {absent[0]}", "scontrol show config lists what it has")
    now = {name: value or "" for name, value in there.items() if not same_or_odd(name, value, wanted[name])}
    wanted = {name: wanted[name] for name in now}
    if not now:
        return {}, {}, {}
    conf = folder / "slurm.conf"
    if controller.conf is None or controller.conf.parent != folder:
        raise AdminkitError(f"slurmctld's slurm.conf is {controller.conf}, not in {folder}", "leave out --folder")
    _refuse_include(conf, folder, list(now))
    return now, wanted, conf_lines(conf, now, INCLUDED)


def _refuse_include(conf: Path, folder: Path, names: Sequence[str]) -> None:
    """AdminkitError where the included file would not count, or counts already."""
    place = folder / INCLUDED
    text = read_text(place)
    why = place_of_include(conf, INCLUDED, names) if text is not None else f"there is no {place}"
    if why:
        raise AdminkitError(
            why,
            f"on every host that has slurm.conf: echo '{HEAD.strip()}' >{shlex.quote(str(place))}; then add as the last"
            f" line of slurm.conf: Include {INCLUDED}",
        )
    facts, own = place.stat(), conf.stat()
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or facts.st_uid not in (0, own.st_uid):
        raise AdminkitError(
            f"others than root may write {place}, and so have slurmctld run their programs as root",
            f"chown --reference={conf} {place}; chmod 644 {place}",
        )
    if not facts.st_mode & stat.S_IROTH:
        raise AdminkitError(f"not everybody may read {place}, so Slurm's programs would fail", f"chmod 644 {place}")
    if any(line.strip() and not line.lstrip().startswith("#") for line in (text or "").splitlines()):
        raise AdminkitError(f"{place} has lines already", "move them into slurm.conf; then start again")


def _queues(plan: Plan, holds: Holds) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    a: dict[str, dict[str, str]] = {}
    b: dict[str, dict[str, str]] = {}
    for queue, keys in plan.queues.items():
        record = holds.queues.get(queue)
        if record is None:
            raise AdminkitError(f"there is no queue {queue}", f"known: {', '.join(sorted(holds.queues))}")
        for key, value in keys.items():
            there = record.get(key)
            if there is None:
                raise AdminkitError(f"slurmctld does not report {key} of queue {queue}", "scontrol show partition")
            if key == "DefaultTime" and there == "NONE" and record.get("MaxTime") != "UNLIMITED":
                raise AdminkitError(
                    f"queue {queue} has no DefaultTime, and a running slurmctld cannot be told to have none again",
                    f"set it in slurm.conf to what it means now: DefaultTime={record.get('MaxTime')}",
                )
            there = "UNLIMITED" if there == "NONE" else there
            if not same_or_odd(key, there, value):
                a.setdefault(queue, {})[key] = there
                b.setdefault(queue, {})[key] = value
        _refuse_default(queue, {**record, **b.get(queue, {})})
    return a, b


def _waiting(a: Config, b: Config) -> list[str]:
    """Trap: Slurm starts no job whose limit exceeds its queue's maximum, also one that was submitted before."""
    return [
        f"queue {queue}: a job that asks for more than B's MaxTime waits while B is in place, and its wait counts for"
        " the day on which it was submitted: A's days may look worse than they are"
        for queue in lowered_by(Pair(a, b))
    ]


def _refuse_default(queue: str, keys: Mapping[str, str]) -> None:
    """AdminkitError where a job that asks for no limit would get one that its queue does not allow, and wait."""
    default, most = (keys.get(name, "NONE") for name in ("DefaultTime", "MaxTime"))
    if "NONE" in (default, most) or most == "UNLIMITED":
        return
    if default == "UNLIMITED" or int(plain(default, "minutes")) > int(plain(most, "minutes")):
        raise AdminkitError(
            f"queue {queue}: B's DefaultTime {default} exceeds its MaxTime {most}: jobs without a limit would wait",
            f"add a DefaultTime to [b.queues.{queue}]",
        )


def _lines(a: Config, b: Config) -> list[str]:
    """What B changes, a sentence each."""
    lines = []
    if a.rules != b.rules:
        lua = Lua()
        old, new = (lua.out(lua.table(one.policy.encode("utf-8", "surrogateescape"), "policy")) for one in (a, b))
        lines += [f"policy: {one.place}: {one.change}" for one in differences(old, new)][:50] or ["policy: changed"]
    lines += [f"tables: {name} is replaced" for name, text in b.tables.items() if a.tables.get(name) != text]
    lines += [f"{name}: {a.slurm[name] or 'nothing'} becomes {value}" for name, value in b.slurm.items()]
    for queue, keys in b.queues.items():
        lines += [f"queue {queue}: {key}: {a.queues[queue][key]} becomes {value}" for key, value in keys.items()]
    return lines
