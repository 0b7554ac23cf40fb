"""What a pack that was stopped has done: the parts of its index, in a folder within the one that it writes.

A shard gets its name when it is whole and on disk; then its part of the index does. So a part without its shard cannot
be, and a shard without a part is written again.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from adminkit.data.index import NAME, Shard, opened_in
from adminkit.data.order import refuse_others
from adminkit.errors import AdminkitError, cause
from adminkit.files import replace_file

FOLDER: Final = ".adminkit-pack"
SHARD: Final = "shard.aside"
PART: Final = "part.aside"
INDEX: Final = "index.aside"
_PLAN: Final = "plan.json"
_LINE: Final = 1024  # bytes at the end of a part, within which its last line is
_OURS: Final = re.compile(r"[0-9]{6,9}\.tar")
_SHARD_LINE: Final = re.compile(rb"shard\t([0-9]{6,9}\.tar)\t([0-9]+)\t([0-9]+)\t([0-9a-f]{64})\n\Z")
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Journal:
    """The folder OUT and the one within it, as descriptors."""

    def __init__(self, path: Path, out: int, inside: int) -> None:
        self.path, self.out, self._inside = path, out, inside

    def finished(self) -> list[Shard]:
        """The shards that are whole, from the first."""
        found: list[Shard] = []
        while (shard := self._finished(len(found))) is not None:
            found.append(shard)
        return found

    def _finished(self, number: int) -> Shard | None:
        try:
            with opened_in(self._inside, part_of(number), self.path / FOLDER / part_of(number)) as file:
                size = os.fstat(file.fileno()).st_size
                last = _SHARD_LINE.search(os.pread(file.fileno(), _LINE, max(0, size - _LINE)))
            if last is None or last[1].decode() != shard_of(number):
                return None
            shard = Shard(shard_of(number), int(last[2]), last[4].decode(), int(last[3]))
            facts = os.stat(shard.name, dir_fd=self.out, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return shard if facts.st_size == shard.size else None

    def lines(self, number: int) -> Iterator[bytes]:
        """The lines of the files of that shard."""
        with opened_in(self._inside, part_of(number), self.path / FOLDER / part_of(number)) as file:
            for line in file:
                if not line.startswith(b"shard\t"):
                    yield line

    def new(self, name: str) -> IO[bytes]:
        """A new file in the folder, in the place of what a killed pack left."""
        return os.fdopen(os.open(name, _NEW, 0o666, dir_fd=self._inside), "wb", buffering=1 << 20)

    def put_shard(self, number: int) -> None:
        """Give SHARD its name, then PART."""
        os.rename(SHARD, shard_of(number), src_dir_fd=self._inside, dst_dir_fd=self.out)
        os.fsync(self.out)
        os.rename(PART, part_of(number), src_dir_fd=self._inside, dst_dir_fd=self._inside)
        os.fsync(self._inside)

    def put_index(self) -> None:
        """Give INDEX its name: from now on the folder is a data set."""
        os.rename(INDEX, NAME, src_dir_fd=self._inside, dst_dir_fd=self.out)
        os.fsync(self.out)

    def drop_aside(self) -> None:
        """Free the room of what is not whole."""
        for name in (SHARD, PART, INDEX):
            with suppress(OSError):
                os.unlink(name, dir_fd=self._inside)

    def remove(self, keep: int) -> None:
        """The journal, and shards behind the `keep` of this pack. The plan goes last: until then it can run again."""
        for name in _names(self.out):
            if _OURS.fullmatch(name) and int(name[:-4]) >= keep:
                os.unlink(name, dir_fd=self.out)
        for name in sorted(_names(self._inside), key=lambda name: (name == _PLAN, name)):
            os.unlink(name, dir_fd=self._inside)
        os.rmdir(FOLDER, dir_fd=self.out)

    def has_index(self) -> bool:
        """Whether only the journal has to be removed."""
        return NAME in _names(self.out)


def _names(folder: int | Path) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def shard_of(number: int) -> str:
    return f"{number:06}.tar"


def part_of(number: int) -> str:
    return f"{number:06}.tsv"


def refuse(out: Path, sources: Path) -> None:
    """AdminkitError where `out` cannot be packed into: before anything is read."""
    real, inside = Path(os.path.realpath(out)), Path(os.path.realpath(sources))
    if real == inside or inside in real.parents:
        raise AdminkitError(f"{out} is inside {sources}, which is packed", "choose a folder outside of it")
    try:
        names = set(_names(real))
    except FileNotFoundError:
        return
    except OSError as error:
        raise AdminkitError(f"couldn't use {out}: {cause(error)}", "choose another folder") from error
    if names and FOLDER not in names:
        raise _not_empty(out)
    strange = sorted(name for name in names - {FOLDER, NAME} if not _OURS.fullmatch(name))
    if strange:
        raise AdminkitError(
            f"{out} has {strange[0]!r} beside what a pack that was stopped left there", "choose another folder"
        )


def _not_empty(out: Path) -> AdminkitError:
    return AdminkitError(f"{out} is not empty", "choose another folder; it is made where there is none")


@contextmanager
def open_journal(out: Path, sources: Path, plan: Mapping[str, Any]) -> Iterator[Journal]:
    """The journal in `out`, which is made where it is missing. AdminkitError where another pack runs, or another one
    was begun there.
    """
    refuse_others(out)
    try:
        refuse(out, sources)
        with suppress(FileExistsError):
            out.mkdir()
        folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise AdminkitError(f"couldn't make {out}: {cause(error)}", "choose another folder") from error
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AdminkitError(f"another pack is writing to {out}", "wait until it has ended") from error
        except OSError:
            pass  # a file system without locks: two packs write the same bytes
        refuse(out, sources)
        with suppress(FileExistsError):
            os.mkdir(FOLDER, dir_fd=folder)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        inside = os.open(FOLDER, flags, dir_fd=folder)
        try:
            journal = Journal(out, folder, inside)
            _same_plan(journal, inside, plan)
            yield journal
        finally:
            os.close(inside)
    finally:
        os.close(folder)


def _same_plan(journal: Journal, inside: int, plan: Mapping[str, Any]) -> None:
    out = journal.path
    try:
        with opened_in(inside, _PLAN, out / FOLDER / _PLAN) as file:
            before = json.loads(file.read(64 * 1024))
    except FileNotFoundError as error:
        if journal.has_index():
            os.rmdir(FOLDER, dir_fd=journal.out)
            raise _not_empty(out) from error
        replace_file(inside, _PLAN, json.dumps(dict(plan)).encode())
        return
    except ValueError:
        before = None
    if before != dict(plan):
        differ = [key for key in plan if not isinstance(before, dict) or before.get(key) != plan[key]]
        raise AdminkitError(
            f"a pack with another {' and '.join(differ) or 'plan'} was begun in {out}",
            "run it as it was begun, to continue it, or choose another folder",
        )
