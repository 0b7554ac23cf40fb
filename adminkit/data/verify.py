"""Compares a packed data set with its index: each shard's bytes, and each file's header and bytes."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import IO, Final

from adminkit.data.index import BLOCK, Entry, Index, Shard, opened_in
from adminkit.errors import cause
from adminkit.files import NotPlain

_CHUNK: Final = 1 << 20
#: Wrong files of a shard that are named.
MOST: Final = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a shard, or with a file in it."""

    shard: str
    name: str | None
    what: str


def verify(index: Index, tick: Callable[[int, int], None]) -> list[Fault]:
    """Every fault of the data set; of a shard MOST at most. Broken for an index that is one itself.

    `tick` gets the bytes that were read, and their number.
    """
    faults: list[Fault] = []
    total, done = sum(shard.size for shard in index.head.shards), 0
    groups = groupby(index.entries(), lambda entry: entry.shard)
    for shard in index.head.shards:
        _, entries = next(groups)
        found: list[Fault] = []
        for read, fault in _shard(index, shard, entries):
            done += read
            tick(done, total)
            if fault is not None and len(found) < MOST:
                found.append(fault)
        faults += found
    for _ in groups:
        pass
    return faults


def _shard(index: Index, shard: Shard, entries: Iterator[Entry]) -> Iterator[tuple[int, Fault | None]]:
    """The bytes that were read since the last one, and a fault."""
    try:
        with opened_in(index.folder, shard.name, index.path / shard.name) as file:
            whole = hashlib.sha256()
            for entry in entries:
                read, what = _file(file, entry, whole)
                yield read, None if what is None else Fault(shard.name, entry.name, what)
            rest = file.read(_CHUNK)
            read = 0
            while rest:
                whole.update(rest)
                read += len(rest)
                rest = file.read(_CHUNK) if file.tell() <= shard.size else b""
            what = None
            if file.seek(0, 2) != shard.size:
                what = f"has {file.tell()} bytes, not {shard.size}"
            elif whole.hexdigest() != shard.sha256:
                what = "has other bytes than when it was packed"
            yield read, None if what is None else Fault(shard.name, None, what)
    except FileNotFoundError:
        yield 0, Fault(shard.name, None, "is missing")
    except (OSError, NotPlain) as error:
        why = cause(error) if isinstance(error, OSError) else error.message
        yield 0, Fault(shard.name, None, f"could not be read: {why}")


def _file(file: IO[bytes], entry: Entry, whole: hashlib._Hash) -> tuple[int, str | None]:
    """Read on to the end of that file. The bytes read, and what is wrong with it."""
    begin = file.tell()
    before = file.read(entry.offset - begin)
    whole.update(before)
    digest, left = hashlib.sha256(), entry.length
    while left:
        data = file.read(min(left, _CHUNK))
        if not data:
            break
        digest.update(data)
        whole.update(data)
        left -= len(data)
    padding = file.read(-entry.length % BLOCK)
    whole.update(padding)
    what = None
    if left:
        what = "is cut short"
    elif entry.target is None and digest.hexdigest() != entry.sha256:
        what = "has other bytes than when it was packed"
    elif not is_header(before, entry):
        what = "has a header with another name or length"
    return file.tell() - begin, what


def is_header(data: bytes, entry: Entry) -> bool:
    """Whether these bytes, up to the file's first one, are the header that a reader of tar finds for it."""
    if len(data) != BLOCK:
        return False
    try:
        info = tarfile.TarInfo.frombuf(data, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeError):
        return False
    if entry.target is not None:
        return info.issym() and (info.name, info.linkname) == (entry.name, entry.target)
    return info.isreg() and (info.name, info.size) == (entry.name, entry.length)
