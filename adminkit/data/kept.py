"""What probes measured, kept by file system and day: a line of JSON each, of the user's own or of the operators'."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from adminkit.data.forecast import Level, Measured
from adminkit.files import folder_to_write, read_plain, replace_file
from adminkit.owner import as_owner
from adminkit.trace.location import home, mount_under

SYSTEM: Final = Path("/var/lib/adminkit")
NAME: Final = "probes.jsonl"
_MOST_BYTES: Final = 4 << 20
_MOST_LINES: Final = 2000


@dataclass(frozen=True, slots=True)
class Kept:
    """A probe of a day: on which file system, by which host, of which folder."""

    day: str  # 2026-01-31, in UTC
    file_system: str
    host: str
    folder: str
    measured: Measured


def file_system_of(folder: Path) -> str:
    """Its type and what is mounted, such as `nfs4 filer:/data`; its mount point where that says nothing."""
    mount = mount_under(folder)
    if mount is None:
        return "unknown"
    said = f"{mount.kind} {mount.source} {mount.point}" if "/" not in mount.source else f"{mount.kind} {mount.source}"
    return said.encode("utf-8", "backslashreplace").decode()


def place(environ: Mapping[str, str], system: Path = SYSTEM) -> Path:
    """The file: the operators' where its folder is ours or root's to write, else the user's own."""
    named = environ.get("XDG_STATE_HOME")
    if not named:
        with suppress(OSError):
            if os.geteuid() in (0, system.stat().st_uid):
                return system / NAME
    return (Path(named) if named else home(environ) / ".local/state") / "adminkit" / NAME


def keep(path: Path, probe: Kept) -> None:
    """Add a probe; one of the same day, file system, host and folder is replaced. OSErrors pass."""
    with as_owner(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        key = _key(probe)
        with folder_to_write(path.parent) as folder:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(folder, fcntl.LOCK_EX)
            lines = [_line(one) for one in read(path) if _key(one) != key]
            replace_file(folder, path.name, "".join([*lines, _line(probe)][-_MOST_LINES:]).encode())


def read(path: Path) -> list[Kept]:
    """Every probe, oldest first, without lines that are not one. Empty where there is no file."""
    try:
        with as_owner(path):
            text = read_plain(path, _MOST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    return [probe for line in text.splitlines() if (probe := _probe(line)) is not None]


def _key(probe: Kept) -> tuple[str, ...]:
    return probe.day, probe.file_system, probe.host, probe.folder


def _line(probe: Kept) -> str:
    return json.dumps(asdict(probe), separators=(",", ":")) + "\n"


def _probe(line: str) -> Kept | None:
    try:
        its: dict[str, Any] = json.loads(line)
        found: dict[str, Any] = its["measured"]
        levels = [
            Level(int(one["readers"]), float(one["files"]), int(one["size"]), float(one["seconds"]))
            for one in found["levels"]
        ]
        rates = [None if found.get(name) is None else float(found[name]) for name in ("in_order", "local", "network")]
        if not levels or any(level.seconds <= 0 for level in levels):
            return None
        words = [str(its[name]) for name in ("day", "file_system", "host", "folder")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Kept(words[0], words[1], words[2], words[3], Measured(levels, *rates))
