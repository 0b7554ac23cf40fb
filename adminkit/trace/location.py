"""Where the trace is, and where it must not be."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from adminkit.errors import AdminkitError

SYSTEM_TRACE: Final = Path("/var/lib/adminkit/trace.db")

#: Types in /proc/self/mountinfo on which SQLite's locks or shared memory cannot be trusted.
NETWORK_TYPES: Final = (
    "nfs", "lustre", "gpfs", "beegfs", "ceph", "fuse", "cifs", "smb", "9p", "afs", "glusterfs", "orangefs", "pvfs",
)  # fmt: skip
#: FUSE file systems of one host, whose locks are that host's.
LOCAL_FUSE: Final = ("fuseblk",)

MOUNTINFO: Final = Path("/proc/self/mountinfo")


def find_trace(flag: Path | None, configured: Path | None, environ: Mapping[str, str] | None = None) -> Path:
    """Which database: --db > ADMINKIT_DB > config > SYSTEM_TRACE where readable or its folder ours > our own."""
    return find_with_reason(flag, configured, environ)[0]


def find_with_reason(
    flag: Path | None, configured: Path | None, environ: Mapping[str, str] | None = None, system: Path = SYSTEM_TRACE
) -> tuple[Path, str]:
    """The database, and in a few words why that one."""
    environ = os.environ if environ is None else environ
    if flag is not None:
        return flag, "--db"
    if environ.get("ADMINKIT_DB"):
        return Path(environ["ADMINKIT_DB"]), "ADMINKIT_DB"
    if configured is not None:
        return configured, "the config file's db"
    if os.access(system, os.R_OK):
        return system, "the system's trace, readable here"
    if _is_ours(system.parent):
        return system, f"the system's trace, to be made: {system.parent} is yours"
    return data_home(environ) / "trace.db", f"your own: {system} is not readable here"


def _is_ours(folder: Path) -> bool:
    """Whether it is the folder of the user who syncs, and that user is us."""
    try:
        return folder.stat().st_uid == os.geteuid()
    except OSError:
        return False


def data_home(environ: Mapping[str, str] | None = None) -> Path:
    """The user's own folder for adminkit's data ($XDG_DATA_HOME/adminkit)."""
    environ = os.environ if environ is None else environ
    named = environ.get("XDG_DATA_HOME")
    return (Path(named) if named else home(environ) / ".local/share") / "adminkit"


def home(environ: Mapping[str, str]) -> Path:
    """The user's home folder. AdminkitError where neither HOME nor the system's users name one."""
    try:
        return Path(environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise AdminkitError(f"uid {os.getuid()} has no home folder here", "set HOME to a folder of its own") from error


def mount_type(path: Path, mountinfo: str) -> str | None:
    """The file system type of the mount that holds `path`."""
    mount = mount_of(path, mountinfo)
    return None if mount is None else mount.kind


class Mount(NamedTuple):
    """Where something is mounted, its type, and what is mounted there."""

    point: str
    kind: str
    source: str


def mount_of(path: Path, mountinfo: str) -> Mount | None:
    """The mount that holds `path`: the longest mount point above it, the last one put there."""
    best: Mount | None = None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        parts = left.split(" ")
        if len(parts) < 5 or not right:
            continue
        point = _unescaped(parts[4])
        if path.is_relative_to(point) and (best is None or len(point) >= len(best.point)):
            kind, source, *_ = (*right.split(" "), "")
            best = Mount(point, kind, _unescaped(source))
    return best


def mount_under(path: Path) -> Mount | None:
    """The mount that holds `path`, links followed; None where it cannot be told."""
    try:
        mountinfo = MOUNTINFO.read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    return mount_of(path.absolute().resolve(), mountinfo)


def trace_mount(path: Path, mountinfo: str | None = None) -> str | None:
    """The file system type under `path`, links followed; None where it cannot be told."""
    mount = mount_under(path) if mountinfo is None else mount_of(path.absolute().resolve(), mountinfo)
    return None if mount is None else mount.kind


def is_network(kind: str) -> bool:
    """Whether this type is shared between hosts, or hides what is beneath it."""
    return kind not in LOCAL_FUSE and any(kind.split(".")[0].startswith(name) for name in NETWORK_TYPES)


def refuse_network_mount(path: Path, mountinfo: str | None = None) -> None:
    """SQLite's WAL needs shared memory and honest locks: one host, one local disk."""
    kind = trace_mount(path, mountinfo)
    if kind and is_network(kind):
        raise AdminkitError(
            f"{path} is on {kind}, where SQLite's locks cannot be trusted",
            "keep the trace on a local disk of one host (--db, ADMINKIT_DB) and read reports from there",
        )


def _unescaped(point: str) -> str:
    r"""The kernel writes blank, tab, newline and backslash in a mount point as \040, \011, \012 and \134."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), point)
