"""The staging plugin's copies on this node (docs/staging.md): which there are, and removing those that no job uses.

spank/data/cache.h has the form of the folder. Only root can look into it.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, cause
from adminkit.quote import quote

#: Where the plugin's line in plugstack.conf has no cache=, as in spank/data/site.c.
CACHE: Final = Path("/var/cache/adminkit-data")
_SHA: Final = re.compile(r"[0-9a-f]{64}")
_SIZE: Final = re.compile(r"([0-9]{1,12})([KMGT]?)")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Copy:
    """A shard on this node."""

    sha256: str
    size: int
    jobs: int  # folders of jobs that have it
    used: int  # epoch seconds of the last use that is known
    sources: int  # files that it is known to be a copy of


@dataclass(frozen=True, slots=True)
class Cache:
    """What is there. `parts`: bytes of copies that are being made."""

    path: Path
    copies: Sequence[Copy]  # the one that was used longest ago first
    parts: int
    free: int  # bytes that the file system has left

    @property
    def size(self) -> int:
        return sum(one.size for one in self.copies) + self.parts


def parse_size(text: str) -> int:
    """Bytes of 100G, as in plugstack.conf; 0 is allowed."""
    found = _SIZE.fullmatch(text)
    if not found:
        raise AdminkitError(f"{quote(text)} is not a size", "write a number with K, M, G or T, such as 100G")
    return int(found[1]) << 10 * " KMGT".index(found[2] or " ")


def look(path: Path) -> Cache:
    """The cache as it is now. AdminkitError where there is none, or it may not be read."""
    with _store(path) as store:
        return _look(path, store)


def to_trim(cache: Cache, size: int) -> list[Copy]:
    """The copies that go to bring the cache down to `size` bytes: of those that no job uses, the oldest first."""
    gone, left = [], cache.size
    for one in cache.copies:
        if left <= size:
            break
        if one.jobs == 0:
            gone.append(one)
            left -= one.size
    return gone


def trim(path: Path, size: int) -> list[Copy]:
    """Remove them. The plugin's helpers wait meanwhile, so a copy that a job is given now stays."""
    with _store(path) as store, _locked(path):
        gone = to_trim(_look(path, store), size)
        for one in gone:
            for name in (one.sha256, f"{one.sha256}.from"):
                try:
                    os.unlink(name, dir_fd=store)
                except FileNotFoundError:
                    continue
        return gone


@contextmanager
def _store(path: Path) -> Iterator[int]:
    try:
        root = os.open(path, _FOLDER)
        try:
            if (facts := os.fstat(root)).st_uid != os.geteuid() or facts.st_mode & 0o022:
                raise AdminkitError(f"{path} is not a cache of the staging plugin", "name the plugin's with --cache")
            store = os.open("store", _FOLDER, dir_fd=root)
        finally:
            os.close(root)
    except FileNotFoundError as error:
        hint = "name it with --cache as plugstack.conf does; a node makes it for the first job with --data"
        raise AdminkitError(f"no cache of the staging plugin at {path}", hint) from error
    except OSError as error:
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", "run it as root on a compute node") from error
    try:
        yield store
    finally:
        os.close(store)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _look(path: Path, store: int) -> Cache:
    copies, parts = [], 0
    for name in os.listdir(store):
        try:
            facts = os.stat(name, dir_fd=store, follow_symlinks=False)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(facts.st_mode):
            continue
        if _SHA.fullmatch(name):
            used, sources = _known(store, name, int(facts.st_mtime))
            copies.append(Copy(name, facts.st_size, facts.st_nlink - 1, used, sources))
        elif name.endswith(".part"):
            parts += facts.st_size
    disk = os.fstatvfs(store)
    return Cache(path, sorted(copies, key=lambda one: (one.used, one.sha256)), parts, disk.f_bavail * disk.f_frsize)


def _known(store: int, name: str, made: int) -> tuple[int, int]:
    """When it was used last, and how many sources of it are known."""
    try:
        handle = os.open(f"{name}.from", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=store)
    except OSError:
        return made, 0
    with os.fdopen(handle, "rb") as file:
        return int(os.fstat(handle).st_mtime), sum(1 for _ in file)
