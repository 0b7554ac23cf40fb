"""Put tables and program where slurmctld reads them, have it load them, and see that it did.

    plan = Plan(folder, {"policy": text}, group=gid, others=("backup",))
    for change in preview(plan): …
    done = apply(plan)          # writes, reloads, asks slurmctld what it decides by, reaches the other hosts, logs

`policy install` brings the program along; `incentives install` puts its tables only. Nothing here needs the trace.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from adminkit import actions
from adminkit.deploy import hosts as others
from adminkit.deploy import program as lua
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
)
from adminkit.deploy.rehearse import check_table, rehearse
from adminkit.errors import AdminkitError
from adminkit.lua.runtime import Lua
from adminkit.policy.diff import Difference, differences
from adminkit.slurm.reload import Running, probe, touch

#: Seconds in which slurmctld should answer with the new generation. It loads at the first submission it sees.
PATIENCE: Final = 15.0

Kind = Literal["new", "changed", "same", "the site's own"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be put where. `program` brings adminkit's own Lua along."""

    folder: Path
    tables: Mapping[str, str]
    program: bool = False
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
    """What became of it. `confirmed` is False with a `doubt` where slurmctld did not answer as it should."""

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


def preview(plan: Plan) -> list[Change]:
    """What `apply` would write; AdminkitError for what it would refuse. Changes nothing."""
    found = []
    files = _checked(plan)
    for name, data in files.items():
        there = read_text(plan.folder / name)
        kind = _kind(there, there is not None and there.encode("utf-8", "surrogateescape") == data)
        if name == lua.ENTRY and lua.entry_state(plan.folder, data) in ("calls us", "foreign"):
            kind = "the site's own"
        found.append(Change(name, kind, len(data)))
    for name, text in plan.tables.items():
        path = table_path(plan.folder, name)
        there = read_text(path)
        kind = _kind(there, same_content(there, text))
        found.append(Change(str(path.relative_to(plan.folder)), kind, len(text.encode("utf-8", "surrogateescape"))))
    return found


def rule_changes(plan: Plan) -> list[Difference]:
    """What the new policy changes in the one that is in place; empty where there is none yet."""
    before, after = read_text(table_path(plan.folder, "policy")), plan.tables.get("policy")
    if after is None or not usable("policy", before, check_table):
        return []
    lua = Lua()
    old, new = (lua.out(lua.table(text.encode("utf-8", "surrogateescape"), "policy")) for text in (before or "", after))
    return differences(old, new)


def apply(plan: Plan, what: str) -> Done:
    """Put everything in place and have it used. `what` is for the log: policy install."""
    _prepare(plan)
    files = _checked(plan)
    changed = lua.put_program(plan.folder, files, plan.group)
    puts = [put_table(plan.folder, name, plan.tables[name], check_table, plan.group) for name in _order(plan.tables)]
    return _logged(plan, puts, changed, what)


def roll_back(plan: Plan, what: str) -> Done:
    """Put the previous table of each of `plan.tables` in place; the program stays. The texts are not looked at."""
    _prepare(plan)
    puts = [put_back(plan.folder, name, check_table, plan.group) for name in _order(plan.tables)]
    return _logged(plan, puts, [], what)


def confirm(
    entry: Path, wanted: Mapping[str, str | None], patience: float = PATIENCE, ask: Callable[[], Running | None] = probe
) -> tuple[Running | None, str]:
    """Have slurmctld load its script anew and answer with these generations; ("", or why it is in doubt)."""
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
    """For each table that is there: the generation of the file, of its good and its previous copy.

    "damaged" for a file that slurmctld could not use, None for one that is not there.
    """
    found: dict[str, dict[str, str | None]] = {}
    for name in TABLES:
        texts = {kind: read_text(table_path(folder, name, kind)) for kind in ("", "good", "previous")}
        if any(text is not None for text in texts.values()):
            found[name] = {kind: _generation(name, text) for kind, text in texts.items()}
    return found


def _generation(name: str, text: str | None) -> str | None:
    if text is None:
        return None
    return generation_of(text) if usable(name, text, check_table) else "damaged"


def _checked(plan: Plan) -> dict[str, bytes]:
    """The program that is brought along, empty for none. AdminkitError for what slurmctld could not use.

    First elsewhere, within bounds of time and memory, then here, where a table may do as much harm as in slurmctld.
    """
    files = lua.shipped()
    rehearse(files, plan.tables)
    for name, text in plan.tables.items():
        check_table(name, text)
    return files if plan.program else {}


def _prepare(plan: Plan) -> None:
    """Refuse what could not be done to its end before anything is done."""
    actions.check(plan.log)
    others.check_command(plan.push, "--push")


def _logged(plan: Plan, puts: list[Put], changed: list[str], what: str) -> Done:
    """Have what was put used, and log it whatever came of that."""
    here = socket.gethostname().partition(".")[0]
    try:
        done = _use(plan, puts, changed)
    except AdminkitError as error:
        _record(plan, puts, {here: f"failed: {error.message}"}, what)
        raise
    states = {here: "confirmed" if done.confirmed else f"not confirmed: {done.doubt}"}
    _record(plan, puts, {**states, **dict.fromkeys(plan.others, "by hand"), **others.as_words(done.hosts)}, what)
    return done


def _use(plan: Plan, puts: list[Put], changed: list[str]) -> Done:
    """Note what was put, take it to the other hosts, have this one load it."""
    entry, state = plan.folder / lua.ENTRY, lua.entry_state(plan.folder, _our_entry())
    foreign = () if state == "ours" else (lua.ENTRY,)
    others.write_sums(plan.folder, _written(plan, puts, state), plan.group, foreign)
    doubt = _entry_doubt(plan.folder, state)
    if not doubt:
        touch(entry)
    doubt = doubt or plan.inactive
    reached: list[others.Host] = []
    if plan.push is not None:
        parts = [plan.folder / SUBFOLDER, *([entry] if state == "ours" else [])]
        reached = [others.push(plan.push, host, plan.folder, parts) for host in plan.others]
    running = None
    if not doubt:
        running, doubt = confirm(entry, {put.name: put.generation for put in puts}, plan.patience)
    if plan.fetch is not None:
        asked = reached or [others.Host(host, False) for host in plan.others]
        reached = [others.compare(plan.fetch, host, plan.folder) for host in asked]
    left = [] if plan.push is not None else others.steps(plan.others, plan.folder, state == "ours")
    return Done(puts, changed, state, not doubt, doubt, running, reached, left)


def _written(plan: Plan, puts: Sequence[Put], state: lua.Entry) -> list[str]:
    """The files this act answers for, by their place below the folder."""
    names = [name for name in (lua.shipped() if plan.program else ()) if name != lua.ENTRY or state == "ours"]
    return names + [f"{SUBFOLDER}/{put.name}{kind}.lua" for put in puts for kind in ("", ".good")]


def _record(plan: Plan, puts: Sequence[Put], states: Mapping[str, str], what: str) -> None:
    for put in puts:
        record = actions.act(what, put.generation, put.before, states, table=put.name, folder=str(plan.folder))
        actions.append(plan.log, record)


def _entry_doubt(folder: Path, state: lua.Entry) -> str:
    if state == "foreign":
        return f"{folder / lua.ENTRY} is the site's own and does not call adminkit"
    return f"there is no {folder / lua.ENTRY}" if state == "absent" else ""


def _doubt(running: Running | None, wanted: Mapping[str, str | None]) -> str:
    """Why slurmctld does not seem to decide by what was put; "" where it does."""
    if running is None:
        return "slurmctld answers without adminkit's script: look for JobSubmitPlugins=lua and at slurmctld.log"
    for name, generation in wanted.items():
        found = getattr(running, name)
        if found != generation:
            return f"slurmctld decides by {name} {found or 'of no generation'}, not by {generation}"
    return ""


def _our_entry() -> bytes:
    return lua.shipped()[lua.ENTRY]


def _order(names: Mapping[str, str]) -> list[str]:
    return [name for name in TABLES if name in names]


def _kind(there: str | None, same: bool) -> Kind:
    return "same" if same else "new" if there is None else "changed"
