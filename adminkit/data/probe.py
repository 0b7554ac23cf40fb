"""Measures how fast files are read below a folder: at random with few and many readers, in order, and on a local disk.

It opens files for reading only, and evicts them, and only them, from this node's memory. `Budget` bounds its time and
its bytes. What a server or another node has in its memory cannot be told: numbers are of now.
"""

from __future__ import annotations

import os
import random
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from adminkit.data.forecast import Level, Measured
from adminkit.errors import AdminkitError, cause
from adminkit.files import open_named

#: Readers at a time -> their share of the files that were found, as each file is read once.
READERS: Final = {1: 0.1, 4: 0.2, 16: 0.3, 64: 0.4}
#: A file that is read in order has to be this long.
LARGE: Final = 32 << 20
_CHUNK: Final = 1 << 20
#: Readers of a large file, each of a part of its own.
_IN_ORDER: Final = (1, 4)
_NAMES: Final = 200_000
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Budget:
    """What a probe may take: seconds and bytes, all parts together."""

    seconds: float = 60.0
    size: int = 2_000_000_000

    def part(self, share: float) -> Part:
        return Part(time.monotonic() + self.seconds * share, int(self.size * share))


@dataclass(slots=True)
class Part:
    """A share of the budget: until when (monotonic seconds), and the bytes that are left."""

    until: float
    left: int
    _lock: Lock = field(default_factory=Lock)

    @property
    def is_over(self) -> bool:
        return self.left <= 0 or time.monotonic() >= self.until

    def take(self, most: int) -> int:
        """How many bytes a reader may read now, `most` or fewer; 0: the part is over. Several readers share a part."""
        with self._lock:
            size = 0 if self.is_over else min(most, self.left)
            self.left -= size
            return size

    def give_back(self, size: int) -> None:
        """Bytes that were taken and that the file did not have."""
        with self._lock:
            self.left += size


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure. `large` is a file to read in order; None: the largest one that is found."""

    folder: Path
    large: Path | None = None
    local: Path | None = None  # a folder of the local disk; None: it is not measured
    budget: Budget = Budget()
    seed: int = 0
    tick: Callable[[str], None] = lambda what: None


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured, and of how many names."""

    measured: Measured
    names: int
    large: Path | None


def probe(asked: Asked) -> Found:
    """Measure. AdminkitError for a folder without files, or that cannot be read."""
    if asked.large is not None:
        with _open_large(asked.large):
            pass
    asked.tick("looking for files")
    names, large = _names(asked, asked.budget.part(0.15))
    if not names:
        raise AdminkitError(f"{asked.folder} has no files", "name the folder that has the samples")
    random.Random(asked.seed).shuffle(names)
    levels, first = [], 0
    for readers, share in READERS.items():
        asked.tick(f"{readers} reader{'s' * (readers > 1)}")
        last = first + max(1, int(share * len(names)))
        level = _at_random(iter(names[first:last]), readers, asked.budget.part(0.12))
        first = last
        if level is not None:
            levels.append(level)
    if not levels:
        raise AdminkitError(
            f"couldn't read any file below {asked.folder}", "probe as a user who may read them, or name a larger folder"
        )
    large = asked.large or large
    in_order = None
    if large is not None:
        asked.tick("a large file")
        in_order = max(_in_order(large, readers, asked.budget.part(0.09)) for readers in _IN_ORDER)
    local = None
    if asked.local is not None:
        asked.tick("the local disk")
        local = _local(asked.local, asked.budget.part(0.12))
    return Found(Measured(levels, in_order, local), len(names), large)


def _names(asked: Asked, part: Part) -> tuple[list[str], Path | None]:
    """Paths of some of the files, from folders drawn at random, and the largest one of LARGE bytes or more.

    Sizes are asked for of a few files only: where opens are slow, so is stat.
    """
    luck = random.Random(asked.seed)
    waiting, names = [asked.folder], list[str]()
    while waiting and len(names) < _NAMES and (not names or time.monotonic() < part.until):
        at = luck.randrange(len(waiting))
        waiting[at], waiting[-1] = waiting[-1], waiting[at]
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    elif entry.is_file(follow_symlinks=False):
                        names.append(entry.path)
        except OSError as error:
            if not names and not waiting:
                raise AdminkitError(f"couldn't read {asked.folder}: {cause(error)}", "name another folder") from error
    largest, size = None, LARGE - 1
    for name in luck.sample(names, min(len(names), 16)):
        with suppress(OSError):
            facts = Path(name).lstat()
            if facts.st_size > size:
                largest, size = Path(name), facts.st_size
    return names, largest


def _at_random(waiting: Iterator[str], readers: int, part: Part) -> Level | None:
    """Files of `waiting` by this number of readers, each one once; None where there are none left."""
    lock, read_files = Lock(), list[tuple[float, int]]()

    def read() -> None:
        while True:
            with lock:
                name = None if part.is_over else next(waiting, None)
            if name is None:
                return
            done = _read(name, part)
            if done is not None:
                with lock:
                    read_files.append(done)

    started = time.monotonic()
    with ThreadPoolExecutor(readers, "probe") as pool:
        for one in [pool.submit(read) for _ in range(readers)]:
            one.result()
    seconds = max(time.monotonic() - started, 1e-6)
    size = sum(size for _, size in read_files)
    return Level(readers, sum(files for files, _ in read_files), size, seconds) if size else None


def _read(name: str, part: Part) -> tuple[float, int] | None:
    """The share of a file that was read until the part was over, and its bytes; None for one that cannot be read."""
    try:
        handle = os.open(name, _FLAGS)
    except OSError:
        return None
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            return None
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        size = 0
        while size < facts.st_size and (most := part.take(_CHUNK)):
            data = os.read(handle, most)
            part.give_back(most - len(data))
            if not data:
                break
            size += len(data)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        return min(1.0, size / facts.st_size) if facts.st_size else 1.0, size
    except OSError:
        return None
    finally:
        os.close(handle)


@contextmanager
def _open_large(large: Path) -> Iterator[int]:
    """A descriptor of a file that is long enough to be read in order."""
    hint = "name another file with --large"
    try:
        with open_named(large) as file:
            if os.fstat(file.fileno()).st_size < LARGE:
                raise AdminkitError(f"{large} has fewer than {LARGE >> 20} MiB", hint)
            yield file.fileno()
    except OSError as error:
        raise AdminkitError(f"couldn't read {large}: {cause(error)}", hint) from error


def _in_order(large: Path, readers: int, part: Part) -> float:
    """Bytes per second of this number of readers, each of which reads its own part of a large file in order."""
    with _open_large(large) as handle:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        each = os.fstat(handle).st_size // readers
        most = part.left // readers
        started = time.monotonic()
        with ThreadPoolExecutor(readers, "probe") as pool:
            done = [pool.submit(_part_of, handle, at * each, min(each, most), part) for at in range(readers)]
            size = sum(one.result() for one in done)
        seconds = max(time.monotonic() - started, 1e-6)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        return size / seconds


def _part_of(handle: int, first: int, length: int, part: Part) -> int:
    """Read this number of bytes of an open file; fewer at the end of the time. Returns how many."""
    done = 0
    while done < length and time.monotonic() < part.until:
        data = os.pread(handle, min(_CHUNK, length - done), first + done)
        if not data:
            break
        done += len(data)
    return done


def _local(folder: Path, part: Part) -> float | None:
    """Bytes per second of a file that is written there, evicted and read; it has no name, so nothing stays."""
    size = min(part.left, 64 << 20)
    block = random.randbytes(_CHUNK)
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            half = time.monotonic() + (part.until - time.monotonic()) / 2
            written = 0
            while written < size and time.monotonic() < half:
                written += os.write(file.fileno(), block)
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            started = time.monotonic()
            limit = Part(started + max(part.until - started, 1.0), size)
            done = _part_of(file.fileno(), 0, written, limit)
            return done / max(time.monotonic() - started, 1e-6)
    except OSError:
        return None
