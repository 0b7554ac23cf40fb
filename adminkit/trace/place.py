"""Where the trace lies, and where it must not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError

SYSTEM_TRACE: Final = Path("/var/lib/adminkit/trace.db")

#: Types in /proc/self/mountinfo on which SQLite's locks or shared memory cannot be trusted.
NETWORK_TYPES: Final = (
    "nfs", "lustre", "gpfs", "beegfs", "ceph", "fuse", "cifs", "smb", "9p", "afs", "glusterfs", "orangefs", "pvfs",
)  # fmt: skip
#: FUSE file systems of one host, whose locks are that host's.
LOCAL_FUSE: Final = ("fuseblk",)

MOUNTINFO: Final = Path("/proc/self/mountinfo")


def find_trace(flag: Path | None, configured: Path | None, environ: dict[str, str] | None = None) -> Path:
    """Which database: --db > ADMINKIT_DB > config > /var/lib/adminkit/trace.db where readable > the user's own."""
    environ = dict(os.environ) if environ is None else environ
    if flag is not None:
        return flag
    if environ.get("ADMINKIT_DB"):
        return Path(environ["ADMINKIT_DB"])
    if configured is not None:
        return configured
    if os.access(SYSTEM_TRACE, os.R_OK):
        return SYSTEM_TRACE
    return data_home(environ) / "trace.db"


def data_home(environ: dict[str, str] | None = None) -> Path:
    """The user's own folder for adminkit's data ($XDG_DATA_HOME/adminkit)."""
    environ = dict(os.environ) if environ is None else environ
    base = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".local/share")
    return Path(base) / "adminkit"


def mount_type(path: Path, mountinfo: str) -> str | None:
    """The file system type of the mount that holds `path`, by the longest mount point that is above it."""
    best, found = -1, None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        parts = left.split(" ")
        if len(parts) < 5 or not right:
            continue
        point = parts[4].encode().decode("unicode_escape")
        if path.is_relative_to(point) and len(point) >= best:
            best, found = len(point), right.split(" ", 1)[0]
    return found


def refuse_network_mount(path: Path, mountinfo: str | None = None) -> None:
    """SQLite's WAL needs shared memory and honest locks: one host, one local disk."""
    if mountinfo is None:
        try:
            mountinfo = MOUNTINFO.read_text(errors="replace")
        except OSError:
            return
    kind = mount_type(path.absolute().resolve(), mountinfo)
    if kind and kind not in LOCAL_FUSE and any(kind.split(".")[0].startswith(name) for name in NETWORK_TYPES):
        raise AdminkitError(
            f"{path} lies on {kind}, where SQLite's locks cannot be trusted",
            "keep the trace on a local disk of one host (--db, ADMINKIT_DB) and read reports from there",
        )
