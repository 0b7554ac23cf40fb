"""The index of a packed data set: which file is where (docs/adr/0028-shards-and-index.md).

A text of lines whose fields are separated by tabs: the version, what was asked for, one line for each shard, one for
each file in the order in which they lie, and at last the SHA-256 of all that stands before. It is written last, so a
folder with an index is a whole data set.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Final, Literal

from adminkit.data.names import escaped, leads_out, unescaped
from adminkit.errors import AdminkitError, cause
from adminkit.files import NotPlain, kind
from adminkit.quote import quote

NAME: Final = "index.tsv"
VERSION: Final = 1
BLOCK: Final = 512  # bytes of a USTAR block
MOST_BYTES: Final = 8 << 30  # USTAR writes a length in eleven octal digits
_MAGIC: Final = "adminkit-data"
_SHARD: Final = re.compile(r"[0-9]{6,9}\.tar")
_SHA: Final = re.compile(r"[0-9a-f]{64}")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_CHUNK: Final = 1 << 20
#: Bytes of the last line.
_END: Final = len("end\t\n") + 64
#: Bytes of a line, and lines before the first file, of an index that is not hostile.
_LONGEST: Final = 64 * 1024
_MOST_SHARDS: Final = 1_000_000
_AGAIN: Final = "get the folder again from where it was packed, or pack it again"

Order = Literal["shuffled", "kept"]


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of the data set. `sha256` is that of the whole file, in hexadecimal."""

    name: str
    size: int
    sha256: str
    files: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A packed file: `length` bytes at `offset` of its shard. A link has `target`, no length and no SHA-256."""

    name: str
    shard: str
    offset: int
    length: int
    label: str  # its class; empty where it has none
    sha256: str
    target: str | None = None

    def line(self) -> str:
        if self.target is not None:
            return f"link\t{escaped(self.name)}\t{self.shard}\t{self.offset}\t{escaped(self.target)}\n"
        return (
            f"file\t{escaped(self.name)}\t{self.shard}\t{self.offset}\t{self.length}\t{escaped(self.label)}\t"
            f"{self.sha256}\n"
        )


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the files."""

    seed: int
    order: Order
    shards: Sequence[Shard]

    def lines(self) -> Iterator[str]:
        yield f"{_MAGIC}\t{VERSION}\n"
        yield f"seed\t{self.seed}\n"
        yield f"order\t{self.order}\n"
        yield f"shards\t{len(self.shards)}\n"
        for one in self.shards:
            yield f"shard\t{one.name}\t{one.size}\t{one.files}\t{one.sha256}\n"


class Broken(AdminkitError):
    """An index that cannot be trusted."""


def opened_in(folder: int, name: str, shown: Path) -> IO[bytes]:
    """A plain file of this folder (a descriptor), whatever somebody put there. OSErrors pass; else NotPlain."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        handle = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise NotPlain(
            f"{shown} is a symbolic link, not a plain file", f"look at it, then move {shown} away"
        ) from error
    if words := kind(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotPlain(f"{shown} is {words}, not a plain file", f"look at it, then move {shown} away")
    return os.fdopen(handle, "rb", buffering=_CHUNK)


class Index:
    """The index of `folder`, open. Its digest was compared, so it is as it was written, or wholly forged."""

    def __init__(self, path: Path, folder: int) -> None:
        self.path, self.folder = path, folder
        try:
            self._file = opened_in(folder, NAME, path / NAME)
        except FileNotFoundError as error:
            raise AdminkitError(
                f"{path} has no index", f"pack it first: adminkit data pack {path} {path}-packed"
            ) from error
        except OSError as error:
            raise AdminkitError(f"couldn't read {path / NAME}: {cause(error)}", "check its permissions") from error
        try:
            self._line = 0
            self._end = os.fstat(self._file.fileno()).st_size - _END
            self._compare_version()
            self._compare_digest()
            self.head = self._head()
            self._first = self._file.tell(), self._line
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()

    def entries(self) -> Iterator[Entry]:
        """Every file and link, in the order of shards and offsets; what does not fit a shard is Broken."""
        place, self._line = self._first
        self._file.seek(place)
        shards = iter(self.head.shards)
        names = {shard.name for shard in self.head.shards}
        shard, used, seen = None, 0, 0
        while self._file.tell() < self._end:
            entry = self._entry(self._fields())
            if entry.shard not in names:
                raise self._broken(f"{quote(entry.shard)} is not a shard of this data set")
            while shard is None or entry.shard != shard.name:
                if shard is not None and seen != shard.files:
                    raise self._broken(f"{shard.name} has {seen} files, not {shard.files}")
                if (shard := next(shards, None)) is None:
                    raise self._broken(f"{quote(entry.shard)} stands behind a later shard")
                used, seen = 0, 0
            if entry.offset < used + BLOCK or entry.offset % BLOCK:
                raise self._broken(f"{quote(entry.name)} overlaps what lies before it")
            used, seen = entry.offset + -(-entry.length // BLOCK) * BLOCK, seen + 1
            if used > shard.size:
                raise self._broken(f"{quote(entry.name)} reaches past the end of {shard.name}")
            yield entry
        if (shard is not None and seen != shard.files) or next(shards, None) is not None:
            raise self._broken("it has fewer files than its shards")

    def _compare_version(self) -> None:
        first = self._file.readline(_LONGEST).decode("utf-8", "replace").rstrip("\n").split("\t")
        if first[0] != _MAGIC or len(first) != 2 or not _NUMBER.fullmatch(first[1]):
            raise Broken(f"{self.path / NAME} is not an index of adminkit", "name a folder that `data pack` wrote")
        if int(first[1]) != VERSION:
            raise Broken(
                f"{self.path / NAME} has version {first[1]}, and this release reads version {VERSION}",
                "install the release of adminkit that packed it",
            )

    def _compare_digest(self) -> None:
        """Trap: the last line is found from the end, so a file that grows behind it is not read."""
        cut = Broken(f"{self.path / NAME} is cut short", _AGAIN)
        if self._end < 0:
            raise cut
        digest, left = hashlib.sha256(), self._end
        self._file.seek(0)
        while left:
            chunk = self._file.read(min(left, _CHUNK))
            if not chunk:
                raise cut
            digest.update(chunk)
            left -= len(chunk)
        last = self._file.read(_END)
        if not re.fullmatch(rb"end\t[0-9a-f]{64}\n", last):
            raise cut
        if last != f"end\t{digest.hexdigest()}\n".encode():
            raise Broken(f"{self.path / NAME} was changed after it was written", _AGAIN)

    def _head(self) -> Head:
        self._file.seek(0)
        self._fields()
        seed, order, count = (self._valued(name) for name in ("seed", "order", "shards"))
        if order not in ("shuffled", "kept"):
            raise self._broken(f"{quote(order)} is not an order")
        if self._number(count) > _MOST_SHARDS:
            raise self._broken(f"{count} shards are more than {_MOST_SHARDS}")
        shards: list[Shard] = []
        for _ in range(int(count)):
            fields = self._fields()
            if len(fields) != 5 or fields[0] != "shard" or not _SHA.fullmatch(fields[4]):
                raise self._broken("it is not a line of a shard")
            if not _SHARD.fullmatch(fields[1]) or (shards and fields[1] <= shards[-1].name):
                raise self._broken(f"{quote(fields[1])} is not the name of a shard, or not in its place")
            shards.append(Shard(fields[1], self._number(fields[2]), fields[4], self._number(fields[3])))
            if not shards[-1].files:
                raise self._broken(f"{fields[1]} has no files")
        return Head(self._number(seed), "kept" if order == "kept" else "shuffled", shards)

    def _entry(self, fields: list[str]) -> Entry:
        try:
            if fields[0] == "file" and len(fields) == 7:
                _, name, shard, offset, length, label, sha = fields
                entry = Entry(unescaped(name), shard, self._number(offset), self._number(length), unescaped(label), sha)
                if not _SHA.fullmatch(sha):
                    raise self._broken("it has no SHA-256")
            elif fields[0] == "link" and len(fields) == 5:
                _, name, shard, offset, target = fields
                entry = Entry(unescaped(name), shard, self._number(offset), 0, "", "", unescaped(target))
                if not entry.target or "\0" in entry.target:
                    raise self._broken("it is a link to nothing")
            else:
                raise self._broken("it is not a line of a file")
        except ValueError as error:
            raise self._broken("it has an escape that adminkit does not write") from error
        if leads_out(entry.name):
            raise self._broken(f"{quote(entry.name)} leads out of the data set")
        return entry

    def _valued(self, name: str) -> str:
        fields = self._fields()
        if len(fields) != 2 or fields[0] != name:
            raise self._broken(f"it is not the line of {name}")
        return fields[1]

    def _number(self, text: str) -> int:
        if not _NUMBER.fullmatch(text):
            raise self._broken(f"{quote(text)} is not a number of 0 or more")
        return int(text)

    def _fields(self) -> list[str]:
        """The next line. Trap: the file may change while it is read, so each one is looked at as if it were new."""
        self._line += 1
        raw = self._file.readline(_LONGEST)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise self._broken("it is not UTF-8") from error
        if not text.endswith("\n") or self._file.tell() > self._end:
            raise self._broken("it is cut short or too long")
        return text[:-1].split("\t")

    def _broken(self, why: str) -> Broken:
        return Broken(f"couldn't use line {self._line} of {self.path / NAME}: {why}", _AGAIN)


@contextmanager
def open_index(path: Path) -> Iterator[Index]:
    """The index of the data set in the folder `path`. AdminkitError for a folder without one, Broken for a bad one."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", "name the folder of a data set") from error
    try:
        index = Index(path, folder)
        try:
            yield index
        finally:
            index.close()
    finally:
        os.close(folder)


def write_index(file: IO[bytes], head: Head, parts: Iterator[bytes]) -> None:
    """Write the index: `parts` are the lines of all files, in order."""
    digest = hashlib.sha256()
    for data in chain((line.encode() for line in head.lines()), parts):
        digest.update(data)
        file.write(data)
    file.write(f"end\t{digest.hexdigest()}\n".encode())
