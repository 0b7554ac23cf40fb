"""Packs a folder of files into USTAR shards and an index. The same files and options give the same bytes.

A shard is closed behind the sample with which it reached its size. Owner, mode and time of a file are not kept, because
a copy of the files would have others.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from adminkit.data.index import BLOCK, VERSION, Entry, Head, Shard, open_index, write_index
from adminkit.data.journal import INDEX, PART, SHARD, Journal, open_journal, refuse, shard_of
from adminkit.data.labels import Labels
from adminkit.data.names import escaped, key_of
from adminkit.data.order import Sources, find
from adminkit.data.reading import Piece, pieces, stream
from adminkit.errors import AdminkitError, cause

#: Bytes after which a shard is closed.
SHARD_BYTES: Final = 256 << 20
READERS: Final = 16
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PADDING: Final = bytes(BLOCK)

#: Called with the files that are done and their number, None while they are being counted.
Tick = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to pack. `seed` is None where the order of names is kept."""

    seed: int | None = 0
    labels: Labels = field(default_factory=Labels)
    shard_bytes: int = SHARD_BYTES
    readers: int = READERS
    tick: Tick = lambda done, total: None


@dataclass(frozen=True, slots=True)
class Packed:
    """What is in the new data set. `continued` shards were there already."""

    files: int
    size: int
    shards: int
    continued: int
    unlabelled: int
    sources: Sources


def pack(folder: Path, out: Path, wanted: Wanted) -> Packed:
    """Pack the files below `folder` into the new folder `out`, or continue a pack that was stopped there.

    AdminkitError for what cannot be packed. What is whole stays, and the same call continues behind it.
    """
    refuse(out, folder)
    if not folder.is_dir():
        raise AdminkitError(f"{folder} is not a folder", "name the folder that has the samples")
    sources = find(folder, wanted.seed, lambda found: wanted.tick(found, None))
    wanted.labels.refuse_others(sources.names())
    plan = {
        "version": VERSION,
        "seed": wanted.seed,
        "size of shards": wanted.shard_bytes,
        "labels": wanted.labels.digest,
    }
    try:
        with open_journal(out, folder, plan) as journal:
            try:
                return _pack(sources, journal, wanted)
            finally:
                journal.drop_aside()
    except OSError as error:
        if error.errno not in _FULL:
            raise AdminkitError(f"couldn't write {out}: {cause(error)}", "run the same command again") from error
        raise AdminkitError(
            f"couldn't write {out}: {cause(error)}",
            "free some space, then run the same command again: it continues with the next shard",
        ) from error


def _pack(sources: Sources, journal: Journal, wanted: Wanted) -> Packed:
    if journal.has_index():
        with open_index(journal.path) as index:
            shards = list(index.head.shards)
            if wanted.labels.digest:
                wanted.labels.unknown = sum(not entry.label for entry in index.entries() if entry.target is None)
        journal.remove(len(shards))
        return _packed(shards, len(shards), wanted, sources)
    shards = journal.finished()
    continued, first = len(shards), sum(shard.files for shard in shards)
    wanted.labels.unknown += _compare(sources, journal, shards)
    with pieces(sources, first, wanted.readers) as found:
        waiting = _Samples(found)
        while waiting.more():
            shards.append(_write_shard(len(shards), waiting, sources, journal, wanted, first))
            first += shards[-1].files
            journal.put_shard(len(shards) - 1)
    head = Head(wanted.seed or 0, "kept" if wanted.seed is None else "shuffled", shards)
    with journal.new(INDEX) as file:
        write_index(file, head, (line for number in range(len(shards)) for line in journal.lines(number)))
        _sync(file)
    journal.put_index()
    journal.remove(len(shards))
    return _packed(shards, continued, wanted, sources)


def _packed(shards: list[Shard], continued: int, wanted: Wanted, sources: Sources) -> Packed:
    files, size = sum(shard.files for shard in shards), sum(shard.size for shard in shards)
    return Packed(files, size, len(shards), continued, wanted.labels.unknown, sources)


def _compare(sources: Sources, journal: Journal, shards: list[Shard]) -> int:
    """AdminkitError where the finished shards have other files than those that would be packed into them now. Returns
    how many of their files have no class."""
    at = unlabelled = 0
    for number in range(len(shards)):
        for line in journal.lines(number):
            name = escaped(sources.name(at).decode()).encode() if at < len(sources) else b""
            if line.split(b"\t", 2)[1] != name:
                raise AdminkitError(
                    f"{sources.folder} has other files than when the pack into {journal.path} began",
                    "pack into another folder",
                )
            at += 1
            unlabelled += line.startswith(b"file\t") and not line.split(b"\t")[5]
    return unlabelled


class _Samples:
    """Pieces, with a look at the next one."""

    def __init__(self, found: Iterator[Piece]) -> None:
        self._found = found
        self._next = next(found, None)

    def more(self) -> bool:
        return self._next is not None

    def continues(self, piece: Piece) -> bool:
        """Whether the next one belongs to the sample of `piece`."""
        return self._next is not None and key_of(self._next.name) == key_of(piece.name)

    def take(self) -> Piece:
        piece = self._next
        assert piece is not None
        self._next = next(self._found, None)
        return piece


def _write_shard(
    number: int, waiting: _Samples, sources: Sources, journal: Journal, wanted: Wanted, before: int
) -> Shard:
    """Write SHARD and PART, and see them onto the disk."""
    name, files = shard_of(number), 0
    with journal.new(SHARD) as file, journal.new(PART) as part:
        shard = _Tar(file)
        while waiting.more():
            piece = waiting.take()
            part.write(_add(shard, piece, name, sources, wanted.labels).line().encode())
            files += 1
            wanted.tick(before + files, len(sources))
            if shard.size >= wanted.shard_bytes and not waiting.continues(piece):
                break
        shard.write(_PADDING * 2)
        done = Shard(name, shard.size, shard.digest.hexdigest(), files)
        part.write(f"shard\t{name}\t{done.size}\t{files}\t{done.sha256}\n".encode())
        _sync(file)
        _sync(part)
    return done


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


class _Tar:
    """The file of a shard: what was written, and its digest."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.size, self.digest = file, 0, hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self.digest.update(data)
        self.size += len(data)

    def pad(self) -> None:
        self.write(_PADDING[: -self.size % BLOCK])


def _add(shard: _Tar, piece: Piece, name: str, sources: Sources, labels: Labels) -> Entry:
    shard.write(header(piece.name, piece.length, piece.target))
    offset = shard.size
    digest = piece.sha256
    if piece.handle is None:
        shard.write(piece.data)
    else:
        hashed = hashlib.sha256()
        for block in stream(sources, piece):
            shard.write(block)
            hashed.update(block)
        digest = hashed.hexdigest()
    shard.pad()
    if piece.target is not None:
        return Entry(piece.name.decode(), name, offset, 0, "", "", piece.target.decode())
    return Entry(piece.name.decode(), name, offset, piece.length, labels.of(piece.name), digest)


def header(name: bytes, length: int, target: bytes | None = None) -> bytes:
    """The USTAR header of a file, or of a link with `target`."""
    info = tarfile.TarInfo(name.decode())
    info.size, info.mode = length, 0o644
    if target is not None:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, target.decode(), 0o777
    return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
