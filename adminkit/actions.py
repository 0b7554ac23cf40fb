"""What adminkit did to Slurm on this host: one JSON line per act, only ever appended.

{"at": 1796083200, "host": "head", "who": "root", "for": "alice", "what": "policy install", "table": "policy",
 "generation": "3f2a9c01d2e4", "before": "77b1e0aa41c9", "hosts": {"head": "confirmed", "backup": "pushed"}}

`at` is in epoch seconds; `for` is who became root by sudo, absent where nobody did.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import adminkit
from adminkit.errors import AdminkitError, cause
from adminkit.files import folder_to_write, open_named, replace_file
from adminkit.owner import as_caller
from adminkit.users import shown

SYSTEM_LOG: Final = Path("/var/log/adminkit/acts.jsonl")
MODE: Final = 0o640
#: Characters of a user's name that are kept.
_LONGEST: Final = 200
#: An act has no more objects and lists within each other.
_DEEPEST: Final = 16


def act(what: str, generation: str | None, before: str | None, hosts: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """The record of an act of this process, now. `hosts` says for each what became of it there."""
    return {
        "at": int(time.time()),
        "host": socket.gethostname().partition(".")[0],
        **_who(os.environ),
        "what": what,
        "generation": generation,
        "before": before,
        "hosts": dict(hosts),
        **more,
        "release": adminkit.__version__,
    }


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add one line, whole whatever else writes there, and see it onto the disk."""
    line = _line(record)
    handle = _open(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        while not _is_at(handle, path):  # it was rewritten meanwhile
            os.close(handle)
            handle = _open(path)
            fcntl.flock(handle, fcntl.LOCK_EX)
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":  # the disk was full in the middle of the last line
            line = b"\n" + line
        if os.write(handle, line) != len(line):
            raise AdminkitError(
                f"couldn't write all of a line to {path}", "free some space; the action itself was carried out"
            )
        os.fsync(handle)
    except OSError as error:
        raise AdminkitError(f"couldn't write {path}: {cause(error)}", "the action itself was carried out") from error
    finally:
        os.close(handle)


def check(path: Path) -> None:
    """AdminkitError when an act could not be recorded: call it before the act."""
    os.close(_open(path))


def read(path: Path) -> list[dict[str, Any]]:
    """Every act, oldest first, without lines that are not one. Empty where there is no log."""
    try:
        with as_caller(), open_named(path) as file:
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", "run it as root") from error
    acts = (_act(line) for line in text.splitlines())
    return [act for act in acts if act is not None and isinstance(act.get("at"), int)]


def rewrite(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
    """Put change(act) in the place of each act; returns how many differ. Other lines stay. No log: 0.

    The log is replaced as a whole, with its group and mode, while nobody else appends.
    """
    if not path.exists():
        return 0
    handle = _open(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not _is_at(handle, path):
            raise AdminkitError(f"{path} was replaced in the meantime", "run the same command again")
        facts = os.fstat(handle)
        lines = path.read_bytes().splitlines(keepends=True)
        changed = [_changed(line, change) for line in lines]
        differ = sum(before != after for before, after in zip(lines, changed, strict=True))
        if differ:
            with folder_to_write(path.parent) as folder:
                mode = stat.S_IMODE(facts.st_mode)
                replace_file(folder, path.name, b"".join(changed), mode=mode, group=facts.st_gid)
        return differ
    finally:
        os.close(handle)


def _changed(line: bytes, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    before = _act(line)
    after = None if before is None else change(before)
    return line if after is None or after == before else _line(after)


def _act(line: str | bytes) -> dict[str, Any] | None:
    """The object of one line; None for a line that is not an act, or is nested too deeply to read."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    level = [record]
    for _ in range(_DEEPEST):
        level = [inner for one in level for inner in _within(one)]
    return record if isinstance(record, dict) and not level else None


def _within(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _line(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False, separators=(", ", ": ")) + "\n").encode("utf-8", "replace")


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, MODE)
    except OSError as error:
        raise AdminkitError(
            f"couldn't record actions in {path}: {cause(error)}",
            "run it as root, or set `acts` in adminkit.toml to another file",
        ) from error


def _who(environ: Mapping[str, str]) -> dict[str, str]:
    name = shown(os.geteuid())
    behind = environ.get("SUDO_USER", "")[:_LONGEST]
    return {"who": name, "for": behind} if behind and behind != name else {"who": name}
