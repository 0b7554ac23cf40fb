"""What is installed, what slurmctld decides by, and whether they are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from adminkit.deploy import hosts as others
from adminkit.deploy.files import SUBFOLDER, TABLES, changed_since, table_path
from adminkit.deploy.install import installed
from adminkit.deploy.program import ENTRY, Entry, entry_state, shipped
from adminkit.errors import AdminkitError
from adminkit.files import read_plain
from adminkit.lua.literal import MOST_BYTES
from adminkit.slurm.controller import Controller, inactive, readable_by
from adminkit.slurm.reload import Running, probe

State = Literal["in use", "not in use", "damaged", "absent", "unknown"]
DAMAGED: Final = "damaged"


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table on this host. A generation is None for a missing table; `running` also where nobody asked slurmctld."""

    name: str
    installed: str | None
    good: str | None
    previous: str | None
    running: str | None
    written_at: int | None
    state: State


@dataclass(frozen=True, slots=True)
class Status:
    """Everything about one folder. `outdated` are files of the program that are not this adminkit's."""

    folder: Path
    entry: Entry
    tables: Sequence[TableStatus]
    outdated: Sequence[str] = ()
    changed: Sequence[str] = ()  # since they were installed, by somebody else
    unreadable: Sequence[str] = ()  # by SlurmUser
    hosts: Sequence[others.Host] = ()
    doubt: str = ""  # why slurmctld could not be asked, or does not use the script
    notes: Sequence[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every table that is installed is the one in use, on every host that was asked."""
        return (
            not self.doubt
            and all(table.state in ("in use", "absent") for table in self.tables)
            and not self.changed
            and not self.unreadable
            and others.all_alike(self.hosts)
        )


def status(controller: Controller, folder: Path, fetch: str | None = None) -> Status:
    """Look at the folder, ask slurmctld, and the other hosts where `fetch` says how."""
    files = shipped()
    entry = entry_state(folder, files[ENTRY])
    there = installed(folder)
    running, doubt = _running()
    doubt = "" if not there and running is None else inactive(controller) or doubt
    asked = [others.Host(host, False) for host in controller.others()] if fetch is not None else []
    return Status(
        folder,
        entry,
        [_table(folder, name, there.get(name, {}), running) for name in TABLES],
        [name for name, data in files.items() if _differs(folder / name, data) and (name != ENTRY or entry == "ours")]
        if there
        else [],
        changed_since(folder),
        [str(path.relative_to(folder)) for path in _read_by_slurmctld(folder) if not readable_by(path, controller)],
        [others.compare(fetch, host, folder) for host in asked] if fetch is not None else [],
        doubt,
        [f"{host} was not asked: no --fetch" for host in controller.others()] if fetch is None else [],
    )


def _running() -> tuple[Running | None, str]:
    try:
        running = probe()
    except AdminkitError as error:
        return None, f"slurmctld was not asked: {error.message}"
    return running, "" if running else "slurmctld runs without adminkit's script"


def _table(folder: Path, name: str, there: Mapping[str, str | None], running: Running | None) -> TableStatus:
    path = table_path(folder, name)
    mine = there.get("")
    used: str | None = getattr(running, name) if running else None
    written = int(path.stat().st_mtime) if path.exists() else None
    return TableStatus(
        name, mine, there.get("good"), there.get("previous"), used, written, _state(there, used, running is not None)
    )


def _state(there: Mapping[str, str | None], used: str | None, asked: bool) -> State:
    if DAMAGED in (there.get(""), there.get("good")) or (there and there.get("") is None):
        return "damaged"
    if not there:
        return "absent" if used is None else "not in use"
    if not asked:
        return "unknown"
    return "in use" if used == there[""] else "not in use"


def _read_by_slurmctld(folder: Path) -> list[Path]:
    paths = [folder / ENTRY, *sorted((folder / SUBFOLDER).glob("*.lua"))]
    return [path for path in paths if path.exists() and not path.name.endswith(".previous.lua")]


def _differs(path: Path, data: bytes) -> bool:
    try:
        return read_plain(path, MOST_BYTES, links=path.name == ENTRY) != data
    except (OSError, AdminkitError):
        return True
