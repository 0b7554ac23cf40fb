"""Put a bundle where slurmctld reads it, have it loaded, and see that it was.

    target = site_target(controller_or_conf(), config.load())
    bundle = compile_bundle(path, …)                  # or read_bundle(folder), or tables_only({"hints": text})
    for change in preview(bundle, target): …
    done = apply(bundle, target, "policy install")    # writes, reloads, asks slurmctld what it decides by, reaches the
                                                      # other hosts, logs

Nothing here needs the trace.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from adminkit import actions
from adminkit.config import Config, chosen
from adminkit.deploy import hosts as others
from adminkit.deploy import program as lua
from adminkit.deploy.bundle import Bundle, tables_only
from adminkit.deploy.files import (
    SUBFOLDER,
    TABLES,
    Put,
    generation_of,
    put_back,
    put_table,
    read_text,
    same_content,
    table_path,
    usable,
    write_sums,
)
from adminkit.deploy.rehearse import check_table, rehearse
from adminkit.errors import AdminkitError
from adminkit.lua.runtime import Lua
from adminkit.policy.diff import Difference, differences
from adminkit.slurm.controller import Controller, inactive, site_folder
from adminkit.slurm.reload import Running, probe, touch

#: Seconds in which slurmctld should answer with the new generation. It loads at the first submission it sees.
PATIENCE: Final = 15.0

Kind = Literal["new", "changed", "same", "the site's own"]


@dataclass(frozen=True, slots=True)
class Target:
    """One folder of job_submit.lua, and how what is put there gets into use."""

    folder: Path
    cluster: str = ""
    group: int | None = None
    others: Sequence[str] = ()
    push: str | None = None
    fetch: str | None = None
    log: Path = actions.SYSTEM_LOG
    inactive: str = ""  # why slurmctld does not ask job_submit.lua, where that is known
    patience: float = PATIENCE


@dataclass(frozen=True, slots=True)
class Change:
    """One file that would be written, by its place below the folder; size in bytes."""

    file: str
    kind: Kind
    size: int


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of an install or a rollback. `confirmed` is False, with a `doubt`, where slurmctld did not answer
    with the new generations."""

    puts: Sequence[Put]
    changed: Sequence[str]
    entry: lua.Entry
    confirmed: bool
    doubt: str = ""
    running: Running | None = None
    hosts: Sequence[others.Host] = ()
    steps: Sequence[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.confirmed and others.all_alike(self.hosts)


def site_target(
    controller: Controller,
    settings: Config,
    folder: Path | None = None,
    push: str | None = None,
    fetch: str | None = None,
) -> Target:
    """The target of this site: flags before settings before what slurmctld says."""
    return Target(
        site_folder(controller, chosen(folder, settings.policy.folder)),
        controller.cluster,
        group=controller.gid,
        others=controller.others(),
        push=chosen(push, settings.policy.push),
        fetch=chosen(fetch, settings.policy.fetch),
        log=settings.acts,
        inactive="" if controller.away else inactive(controller),
    )


def preview(bundle: Bundle, target: Target) -> list[Change]:
    """What `apply` would write; AdminkitError for what it would refuse. Changes nothing."""
    _refuse_damaged(bundle)
    changes = []
    for name, data in bundle.program.items() if not bundle.program_in_place else ():
        there = read_text(target.folder / name)
        kind = _kind(there, there is not None and there.encode("utf-8", "surrogateescape") == data)
        if name == lua.ENTRY and lua.entry_state(target.folder, data) in ("calls us", "foreign"):
            kind = "the site's own"
        changes.append(Change(name, kind, len(data)))
    for name, text in bundle.tables.items():
        path = table_path(target.folder, name)
        there = read_text(path)
        size = len(text.encode("utf-8", "surrogateescape"))
        changes.append(Change(str(path.relative_to(target.folder)), _kind(there, same_content(there, text)), size))
    return changes


def rule_changes(bundle: Bundle, target: Target) -> list[Difference]:
    """What the new policy changes in the installed one; empty where no policy is installed."""
    before, after = read_text(table_path(target.folder, "policy")), bundle.tables.get("policy")
    if after is None or not usable("policy", before, check_table):
        return []
    lua = Lua()
    old, new = (lua.out(lua.table(text.encode("utf-8", "surrogateescape"), "policy")) for text in (before or "", after))
    return differences(old, new)


def apply(bundle: Bundle, target: Target, what: str) -> Done:
    """Put everything in place and have it used. `what` is for the log: policy install."""
    _prepare(target)
    _refuse_damaged(bundle)
    changed = [] if bundle.program_in_place else lua.put_program(target.folder, bundle.program, target.group)
    tables = [(name, bundle.tables[name]) for name in _order(bundle.tables)]
    puts = [put_table(target.folder, name, text, check_table, target.group) for name, text in tables]
    return _logged(bundle, target, puts, changed, what)


def roll_back(names: Iterable[str], target: Target, what: str) -> Done:
    """Put the previous table of each of these names in place; the program stays."""
    _prepare(target)
    bundle = tables_only({})  # before anything is put: a missing data file refuses, and there is nothing to log
    puts = [put_back(target.folder, name, check_table, target.group) for name in _order(names)]
    return _logged(bundle, target, puts, [], what)


def confirm(
    entry: Path, wanted: Mapping[str, str | None], patience: float = PATIENCE, ask: Callable[[], Running | None] = probe
) -> tuple[Running | None, str]:
    """Have slurmctld load its script again and answer with these generations; ("", or why it is in doubt)."""
    end, running, doubt = time.monotonic() + patience, None, ""
    while True:
        touch(entry)
        try:
            running = ask()
            doubt = _doubt(running, wanted)
        except AdminkitError as error:
            doubt = f"slurmctld was not asked: {error.message}"
        if not doubt or time.monotonic() >= end:
            return running, doubt
        time.sleep(1.0)


def installed(folder: Path) -> dict[str, dict[str, str | None]]:
    """Each table that is there, with the generation of the file, of its good and its previous copy.

    "damaged" for a file that slurmctld could not use, None for one that is not there.
    """
    tables: dict[str, dict[str, str | None]] = {}
    for name in TABLES:
        texts = {kind: read_text(table_path(folder, name, kind)) for kind in ("", "good", "previous")}
        if any(text is not None for text in texts.values()):
            tables[name] = {kind: _generation(name, text) for kind, text in texts.items()}
    return tables


def _generation(name: str, text: str | None) -> str | None:
    if text is None:
        return None
    return generation_of(text) if usable(name, text, check_table) else "damaged"


def _refuse_damaged(bundle: Bundle) -> None:
    """AdminkitError for what slurmctld could not use.

    First elsewhere, within bounds of time and memory, then here, where a table may do as much harm as in slurmctld.
    """
    rehearse(bundle.program, bundle.tables)
    for name, text in bundle.tables.items():
        check_table(name, text)


def _prepare(target: Target) -> None:
    """Refuse what could not be done to its end before anything is done."""
    actions.check(target.log)
    if target.push is not None:
        others.check_command(target.push, "--push")


def _logged(bundle: Bundle, target: Target, puts: list[Put], changed: list[str], what: str) -> Done:
    """Have what was put used, and log it whatever came of that."""
    here = socket.gethostname().partition(".")[0]
    try:
        done = _use(bundle, target, puts, changed)
    except AdminkitError as error:
        _record(target, puts, {here: f"failed: {error.message}"}, what)
        raise
    states = {here: "confirmed" if done.confirmed else f"not confirmed: {done.doubt}"}
    _record(target, puts, {**states, **dict.fromkeys(target.others, "by hand"), **others.as_words(done.hosts)}, what)
    return done


def _use(bundle: Bundle, target: Target, puts: list[Put], changed: list[str]) -> Done:
    """Note what was put, take it to the other hosts, have this one load it."""
    folder = target.folder
    entry, state = folder / lua.ENTRY, lua.entry_state(folder, bundle.program[lua.ENTRY])
    foreign = () if state == "ours" else (lua.ENTRY,)
    write_sums(folder, _written(bundle, puts, state), target.group, foreign)
    doubt = _entry_doubt(folder, state)
    if not doubt:
        touch(entry)
    doubt = doubt or target.inactive
    reached: list[others.Host] = []
    if target.push is not None:
        parts = [folder / SUBFOLDER, *([entry] if state == "ours" else [])]
        reached = [others.push(target.push, host, folder, parts) for host in target.others]
    running = None
    if not doubt:
        running, doubt = confirm(entry, {put.name: put.generation for put in puts}, target.patience)
    if target.fetch is not None:
        asked = reached or [others.Host(host, False) for host in target.others]
        reached = [others.compare(target.fetch, host, folder) for host in asked]
    by_hand = target.others and target.push is None
    left = others.steps(target.others, folder, state == "ours") if by_hand else []
    return Done(puts, changed, state, not doubt, doubt, running, reached, left)


def _written(bundle: Bundle, puts: Sequence[Put], state: lua.Entry) -> list[str]:
    """The files this act answers for, by their place below the folder."""
    program = () if bundle.program_in_place else bundle.program
    names = [name for name in program if name != lua.ENTRY or state == "ours"]
    return names + [f"{SUBFOLDER}/{put.name}{kind}.lua" for put in puts for kind in ("", ".good")]


def _record(target: Target, puts: Sequence[Put], states: Mapping[str, str], what: str) -> None:
    for put in puts:
        record = actions.act(what, put.generation, put.before, states, table=put.name, folder=str(target.folder))
        actions.append(target.log, record)


def _entry_doubt(folder: Path, state: lua.Entry) -> str:
    if state == "foreign":
        return f"{folder / lua.ENTRY} is the site's own and does not call adminkit"
    return f"there is no {folder / lua.ENTRY}" if state == "absent" else ""


def _doubt(running: Running | None, wanted: Mapping[str, str | None]) -> str:
    """Why slurmctld does not seem to decide by what was put; "" where it does."""
    if running is None:
        return "slurmctld runs without adminkit's script: check JobSubmitPlugins=lua in slurm.conf, and slurmctld.log"
    for name, generation in wanted.items():
        current = getattr(running, name)
        if current != generation:
            return f"slurmctld uses {name} {current or 'of no generation'}, not {generation}"
    return ""


def _order(names: Iterable[str]) -> list[str]:
    wanted = set(names)
    return [name for name in TABLES if name in wanted]


def _kind(there: str | None, same: bool) -> Kind:
    return "same" if same else "new" if there is None else "changed"
